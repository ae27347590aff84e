//! True and False.
def @f(%x: Tensor[(2, 4), float32]) { sum(%x, keepdims=$0) }
> completion $0
1 True | True |
1 False | False |
