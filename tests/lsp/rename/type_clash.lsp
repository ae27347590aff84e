//! Refused where there is a type or a dtype of the name.
type $0A { X }
type B { Y }
def @f(%a: A, %b: B) { %a }
> rename $0 "B"
{
  "error": "`A` cannot become `B`: the name has a meaning here already"
}
> rename $0 "int32"
{
  "error": "`A` cannot become `int32`: the name has a meaning here already"
}
