//! Functions, long calls, comments.
// a comment
// of two lines
def @f(%x: int32) {
  if (True) {
    add(
      %x,
      1
    )
  } else {
    %x
  }
}
> foldingRange
[
  {
    "endLine": 1,
    "kind": "comment",
    "startLine": 0
  },
  {
    "endLine": 11,
    "startLine": 2
  },
  {
    "endLine": 10,
    "startLine": 3
  },
  {
    "endLine": 7,
    "startLine": 4
  }
]
