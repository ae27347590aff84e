//! A text with syntax errors stays as it is.
def @f(%x: int32) { add(%x,1 }
> formatting
null
