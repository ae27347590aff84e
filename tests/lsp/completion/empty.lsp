//! In an empty file, a definition brings the version.
$0
> completion $0
1 def | #[version = "0.0.5"]\ndef @${1:main}(%${2:x}: Tensor[(${3:1}), ${4:float32}]$5) {\n  $0\n} |
1 type | #[version = "0.0.5"]\ntype ${1:Name} {\n  $0\n} |
1 extern | #[version = "0.0.5"]\nextern type ${1:Name} |
1 #[version] | #[version = "0.0.5"] |
3 abs | abs(${1:%data}) | abs(data)
3 acos | acos(${1:%data}) | acos(data)
3 acosh | acosh(${1:%data}) | acosh(data)
3 add | add(${1:%lhs}, ${2:%rhs}) | add(lhs, rhs)
3 adv_index | adv_index(${1:%inputs}) | adv_index(inputs)
3 all | all(${1:%data}$2) | all(data, axis=None, keepdims=False, exclude=False)
3 any | any(${1:%data}$2) | any(data, axis=None, keepdims=False, exclude=False)
3 arange | arange(${1:%start}, ${2:%end}, ${3:%step}, start=${4:1}, stop=${5:1}, step=${6:1}, dtype="${7:float32}") | arange(start, end, step, start=…, stop=…, step=…, dtype=…)
… and 251 more
