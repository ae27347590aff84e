//! Refused where a name would mean something else.
def @f(%x: int32, %y: int32) { let %z = add(%$0x, %y); %z }
> rename $0 "%y"
{
  "error": "`%x` cannot become `%y`: the name has a meaning here already: `%y` in line 1 would mean something else"
}
> rename $0 "%z"
{
  "error": "`%x` cannot become `%z`: the name has a meaning here already: `%z` in line 1 would mean something else"
}
> rename $0 "1"
{
  "error": "`1`: a variable is called `%name`"
}
