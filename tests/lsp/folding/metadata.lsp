//! The metadata section.
#[version = "0.0.5"]
def @f(%x: int32) { %x }
#[metadata]
{
  "root": 1,
  "nodes": [
    { "type_key": "" }
  ]
}
> foldingRange
[
  {
    "endLine": 9,
    "kind": "region",
    "startLine": 2
  }
]
