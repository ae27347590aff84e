//! In text that is half written, the definitions that are understood.
type List[A] { Nil, Co$0
def @main( { nn.relu(%
def @second() { 1 }
> workspace/symbol {"query": ""}
[
  {
    "kind": 12,
    "location": {
      "range": "3:5-3:12"
    },
    "name": "@second"
  },
  {
    "containerName": "List",
    "kind": 22,
    "location": {
      "range": "1:21-1:23"
    },
    "name": "Co"
  },
  {
    "kind": 10,
    "location": {
      "range": "1:6-1:10"
    },
    "name": "List"
  },
  {
    "containerName": "List",
    "kind": 22,
    "location": {
      "range": "1:16-1:19"
    },
    "name": "Nil"
  }
]
> change $0..$0 "ns }"
> workspace/symbol {"query": "co"}
[
  {
    "containerName": "List",
    "kind": 22,
    "location": {
      "range": "1:21-1:25"
    },
    "name": "Cons"
  },
  {
    "kind": 12,
    "location": {
      "range": "3:5-3:12"
    },
    "name": "@second"
  }
]
