//! Answers are about the newest text.
def @f(%x: int32) { $0%x$1 }
> change $0..$1 "add(%x, 1)"
> documentSymbol
[
  {
    "children": [
      {
        "detail": "int32",
        "kind": 13,
        "name": "%x",
        "range": "1:8-1:17",
        "selectionRange": "1:8-1:10"
      }
    ],
    "detail": "int32",
    "kind": 12,
    "name": "@f",
    "range": "1:1-1:33",
    "selectionRange": "1:5-1:7"
  }
]
> hover $0
1:21-1:24
```relay
add(lhs, rhs)
: int32
```

4 B

---

# add

add(lhs, rhs)

`lhs + rhs`, broadcast. Integers wrap; on bool it is `or` (`src/relay/op/tensor/binary.cc`).

## Arguments

- `lhs`: Tensor
- `rhs`: Tensor

## Rules

- C1: dtype(lhs) == dtype(rhs)
- C2: aligned right, dimensions of lhs and rhs are equal, or one of them is 1

## Fusion

`Broadcast`

## Example

```relay
def @floats(%x: Tensor[(4), float32], %y: Tensor[(4), float32]) {
  add(%x, %y)
//^^^^^^^^^^^ Tensor[(4), float32]
}
// run: @floats([1.5, -2, 0.1, 7], [2, -0.5, 0.2, -7]) == [3.5, -2.5, 0.3, 0]
// run: @floats([inf, inf, nan, 3e38], [-inf, 1, 1, 3e38]) == [nan, inf, nan, inf]
```
