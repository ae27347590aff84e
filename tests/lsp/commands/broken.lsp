//! A text with a mistake in a type is drawn, but neither run nor rewritten; one that is not understood is not drawn either.
def @f(%x: Tensor[(2), float32]) { nn.dense(%x, %x)$0 }
// run: @f([1, 2]) == 1
> executeCommand {"command": "relayc.run"}
{
  "error": "E0402: `nn.dense`: the attribute `units` is missing, line 1"
}
> executeCommand {"command": "relayc.pass"}
{
  "error": "E0402: `nn.dense`: the attribute `units` is missing, line 1"
}
> executeCommand {"command": "relayc.picture", "format": "html"}
{
  "nodes": [
    "1:8-1:32",
    "1:36-1:52",
    null
  ]
}
html: <!DOCTYPE html>…
> change $0..$0 "("
> executeCommand {"command": "relayc.picture"}
{
  "error": "E0103: `(` is never closed, line 1"
}
