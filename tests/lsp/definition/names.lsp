//! Locals, graph variables, functions, constructors.
type L { N, C(int32) }
def @g(%a: int32) { %a }
def @f(%x: int32) { %0 = @$0g(%x); let %y = %$10; match (C($2%y)) { N => 1, $3C(%z) => %$4z } }
> definition $0
[
  {
    "range": "2:5-2:7"
  }
]
> definition $1
[
  {
    "range": "3:21-3:23"
  }
]
> definition $2
[
  {
    "range": "3:38-3:40"
  }
]
> definition $3
[
  {
    "range": "1:13-1:14"
  }
]
> definition $4
[
  {
    "range": "3:73-3:75"
  }
]
