//! A sign is the operator that it calls, also where it touches an operand.
def @f(%x: Tensor[(2), float32]) { %x $0+ %x }
def @g(%x: Tensor[(2), float32]) { nn.softmax(%x)$1+%x }
> hover $0
1:39-1:40
```relay
add(lhs, rhs)
: Tensor[(2), float32]
```

- `2`: `%x` is declared here, line 1

8 B

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
> hover $1
2:50-2:51
```relay
add(lhs, rhs)
: Tensor[(2), float32]
```

- `2`: `%x` is declared here, line 2

8 B

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
