//! What each word is.
type L { N }
def @main(%data: Tensor[(1, 3, 224, 224), float32], %w) {
  %0 = nn.conv2d(%data, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]);
  nn.relu(%0)
}
> semanticTokens/full
1:1 4 keyword
1:6 1 type declaration
1:10 1 enumMember declaration
2:1 3 keyword
2:5 5 function declaration
2:11 5 parameter declaration
2:18 6 type
2:26 1 number
2:29 1 number
2:32 3 number
2:37 3 number
2:53 2 parameter declaration
3:3 2 variable declaration
3:8 2 function defaultLibrary
3:10 1 function defaultLibrary
3:11 6 function defaultLibrary
3:18 5 parameter
3:25 2 parameter
3:29 7 property
3:38 1 number
3:41 1 number
3:44 1 number
3:47 1 number
3:51 8 property
3:60 2 number
3:64 11 property
3:77 1 number
3:80 1 number
4:3 2 function defaultLibrary
4:5 1 function defaultLibrary
4:6 4 function defaultLibrary
4:11 2 variable
