//! A comment behind code folds nothing.
def @f(%x: int32) {
  %0 = add(%x, 1); // one
  // two
  %0
}
> foldingRange
[
  {
    "endLine": 4,
    "startLine": 0
  }
]
