//! No type is written that is not known.
#[version = "0.0.5"]
def @f(%x$0) { let %y = @g(%x); %y }
> codeAction $0
[]
