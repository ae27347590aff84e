//! No edit where nothing would change.
#[version = "0.0.5"]
def @f(%x: int32) {
  add(%x, 1)
}
> formatting
[]
