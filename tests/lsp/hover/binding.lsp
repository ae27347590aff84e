//! Between the parts of a binding: what it binds.
#[version = "0.0.5"]
def @main(%x: Tensor[(4), float32]) {
  le$0t %a $1= nn.relu(%x)  $2;$3
$4  sum(%a)
}
> hover $0
3:3-3:26
```relay
%a: Tensor[(4), float32]
```

16 B

1 use
> hover $1
3:3-3:26
```relay
%a: Tensor[(4), float32]
```

16 B

1 use
> hover $2
3:3-3:26
```relay
%a: Tensor[(4), float32]
```

16 B

1 use
> hover $3
3:3-3:26
```relay
%a: Tensor[(4), float32]
```

16 B

1 use
> hover $4
null
