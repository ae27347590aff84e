//! Attributes that are not given yet, the required ones first.
def @f(%x: Tensor[(2, 4), float32]) {
  split(%x, $0)
}
> completion $0
0 indices_or_sections | indices_or_sections=$1 | ObjectRef = required
2 axis | axis=${1:0} | int = 0
2 @f | @f(${1:%x}) |
3 %x | %x | Tensor[(2, 4), float32]
3 abs | abs(${1:%data}) | abs(data)
3 acos | acos(${1:%data}) | acos(data)
3 acosh | acosh(${1:%data}) | acosh(data)
3 add | add(${1:%lhs}, ${2:%rhs}) | add(lhs, rhs)
3 adv_index | adv_index(${1:%inputs}) | adv_index(inputs)
3 all | all(${1:%data}$2) | all(data, axis=None, keepdims=False, exclude=False)
3 any | any(${1:%data}$2) | any(data, axis=None, keepdims=False, exclude=False)
3 arange | arange(${1:%start}, ${2:%end}, ${3:%step}, start=${4:1}, stop=${5:1}, step=${6:1}, dtype="${7:float32}") | arange(start, end, step, start=…, stop=…, step=…, dtype=…)
… and 259 more
