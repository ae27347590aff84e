#!/bin/sh
# An outside compiler in a page: dense layers, with relu or without, as C that gcc compiles.
#
#     relayc run net.relay --external tiny=examples/external/compile.sh …
#
# relayc calls it with three files: the function, its weights, and the shared object to write. The header relayc_external.h lies
# beside them. Everything but `nn.dense(%x, %w)` and `nn.relu` of it is refused.
set -eu
function=$1 weights=$2 library=$3
folder=$(dirname "$function")

refuse() {
  echo "compile.sh: $1" >&2
  exit 1
}

# The text, a line: `def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32], …) … { … }`.
text=$(tr '\n' ' ' < "$function")
body=$(printf '%s' "$text" | sed 's/^[^{]*{//; s/}[^}]*$//; s/ //g')
case $body in
  "nn.dense(%x,%w,units="*) relu=0 ;;
  "%0=nn.dense(%x,%w,units="*");nn.relu(%0)") relu=1 ;;
  *) refuse "no dense layer of %x and %w: $body" ;;
esac

# The two numbers of a parameter's shape.
shape() {
  printf '%s' "$text" | sed -n "s/.*%$1: Tensor\[(\([0-9]*\), \([0-9]*\)), float32\].*/\1 \2/p"
}
set -- $(shape x) $(shape w)
[ $# = 4 ] || refuse "%x and %w are no matrices of float32"
rows=$1 depth=$2 columns=$3

# A .safetensors file: the bytes of its header as 8 bytes, the header, the tensors. The only tensor is %w.
header=$(od -An -v -t u8 -N 8 "$weights" | tr -d ' ')
tail -c +9 "$weights" | head -c "$header" | grep -q '"w"' || refuse "%w is no weight"
numbers=$(od -An -v -t x4 -j $((header + 8)) "$weights" | sed 's/\([0-9a-f]\{8\}\)/0x\1,/g')

cat > "$folder/function.c" <<EOF
#include "relayc_external.h"

enum { ROWS = $rows, DEPTH = $depth, COLUMNS = $columns, RELU = $relu };

/* The bits of the weights. */
static const uint32_t bits[COLUMNS * DEPTH] = { $numbers };

static int run(const void *const *inputs, void *const *outputs) {
  const float *x = inputs[0], *w = (const float *)(const void *)bits;
  float *out = outputs[0];
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++) {
      float sum = 0;
      for (int k = 0; k < DEPTH; k++)
        sum += x[i * DEPTH + k] * w[j * DEPTH + k];
      out[i * COLUMNS + j] = RELU && sum < 0 ? 0 : sum;
    }
  return 0;
}

static const uint64_t x_shape[] = { ROWS, DEPTH }, out_shape[] = { ROWS, COLUMNS };
static const relayc_external_tensor inputs[] = { { "float32", 2, x_shape } };
static const relayc_external_tensor outputs[] = { { "float32", 2, out_shape } };

const relayc_external relayc_external_function = { RELAYC_EXTERNAL_VERSION, 1, inputs, 1, outputs, run };
EOF
exec "${CC:-gcc}" -O2 -fno-strict-aliasing -shared -fPIC -o "$library" "$folder/function.c"
