//! There is nothing to rename in a number, a keyword, a comment.
def @f(%x: int32) { le$0t %y = 1$12; %y } // %$2x
> prepareRename $0
{
  "error": "there is no name here"
}
> prepareRename $1
{
  "error": "there is no name here"
}
> prepareRename $2
{
  "error": "there is no name here"
}
