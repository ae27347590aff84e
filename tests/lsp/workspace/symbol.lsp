//! Functions, types and constructors of the workspace, of which this text is all; the best first.
#[version = "0.0.5"]
type List[A] {
  Nil,
  Cons(A, List[A]),
}
def @main(%main: int32) { @remain(%main) }
def @remain(%x: int32) { %x }
> workspace/symbol {"query": "main"}
[
  {
    "kind": 12,
    "location": {
      "range": "6:5-6:10"
    },
    "name": "@main"
  },
  {
    "kind": 12,
    "location": {
      "range": "7:5-7:12"
    },
    "name": "@remain"
  }
]
> workspace/symbol {"query": "cn"}
[
  {
    "containerName": "List",
    "kind": 22,
    "location": {
      "range": "4:3-4:7"
    },
    "name": "Cons"
  }
]
> workspace/symbol {"query": "l"}
[
  {
    "kind": 10,
    "location": {
      "range": "2:6-2:10"
    },
    "name": "List"
  },
  {
    "containerName": "List",
    "kind": 22,
    "location": {
      "range": "3:3-3:6"
    },
    "name": "Nil"
  }
]
> workspace/symbol {"query": "%x"}
[]
