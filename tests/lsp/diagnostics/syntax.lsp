//! Broken text.
def @f(%x: int32) { add(%x, }
> diagnostic
{
  "items": [
    {
      "code": "W0001",
      "message": "a module without a version header\nthe module starts here\nnote: TVM does not read a module without its header\nhelp: start the file with `#[version = \"0.0.5\"]`",
      "range": "1:1-1:4",
      "severity": 2,
      "source": "relayc"
    },
    {
      "code": "E0103",
      "message": "`(` is never closed\nopened here\nhelp: write `)`",
      "range": "1:24-1:25",
      "relatedInformation": [
        {
          "location": {
            "range": "1:29-1:30"
          },
          "message": "`)` is missing before this"
        }
      ],
      "severity": 1,
      "source": "relayc"
    }
  ],
  "kind": "full"
}
