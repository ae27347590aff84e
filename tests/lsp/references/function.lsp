//! A function, without where it is defined.
def @$0g(%a: int32) { %a }
def @f(%a: int32) { @g(@g(%a)) }
> references $0 {"context": {"includeDeclaration": false}}
[
  {
    "range": "2:21-2:23"
  },
  {
    "range": "2:24-2:26"
  }
]
