//! Rows of comments, and a long one; a single line is none.
// one
// two

/* three
   four */
def @f(%x: int32) {
  // alone
  %x
}
> foldingRange
[
  {
    "endLine": 1,
    "kind": "comment",
    "startLine": 0
  },
  {
    "endLine": 4,
    "kind": "comment",
    "startLine": 3
  },
  {
    "endLine": 8,
    "startLine": 5
  }
]
