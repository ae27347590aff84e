//! A constructor or a type is renamed, not typed over: elsewhere it may stand for an operator.
type L { $0Nil }
def @f() { Nil }
> linkedEditingRange $0
null
