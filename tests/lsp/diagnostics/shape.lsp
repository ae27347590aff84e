//! What `check` says, with the places that explain it.
#[version = "0.0.5"]
def @main(%data: Tensor[(1, 3, 224, 224), float32], %w: Tensor[(32, 4, 3, 3), float32]) {
  %0 = nn.conv2d(%data, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]);
  nn.relu(%0)
}
> diagnostic
{
  "items": [
    {
      "code": "E0308",
      "message": "`nn.conv2d`: expected a weight for 3 input channels, found one for 4\n`%w` is `Tensor[(32, 4, 3, 3), float32]`, axis 1\nrule: data.C == weight.I * groups, here 3 == 4 * 1\nnote: `nn.conv2d` rule C7: data.C == weight.I * groups, or weight.I == channels / groups where data.C == weight.O == groups\nhelp: declare `%data: Tensor[(1, 4, 224, 224), float32]`\nhelp: declare `%w: Tensor[(32, 3, 3, 3), float32]`",
      "range": "3:25-3:27",
      "relatedInformation": [
        {
          "location": {
            "range": "3:18-3:23"
          },
          "message": "`%data` is `Tensor[(1, 3, 224, 224), float32]`, axis 1"
        },
        {
          "location": {
            "range": "2:53-2:87"
          },
          "message": "4: `%w` is declared here"
        },
        {
          "location": {
            "range": "2:11-2:51"
          },
          "message": "3: `%data` is declared here"
        }
      ],
      "severity": 1,
      "source": "relayc"
    }
  ],
  "kind": "full"
}
