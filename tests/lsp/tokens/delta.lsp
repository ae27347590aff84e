//! What has changed since an answer: here the new name and the call; nothing if it is asked again. An answer that is not the last gives all.
def @f(%x: int32) {
  let %y = %x;
  $0%y$1
}
> semanticTokens/full
1:1 3 keyword
1:5 2 function declaration
1:8 2 parameter declaration
2:3 3 keyword
2:7 2 variable declaration
2:12 2 parameter
3:3 2 variable
> change $0..$1 "add(%y, 1)"
> semanticTokens/full/delta
at 30 without 5: [1,2,3,3,2,0,4,2,1,0,0,4,1,8,0]
> semanticTokens/full/delta
no edits
> semanticTokens/full/delta {"previousResultId": "another"}
1:1 3 keyword
1:5 2 function declaration
1:8 2 parameter declaration
2:3 3 keyword
2:7 2 variable declaration
2:12 2 parameter
3:3 3 function defaultLibrary
3:7 2 variable
3:11 1 number
