//! Of some lines only.
#[version = "0.0.5"]
def @main(%data: Tensor[(1, 3, 224, 224), float32], %w) {
  %0 = nn.conv2d(%data, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]);
  $0nn.relu(%0)$1
}
> semanticTokens/range $0..$1
4:3 2 function defaultLibrary
4:5 1 function defaultLibrary
4:6 4 function defaultLibrary
4:11 2 variable
