//! The picture of one function: its nodes only, each with its place after wide characters, too.
def @f(%x: Tensor[(2), float32]) { /* 𐐀 */ nn.relu(%x) }
def @g(%x: Tensor[(2), float32]) { tanh(@f(%x)) }
> executeCommand {"command": "relayc.picture", "format": "html", "function": "f"}
{
  "nodes": [
    "1:8-1:32",
    "1:45-1:56",
    null
  ]
}
html: <!DOCTYPE html>…
> executeCommand {"command": "relayc.picture", "format": "html", "function": "g"}
{
  "nodes": [
    "2:8-2:32",
    "2:41-2:47",
    "2:36-2:48",
    null
  ]
}
html: <!DOCTYPE html>…
