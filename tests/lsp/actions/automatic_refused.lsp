//! An action that would change the meaning is refused when it is chosen.
#[version = "0.0.5"]
type L { N, C(int32) }
def @f(%x: int32, %l: L) { let %$0y = add(%x, 1); match (%l) { N => 0, C(%x) => multiply(%y, %x) } }
> codeAction $0 {"context": {"diagnostics": [], "triggerKind": 2, "only": null}}
[
  {
    "kind": "refactor.inline",
    "title": "Inline `%y`"
  },
  {
    "kind": "refactor.rewrite",
    "title": "Add the type `int32`"
  },
  {
    "kind": "refactor.rewrite",
    "title": "Turn the `let` into a graph binding"
  }
]
codeAction/resolve
{
  "error": "Inline `%y`: the program would mean something else"
}
codeAction/resolve
{
  "edit": {
    "changes": {
      "file:///net.relay": [
        {
          "newText": ": int32",
          "range": "3:34-3:34"
        }
      ]
    }
  },
  "kind": "refactor.rewrite",
  "title": "Add the type `int32`"
}
codeAction/resolve
{
  "edit": {
    "changes": {
      "file:///net.relay": [
        {
          "newText": "%0",
          "range": "3:28-3:34"
        },
        {
          "newText": "%0",
          "range": "3:88-3:90"
        }
      ]
    }
  },
  "kind": "refactor.rewrite",
  "title": "Turn the `let` into a graph binding"
}
