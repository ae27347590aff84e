//! What has no effect is faded.
#[version = "0.0.5"]
def @f(%x: int32) { let %y = 1; %x }
> diagnostic
{
  "items": [
    {
      "code": "W0005",
      "message": "the variable `%y` is never used\nbound here, used nowhere\nhelp: leave the `let` out, or name it `%_y`",
      "range": "2:25-2:27",
      "severity": 2,
      "source": "relayc",
      "tags": [
        1
      ]
    }
  ],
  "kind": "full"
}
