//! Who calls whom.
def @g(%a: int32) { %a }
def @f(%x: int32) { @$0g(@g(%x)) }
def @main(%x: int32) { add(@f(%x), @g(%x)) }
> prepareCallHierarchy $0
[
  {
    "kind": 12,
    "name": "@g",
    "range": "1:1-1:25",
    "selectionRange": "1:5-1:7"
  }
]
callHierarchy/incomingCalls
[
  {
    "from": {
      "kind": 12,
      "name": "@f",
      "range": "2:1-2:33",
      "selectionRange": "2:5-2:7"
    },
    "fromRanges": [
      "2:21-2:23",
      "2:24-2:26"
    ]
  },
  {
    "from": {
      "kind": 12,
      "name": "@main",
      "range": "3:1-3:45",
      "selectionRange": "3:5-3:10"
    },
    "fromRanges": [
      "3:36-3:38"
    ]
  }
]
callHierarchy/outgoingCalls
[]
