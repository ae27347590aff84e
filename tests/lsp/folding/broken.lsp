//! What is understood of a broken text.
def @f(%x: int32) {
  let %y = add(
    %x,
    1
  );
  %y
}
def @g(%x: int32) {
  add(%x,
}
> foldingRange
[
  {
    "endLine": 6,
    "startLine": 0
  },
  {
    "endLine": 4,
    "startLine": 1
  },
  {
    "endLine": 9,
    "startLine": 7
  }
]
