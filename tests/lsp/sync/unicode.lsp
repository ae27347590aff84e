//! Columns are counted in UTF-16.
// 𐐀𐐀
def @f(%x: int32) { /* 𐐀 */ %$0x }
> definition $0
[
  {
    "range": "2:8-2:10"
  }
]
> hover $0
2:30-2:32
```relay
%x: int32
```

4 B

1 use
