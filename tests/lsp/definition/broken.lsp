//! From a call that is half written.
def @layer(%x: int32) { %x }
def @f(%y: int32) { @lay$0er(%$1y, 
> definition $0
[
  {
    "range": "1:5-1:11"
  }
]
> definition $1
[
  {
    "range": "2:8-2:10"
  }
]
