//! Nothing of a range in a text with syntax errors.
$0def @f(%x: int32) {
    %x
}$1
def @g( {
> rangeFormatting $0..$1
null
