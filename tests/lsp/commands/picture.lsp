//! The picture, and where its nodes are in the text.
def @f(%x: Tensor[(2), float32]) { nn.relu(%x) }
> executeCommand {"command": "relayc.picture"}
{
  "nodes": []
}
svg: <svg xmlns="http://www.w3.org/2000/svg" width="135" height="…
> executeCommand {"command": "relayc.picture", "format": "html"}
{
  "nodes": [
    "1:8-1:32",
    "1:36-1:47",
    null
  ]
}
html: <!DOCTYPE html>…
> executeCommand {"command": "relayc.picture", "function": "none"}
{
  "error": "there is no function `@none` to draw"
}
