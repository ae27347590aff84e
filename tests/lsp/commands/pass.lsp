//! What passes make of a text, or of one function.
def @f(%x: Tensor[(2), float32]) { add(multiply(%x, 1f), add(1f, 2f)) }
def @g(%x: Tensor[(2), float32]) { nn.relu(%x) }
> executeCommand {"command": "relayc.pass", "passes": "fold-constants"}
{}
#[version = "0.0.5"]
def @f(%x: Tensor[(2), float32]) -> Tensor[(2), float32] {
  %0 = multiply(%x, 1f);
  add(%0, 3f)
}

def @g(%x1: Tensor[(2), float32]) -> Tensor[(2), float32] {
  nn.relu(%x1)
}
> executeCommand {"command": "relayc.pass", "passes": "-O3", "function": "g"}
{}
#[version = "0.0.5"]
def @g(%x: Tensor[(2), float32]) -> Tensor[(2), float32] {
  %0 = fn (%p0: Tensor[(2), float32], Primitive=1) -> Tensor[(2), float32] {
    nn.relu(%p0)
  };
  %0(%x)
}
> executeCommand {"command": "relayc.pass", "passes": "-O7"}
{
  "error": "there is no level `-O7`"
}
> executeCommand {"command": "relayc.pass", "passes": "no-such-pass"}
{
  "error": "there is no pass `no-such-pass`: `relayc passes` lists all"
}
> executeCommand {"command": "relayc.pass", "function": "none"}
{
  "error": "the pass `remove-unused-functions` cannot rewrite this program: there is no function `@none`"
}
