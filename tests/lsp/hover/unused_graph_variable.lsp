//! What is just written, and nothing uses yet, has a type.
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) {
  %0 = nn.dense(%x, %w, units=4);
  %1$0 = nn.rel$1u(%0);
  %2$2 = nn.dense(%1, %w, units=4);
  %x
}
> hover $0
4:3-4:5
```relay
%1: Tensor[(1, 4), float32]
```

- `1`: `%x` is declared here, line 2
- `4`: decided by `units`, line 3

16 B

1 use
> hover $1
4:8-4:15
```relay
nn.relu(data)
: Tensor[(1, 4), float32]
```

- `1`: `%x` is declared here, line 2
- `4`: decided by `units`, line 3

16 B

---

# nn.relu

nn.relu(data)

`max(x, 0)` of each element; NaN stays NaN. Shape and dtype are those of `data` (`src/relay/op/nn/nn.cc`).

## Arguments

- `data`: Tensor

## Fusion

`ElemWise`

## Example

```relay
def @floats(%x: Tensor[(4), float32]) {
  nn.relu(%x)
//^^^^^^^^^^^ Tensor[(4), float32]
}
// run: @floats([-2, 0, 3, nan]) == [0, 0, 3, nan]
// run: @floats([-inf, inf, -0.5, 0.5]) == [0, inf, 0, 0.5]
```
> hover $2
5:3-5:5
```relay
%2: <error>
```

0 uses
