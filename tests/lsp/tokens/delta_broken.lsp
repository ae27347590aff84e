//! As `delta.lsp`, in text that is half written before and after.
def @f(%x: int32) {
  let %y = nn.relu($0
$1  %y
}
> semanticTokens/full
1:1 3 keyword
1:5 2 function declaration
1:8 2 parameter declaration
2:3 3 keyword
2:7 2 variable declaration
2:12 2 function defaultLibrary
2:14 1 function defaultLibrary
2:15 4 function defaultLibrary
3:3 2 variable
> change $0..$1 "%x, \n"
> semanticTokens/full/delta
at 40 without 0: [0,5,2,2,0]
