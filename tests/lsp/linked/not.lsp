//! Not operators, and not graph numbers, which are no words.
def @f(%x: int32) { %$10 = a$0dd(%x, 1); %0 }
> linkedEditingRange $0
null
> linkedEditingRange $1
null
