//! A call without an end above other bindings.
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 9), float32]) {
  %0 = nn.dense(%x,
  %1 = nn.dense(%x, %w, units=4);
  nn.relu(%1)
}
> diagnostic
{
  "items": [
    {
      "code": "E0103",
      "message": "`(` is never closed\nopened here\nhelp: write `)`",
      "range": "3:16-3:17",
      "relatedInformation": [
        {
          "location": {
            "range": "3:20-3:20"
          },
          "message": "`)` is missing here"
        }
      ],
      "severity": 1,
      "source": "relayc"
    },
    {
      "code": "E0308",
      "message": "`nn.dense`: expected a weight for 8 inputs, found one for 9\n`%w` is `Tensor[(4, 9), float32]`, axis 1\nrule: weight[1] == data[-1], here 9 == 8\nnote: `nn.dense` rule C3\nhelp: declare `%x: Tensor[(1, 9), float32]`\nhelp: declare `%w: Tensor[(4, 8), float32]`",
      "range": "4:21-4:23",
      "relatedInformation": [
        {
          "location": {
            "range": "4:17-4:19"
          },
          "message": "`%x` is `Tensor[(1, 8), float32]`, axis 1"
        },
        {
          "location": {
            "range": "2:40-2:67"
          },
          "message": "9: `%w` is declared here"
        },
        {
          "location": {
            "range": "2:11-2:38"
          },
          "message": "8: `%x` is declared here"
        }
      ],
      "severity": 1,
      "source": "relayc"
    }
  ],
  "kind": "full"
}
