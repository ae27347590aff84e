//! Hovering an operator shows its result, its attributes and its page.
#[version = "0.0.5"]
def @main(%data: Tensor[(1, 3, 224, 224), float32], %w) {
  %0 = nn.co$0nv2d(%data, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]);
  nn.relu(%0)
}
> hover $0
3:8-3:17
```relay
nn.conv2d(data, weight, strides=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1, channels=None, kernel_size=None, data_layout="NCHW", kernel_layout="OIHW", out_layout="", out_dtype="")
: Tensor[(1, 32, 224, 224), float32]
```

- `1`: `%data` is declared here, line 2
- `32`: decided by `channels`, line 3
- `224`: computed by `nn.conv2d`, rule C11, line 3
- `224`: computed by `nn.conv2d`, rule C11, line 3

6.1 MiB, 43.4 M multiply-adds

attributes: `strides=[1, 1]` (default), `padding=[1, 1, 1, 1]`, `dilation=[1, 1]` (default), `groups=1` (default), `channels=32`, `kernel_size=[3, 3]`, `data_layout="NCHW"` (default), `kernel_layout="OIHW"` (default), `out_layout=""` (default), `out_dtype=""` (default)

---

# nn.conv2d

nn.conv2d(data, weight, strides=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1, channels=None, kernel_size=None,
    data_layout="NCHW", kernel_layout="OIHW", out_layout="", out_dtype="")

In the layouts NCHW and OIHW: `out[n, o, y, x] = sum over i, h, w of data[n, g * I + i, y * strides[0] + h * dilation[0]
- top, x * strides[1] + w * dilation[1] - left] * weight[o, i, h, w]`, where `g` is the group of `o` and padding is 0.
The axes `H` and `W` of the result have `floor((in + padding - ((kernel - 1) * dilation + 1)) / strides) + 1` elements.
Operands are converted to the result's dtype first. A depthwise weight may have several outputs for each channel on its
axis `I`; a weight with an axis `G` has the outputs of one group on `O` (`src/relay/op/nn/convolution.cc`).

## Arguments

- `data`: Tensor
- `weight`: Tensor

## Attributes

- `strides`: a list of integers, default `[1, 1]`. The step from one window to the next.
- `padding`: a list of integers, default `[0, 0]`. The padding: for all sides, or (height, width), or (top, left,
  bottom, right).
- `dilation`: a list of integers, default `[1, 1]`. The distance between neighbouring elements of the window.
- `groups`: an integer, default `1`. The number of independent groups of input and output channels.
- `channels`: an integer or `None`, default `None`. The output channels; `None` takes them from the weight.
- `kernel_size`: a list of integers or `None`, default `None`. The window: height, width; `None` takes it from the
  weight.
- `data_layout`: a string, default `"NCHW"`. The axes of `data`.
- `kernel_layout`: a string, default `"OIHW"`. The axes of `weight`.
- `out_layout`: a string, default `""`. The axes of the result; empty for those of `data`.
- `out_dtype`: a dtype in quotes, default `""`. The dtype of the result; by default that of `data`.

Their type is `relay.attrs.Conv2DAttrs`.

## Rules

- C1: data_layout and out_layout are permutations of N, C and the spatial axes, blocks allowed
- C2: kernel_layout is a permutation of O, I and the spatial axes, and G if groups > 1, blocks allowed
- C3: data and weight have the axes of their layouts, blocks their size, and G the size groups
- C4: strides, dilation and kernel_size have a value for each spatial axis, each >= 1
- C5: padding has 1 value, or 1 or 2 for each spatial axis, each >= 0
- C6: groups >= 1
- C7: data.C == weight.I * groups, or weight.I == channels / groups where data.C == weight.O == groups
- C8: weight.O == channels, channels >= 0
- C9: channels % groups == 0
- C10: the spatial axes of weight == kernel_size
- C11: (in + padding - ((kernel - 1) * dilation + 1)) / strides + 1 >= 1 for each spatial axis, unless in is 0
- C12: blocks divide the dimensions of the weight and of the result

## Fusion

`OutEWiseFusable`

## Example

```relay
def @window_sums(%x: Tensor[(1, 1, 2, 3), float32], %w: Tensor[(1, 1, 2, 2), float32]) {
  nn.conv2d(%x, %w)
//^^^^^^^^^^^^^^^^^ Tensor[(1, 1, 1, 2), float32]
}
// run: @window_sums([1, 2, 3, 4, 5, 6], [1, 10, 100, 1000]) == [5421, 6532]
```
