//! What a comment allows is not reported.
#[version = "0.0.5"]
// allow: unused-parameter
def @f(%x: int32, %y: int32) {
  let %a = add(%x, 1); // allow: unused-let
  let %b = add(%x, 1);
  %x
}
> diagnostic
{
  "items": [
    {
      "code": "W0005",
      "message": "the variable `%b` is never used\nbound here, used nowhere\nhelp: leave the `let` out, or name it `%_b`",
      "range": "5:7-5:9",
      "severity": 2,
      "source": "relayc",
      "tags": [
        1
      ]
    }
  ],
  "kind": "full"
}
