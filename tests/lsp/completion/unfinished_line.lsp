//! On a new line in a function without its end.
#[version = "0.0.5"]
def @main(%x: Tensor[(4), float32]) {
  let %y = nn.relu(%x);
  $0
> completion $0
1 %y | %y | Tensor[(4), float32]
1 %x | %x | Tensor[(4), float32]
2 @main | @main(${1:%x}) |
3 abs | abs(${1:%data}) | abs(data)
3 acos | acos(${1:%data}) | acos(data)
3 acosh | acosh(${1:%data}) | acosh(data)
3 add | add(${1:%lhs}, ${2:%rhs}) | add(lhs, rhs)
3 adv_index | adv_index(${1:%inputs}) | adv_index(inputs)
3 all | all(${1:%data}$2) | all(data, axis=None, keepdims=False, exclude=False)
3 any | any(${1:%data}$2) | any(data, axis=None, keepdims=False, exclude=False)
3 arange | arange(${1:%start}, ${2:%end}, ${3:%step}, start=${4:1}, stop=${5:1}, step=${6:1}, dtype="${7:float32}") | arange(start, end, step, start=…, stop=…, step=…, dtype=…)
3 argmax | argmax(${1:%data}$2) | argmax(data, axis=None, keepdims=False, select_last_index=False, exclude=False)
… and 259 more
