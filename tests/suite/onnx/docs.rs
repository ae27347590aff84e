//! Checks that `docs/src/formats/onnx.md` is the table of the converters. `cargo bless suite onnx::docs` rewrites it.

use relayc_exchange::onnx::import::{refused, table};
use std::fmt::Write;
use std::path::Path;

const HEAD: &str = "\
# ONNX

`relayc import model.onnx -o net.relay --params net.params` turns an ONNX model into a Relay program and its weights.
`relayc export net.relay --to onnx -o net.onnx --params net.params` writes a model of operator set 17. With `--verify` the
model is read back and run beside the program on random inputs; if they differ, nothing is written. `run`, `bench`, `profile`,
`check`, `viz`, `diff` and `build` take a `.onnx` file as it is: they read it as the program that `import` writes, with its weights.
There inputs have the names of the model, such as `input.1`, in `-i`, `--set`, messages, and the keys of `--inputs`. The names of the
program's parameters, such as `input_1`, are understood too.

## How a program is exported

- Functions are written out where they are called. An `if` is an `If`. A function whose last step is to call itself, under a
  condition, is a `Loop`; its parameters must be tensors then.
- A text that is an expression is exported as the function `main`.
- Layouts, also in blocks of channels, are moved axes around the operators that ONNX has channels first.
- Operators on quantized tensors are exported by the integer arithmetic that defines them, so a model gives the same bits; their scales
  and zero points must be constants. `qnn.quantize` and `qnn.dequantize` are `QuantizeLinear` and `DequantizeLinear`, which make other
  integers of NaN and of numbers half between two integers. Convolutions of bytes are `ConvInteger`, also those of int32 whose operands
  are bytes without their zero points. Others of integers are convolutions of a float that is sure to hold every sum, or are refused.
- Parameters without a value are inputs, sizes are computed from the dimensions of the inputs, and weights are initializers.

## How a model is imported

- Shapes are inferred and the arithmetic of shapes is computed. A shape that is static in the model is static in the program. Where an
  operand that only a run knows says another one, the run fails with E0308 at the node.
- A dynamic dimension of an input becomes a [named size](../reference/language.md): the model's own name, or the input's with the
  number of the axis. Results have sizes computed from these, so a program of any batch, length or image has no `dyn.*` call where
  the sizes decide. Two names that a node requires to be one size become one; `-v` says which.
- `--shape` gives dimensions other sizes than the model does: a number, a name, or `?` for an open one without a name. A number or a
  name for a dimension that is open in the model holds for all of its name. Where the model fixes the dimension, as `x` of shape
  (1, 3, 224, 224), `--shape x=batch,3,224,224` makes a program of any batch, if nothing in the model hangs on its number: a size that
  is baked into a constant, such as the shape of a `Reshape`, is an error that names the node.
- Each call names in a comment the node that it comes from. Messages and profiles name it too.
- Results keep their names, in the attribute `output_tensor_names` of the function. `export` gives inputs, weights, nodes and results
  the names of the model again.
- All nodes that cannot be imported are reported at once, and nothing is written. With `--keep-going` their results become inputs of
  the program, if the model declares their types or these follow from the operands. The message proposes the flag where it works.
- Functions of the model are inlined.
- 4-bit integers are read where they are weights, for `DequantizeLinear` and `Cast`.
- Models that ONNX Runtime has optimized or quantized are read too: its own operators, of the domain `com.microsoft`, are in the table
  below.
- What scikit-learn, LightGBM and XGBoost have learned from tables, of the domain `ai.onnx.ml`, is read too. A label that is a string is
  its position among the labels, and a `ZipMap` is the tensor of scores in their order.
- An `If` with a known condition becomes its branch, any other an `if`.
- `LSTM`, `GRU` and `RNN` are written out step by step; where only a run knows the length, a function makes one step and calls itself.
- A `Scan` of known length is unrolled, if that is not too long. A `Loop` of up to 64 iterations is unrolled if their number is known;
  any other of both becomes a recursive function. A `Loop` with a trip count and without a condition ignores the condition of its
  body, as the standard says.
- A sequence whose length follows from the model is a tuple. One that a `Loop` only appends to, perhaps in each branch of an `If`, or
  that cuts an axis of any length into pieces of length 1, is a tensor, whose first axis runs over the sequence; or that has the
  tensors one behind another, if the next node joins them, which may have different lengths then.
- A result has the same rank in every run. So `Squeeze` without axes, and an `If` that asks whether a size is 1 before it squeezes, keep
  an axis of any size, also where a run gives it the size 1.

| flag | effect |
|---|---|
| `--shape NAME=batch,3,224,224` | gives an input a shape of numbers and names; `?` is a dimension of any size |
| `-i NAME=SPEC` | makes an input a constant, where a shape or an axis depends on it |
| `--external-data` | reads tensors from other files of the model's folder; every command that reads a model has it |
| `--keep-going` | makes results of unsupported nodes inputs |

The tables are generated from the converters. A number in the second column is an operator set that changed the meaning of the
operator; sets from 7 on are read, and earlier ones as far as the meaning is the same. A model of a set after 27 is read with the warning
W0024, since its operators may mean something else.

## Supported operators

| operator | operator sets | except |
|---|---|---|
";

const REFUSED: &str = "
## Unsupported operators

| operator | why |
|---|---|
";

#[test]
fn the_page_is_the_table() {
    let mut page = HEAD.to_owned();
    for row in table() {
        let versions: Vec<String> = row.versions.iter().map(i64::to_string).collect();
        let _ = writeln!(page, "| `{}` | {} | {} |", row.kind, versions.join(", "), row.limits);
    }
    page.push_str(REFUSED);
    for row in refused() {
        let _ = writeln!(page, "| `{}` | {} |", row.kind, row.why);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/formats/onnx.md");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &page).expect("docs/ can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page, "docs/src/formats/onnx.md is not the table: cargo bless suite onnx::docs writes it");
}
