//! Refused where another constructor or an operator has the name.
type L { Nil, $0Cons(int32, L) }
def @f(%x: int32) -> L { Cons(abs(%x), Nil) }
> rename $0 "Nil"
{
  "error": "`Cons` cannot become `Nil`: the name has a meaning here already"
}
> rename $0 "abs"
{
  "error": "`Cons` cannot become `abs`: the name has a meaning here already: `abs` in line 2 would mean something else"
}
> rename $0 "two words"
{
  "error": "`two words`: expected a name of letters, digits and `_`"
}
