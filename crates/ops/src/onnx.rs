//! The interface of ONNX export for operators: a growing graph, and the call to translate into nodes.
//!
//! Each family's file declares the ONNX forms of its operators in a list `ONNX` beside `FAMILY`. It is no field of `OpDef`,
//! because a declaration derived with `..CONV2D` has another meaning and must not inherit the form. The crate `exchange` walks
//! programs and writes bytes, without knowledge of operators. Nodes belong to operator set [`OPSET`]. Calls without an exact
//! translation are refused, with the reason in words.

mod integers;
mod layouts;
mod sizes;

pub(crate) use integers::Product;
pub(crate) use layouts::whole;
pub use sizes::Sizes;

use super::window;
use relayc_base::IndexVec;
use relayc_base::index_type;
use relayc_ir::attrs::AttrValue;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, DTypeCode, Dim, Symbols, dims_of};
use rustc_hash::FxHashMap;

/// The ONNX operator set of the nodes: the first with layer normalisation, and old enough for every runtime.
pub const OPSET: i64 = 17;

index_type! {
    /// A tensor of a graph: an input, a constant or the result of a node.
    pub struct ValueId;
}

/// The ONNX form of an operator.
#[derive(Clone, Copy)]
pub enum Onnx {
    /// One node with the call's operands in order and without attributes, if the first has one of these dtypes.
    Node(&'static str, DTypeClass),
    /// The nodes that a function adds.
    Nodes(fn(&mut OnnxCx) -> OnnxResult),
    /// As [`Onnx::Nodes`], of a function that understands sizes with names in the call's attributes.
    Sized(fn(&mut OnnxCx) -> OnnxResult),
}

/// The dtypes for which an ONNX node is defined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DTypeClass {
    Any,
    /// All dtypes but bool.
    Numbers,
    /// Dtypes with negative numbers.
    Signed,
    Floats,
    /// Floats without bfloat16, which ONNX supports only in later versions of these nodes.
    Ieee,
    /// All dtypes but bfloat16, as for [`DTypeClass::Ieee`].
    Older,
    Bools,
}

impl DTypeClass {
    /// Refuses any other dtype.
    pub fn require(self, dtype: DType) -> Result<(), String> {
        let (fits, words) = match self {
            DTypeClass::Any => (true, "anything"),
            DTypeClass::Numbers => (!dtype.is_bool(), "numbers"),
            DTypeClass::Signed => (dtype.is_float() || dtype.code == DTypeCode::Int, "signed numbers"),
            DTypeClass::Floats => (dtype.is_float(), "floats"),
            DTypeClass::Ieee => (dtype.code == DTypeCode::Float, "float16, float32 and float64"),
            DTypeClass::Older => (dtype != DType::BF16, "other dtypes"),
            DTypeClass::Bools => (dtype.is_bool(), "bools"),
        };
        if fits { Ok(()) } else { Err(format!("operands of `{dtype}`, where ONNX takes {words} only")) }
    }
}

/// The tensors of a call's result, or the reason why ONNX cannot express it: lower case, no full stop.
pub(crate) type OnnxResult = Result<Results, String>;

/// The tensors of a call's result, one for each field of a tuple.
#[derive(Clone, Debug)]
pub struct Results(pub Vec<ValueId>);

impl From<ValueId> for Results {
    fn from(value: ValueId) -> Results {
        Results(vec![value])
    }
}

/// A tensor of a graph.
#[derive(Clone, Debug)]
pub struct Value {
    /// The name, which is unique.
    pub name: String,
    /// The type, known for operands and results of calls, but not for values between the nodes of one call.
    pub ty: Option<(Vec<Dim>, DType)>,
    /// The elements of a constant.
    pub tensor: Option<Tensor>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    pub kind: &'static str,
    /// The wanted name; without one a node is called as its first output.
    pub name: Option<String>,
    /// The inputs; `None` stands for an omitted optional input.
    pub inputs: Vec<Option<ValueId>>,
    pub outputs: Vec<ValueId>,
    pub attrs: Vec<(&'static str, NodeAttr)>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum NodeAttr {
    Int(i64),
    Ints(Vec<i64>),
    Float(f32),
    Str(String),
    Block(Block),
}

/// The nodes inside of a node: a branch, or one turn of a loop. They also use values of the nodes around.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Block {
    pub nodes: Vec<Node>,
    pub inputs: Vec<ValueId>,
    /// Results of its own nodes, each once.
    pub outputs: Vec<ValueId>,
}

impl Node {
    /// The blocks inside.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.attrs.iter().filter_map(|(_, attr)| if let NodeAttr::Block(block) = attr { Some(block) } else { None })
    }
}

/// Names that are taken, each with the last number that was put behind it.
#[derive(Default)]
pub struct TakenNames(FxHashMap<String, u32>);

impl TakenNames {
    /// Takes the name itself, or with a number behind it if it is taken.
    pub fn free(&mut self, wanted: &str) -> String {
        let mut times = self.0.get(wanted).copied().unwrap_or(0);
        let mut name = wanted.to_owned();
        while self.0.contains_key(&name) {
            times += 1;
            name = format!("{wanted}_{times}");
        }
        self.0.insert(name.clone(), 1);
        self.0.insert(wanted.to_owned(), times.max(1));
        name
    }
}

/// A growing graph: nodes follow the nodes that they use.
#[derive(Default)]
pub struct Graph {
    pub values: IndexVec<ValueId, Value>,
    pub nodes: Vec<Node>,
    names: TakenNames,
}

impl Graph {
    /// A name of a value: the wanted one, or with a number behind it if it is taken.
    pub fn free_name(&mut self, wanted: &str) -> String {
        self.names.free(wanted)
    }

    pub fn value(&mut self, wanted: &str, ty: Option<(Vec<Dim>, DType)>, tensor: Option<Tensor>) -> ValueId {
        let name = self.free_name(wanted);
        self.values.push(Value { name, ty, tensor })
    }

    pub fn constant(&mut self, wanted: &str, tensor: Tensor) -> ValueId {
        let dims = tensor.shape().iter().map(|&dim| Dim::known(dim as i64)).collect();
        self.value(wanted, Some((dims, tensor.dtype())), Some(tensor))
    }
}

#[derive(Clone, Debug)]
pub enum Operand {
    Tensor(ValueId),
    Tuple(Vec<ValueId>),
}

/// A call to translate into nodes.
pub struct OnnxCx<'a> {
    pub graph: &'a mut Graph,
    pub attrs: &'a [AttrValue],
    pub args: &'a [Operand],
    /// The types of the result's tensors.
    pub out: &'a [(Vec<Dim>, DType)],
    /// The call's name in the text, after which values are named.
    pub name: &'a str,
    pub symbols: &'a Symbols,
    pub sizes: &'a mut Sizes,
}

impl OnnxCx<'_> {
    pub fn tensor(&self, arg: usize) -> ValueId {
        match &self.args[arg] {
            Operand::Tensor(value) => *value,
            Operand::Tuple(_) => unreachable!("the relation required a tensor"),
        }
    }

    pub(crate) fn tuple(&self, arg: usize) -> &[ValueId] {
        match &self.args[arg] {
            Operand::Tuple(fields) => fields,
            Operand::Tensor(_) => unreachable!("the relation required a tuple"),
        }
    }

    fn ty(&self, value: ValueId) -> &(Vec<Dim>, DType) {
        self.graph.values[value].ty.as_ref().expect("operands have types")
    }

    pub fn dtype(&self, value: ValueId) -> DType {
        self.ty(value).1
    }

    pub(crate) fn rank(&self, value: ValueId) -> usize {
        self.ty(value).0.len()
    }

    /// The dimensions of a value.
    pub(crate) fn axes(&self, value: ValueId) -> &[Dim] {
        &self.ty(value).0
    }

    /// The shape of a value; refused if a dimension is unknown.
    pub(crate) fn shape(&self, value: ValueId) -> Result<Vec<i64>, String> {
        dims_of(&self.ty(value).0).ok_or_else(|| "a shape that is not known before running".into())
    }

    /// One dimension of a value; refused if it is unknown.
    pub(crate) fn dim(&self, value: ValueId, axis: usize) -> Result<i64, String> {
        self.ty(value).0[axis].value().ok_or_else(|| "a dimension that is not known before running".into())
    }

    /// The shape of the result; refused if a dimension is unknown.
    pub(crate) fn out_shape(&self) -> Result<Vec<i64>, String> {
        dims_of(&self.out[0].0).ok_or_else(|| "a result whose shape is not known before running".into())
    }

    pub(crate) fn out_dtype(&self) -> DType {
        self.out[0].1
    }

    /// The elements of a value, if it is a constant.
    pub(crate) fn known(&self, value: ValueId) -> Option<&Tensor> {
        self.graph.values[value].tensor.as_ref()
    }

    /// Adds one node of the first operand.
    pub(crate) fn map(&mut self, kind: &'static str) -> ValueId {
        let data = self.tensor(0);
        self.node(kind, &[data]).one()
    }

    /// Reshapes the first operand to the result's shape, which may have one unknown dimension beside sizes that stay in their
    /// places.
    pub(crate) fn in_out_shape(&mut self) -> OnnxResult {
        let (data, out) = (self.tensor(0), &self.out[0].0);
        let own = &self.ty(data).0;
        // In ONNX 0 keeps a dimension.
        let keeps = !out.iter().any(|dim| dim.value() == Some(0));
        let stays = |at: usize, dim: &Dim| keeps && own.get(at).is_some_and(|own| own.same(*dim));
        let code = |(at, dim): (usize, &Dim)| dim.value().unwrap_or(if stays(at, dim) { 0 } else { -1 });
        let shape: Vec<i64> = out.iter().enumerate().map(code).collect();
        if shape.iter().filter(|&&dim| dim == -1).count() > 1 {
            let out = out.clone();
            return Ok(self.reshaped_to(data, &out)?.into());
        }
        if !keeps {
            return Ok(self.reshaped(data, &shape).into());
        }
        let shape = self.ints("shape", &shape);
        Ok(self.node("Reshape", &[data, shape]).one().into())
    }

    /// Starts a node with these inputs.
    pub fn node<'c>(&'c mut self, kind: &'static str, inputs: &[ValueId]) -> NodeBuilder<'c> {
        let inputs = inputs.iter().copied().map(Some).collect();
        NodeBuilder {
            graph: self.graph,
            name: self.name,
            node: Node { kind, name: None, inputs, outputs: vec![], attrs: vec![] },
        }
    }

    /// As [`OnnxCx::node`], with optional inputs omitted.
    pub(crate) fn node_of<'c>(&'c mut self, kind: &'static str, inputs: Vec<Option<ValueId>>) -> NodeBuilder<'c> {
        NodeBuilder {
            graph: self.graph,
            name: self.name,
            node: Node { kind, name: None, inputs, outputs: vec![], attrs: vec![] },
        }
    }

    /// Adds a constant, named after its purpose.
    pub(crate) fn constant(&mut self, what: &str, tensor: Tensor) -> ValueId {
        self.graph.constant(&format!("{}/{what}", self.name), tensor)
    }

    /// Adds a constant list of integers, ONNX's form of shapes, axes and similar values.
    pub(crate) fn ints(&mut self, what: &str, values: &[i64]) -> ValueId {
        self.constant(what, Tensor::from_vec(&[values.len()], values.to_vec()))
    }

    /// Adds a constant of rank 0, converted as `cast` does.
    pub(crate) fn scalar(&mut self, what: &str, dtype: DType, value: f64) -> Result<ValueId, String> {
        let tensor = Tensor::full(dtype, &[], value).ok_or_else(|| format!("`{dtype}`, which no tensor can hold"))?;
        Ok(self.constant(what, tensor))
    }

    /// Permutes the axes of a value; returns the value itself for the identity.
    pub(crate) fn transposed(&mut self, value: ValueId, axes: &[usize]) -> ValueId {
        if axes.iter().enumerate().all(|(at, &axis)| at == axis) {
            return value;
        }
        let axes: Vec<i64> = axes.iter().map(|&axis| axis as i64).collect();
        self.node("Transpose", &[value]).ints("perm", &axes).one()
    }

    pub(crate) fn expanded(&mut self, value: ValueId, shape: &[i64]) -> ValueId {
        let shape = self.ints("shape", shape);
        self.node("Expand", &[value, shape]).one()
    }

    /// In another shape, of known dimensions.
    pub(crate) fn reshaped(&mut self, value: ValueId, shape: &[i64]) -> ValueId {
        let (shape_has_zero, shape_has_rest) = (shape.contains(&0), shape.contains(&-1));
        let shape = self.ints("shape", shape);
        let zero = !shape_has_rest && shape_has_zero;
        let node = self.node("Reshape", &[value, shape]);
        // Without it, 0 would mean the dimension of the data.
        if zero { node.int("allowzero", 1).one() } else { node.one() }
    }

    /// Converts a value from the dtype `from`; returns the value itself if it already has the dtype.
    pub(crate) fn cast(&mut self, value: ValueId, from: DType, to: DType) -> Result<ValueId, String> {
        if from == to {
            return Ok(value);
        }
        Ok(self.node("Cast", &[value]).int("to", dtype_code(to)?).one())
    }

    /// Converts an operand to the dtype of the result.
    pub(crate) fn operand_as_out(&mut self, arg: usize) -> Result<ValueId, String> {
        let value = self.tensor(arg);
        self.cast(value, self.dtype(value), self.out_dtype())
    }

    /// Reshapes a vector along one axis of a tensor so that it broadcasts against the tensor: `(n, 1, …, 1)`.
    pub(crate) fn along(&mut self, vector: ValueId, axis: usize, rank: usize) -> Result<ValueId, String> {
        let n_after = rank - axis - 1;
        if n_after == 0 {
            return Ok(vector);
        }
        let n = self.dim(vector, 0)?;
        let shape: Vec<i64> = std::iter::once(n).chain(std::iter::repeat_n(1, n_after)).collect();
        match self.known(vector).cloned() {
            // A constant is reshaped here and now, which is what runtimes recognise as a bias.
            Some(tensor) => {
                let sizes: Vec<usize> = shape.iter().map(|&dim| dim as usize).collect();
                let tensor = tensor.reshape(&sizes).ok_or("a vector of another length than its type says")?;
                let name = format!("{}/along", self.graph.values[vector].name);
                Ok(self.graph.constant(&name, tensor))
            }
            None => Ok(self.reshaped(vector, &shape)),
        }
    }
}

/// A node under construction.
pub struct NodeBuilder<'c> {
    graph: &'c mut Graph,
    name: &'c str,
    node: Node,
}

impl NodeBuilder<'_> {
    fn attr(mut self, name: &'static str, value: NodeAttr) -> Self {
        self.node.attrs.push((name, value));
        self
    }

    pub(crate) fn int(self, name: &'static str, value: i64) -> Self {
        self.attr(name, NodeAttr::Int(value))
    }

    pub(crate) fn ints(self, name: &'static str, values: &[i64]) -> Self {
        self.attr(name, NodeAttr::Ints(values.to_vec()))
    }

    pub(crate) fn float(self, name: &'static str, value: f64) -> Self {
        self.attr(name, NodeAttr::Float(value as f32))
    }

    pub(crate) fn str(self, name: &'static str, value: &str) -> Self {
        self.attr(name, NodeAttr::Str(value.to_owned()))
    }

    /// Finishes the node with one output.
    pub fn one(self) -> ValueId {
        self.many(1)[0]
    }

    /// Finishes the node with `n` outputs.
    pub(crate) fn many(mut self, n: usize) -> Vec<ValueId> {
        let wanted = format!("{}/{}", self.name, self.node.kind);
        let outputs: Vec<ValueId> = (0..n).map(|_| self.graph.value(&wanted, None, None)).collect();
        self.node.outputs = outputs.clone();
        self.graph.nodes.push(self.node);
        outputs
    }
}

/// The number of a dtype in ONNX (`TensorProto.DataType` of `onnx.proto`).
pub fn dtype_code(dtype: DType) -> Result<i64, String> {
    const CODES: [(DType, i64); 13] = [
        (DType::F32, 1),
        (DType::U8, 2),
        (DType::I8, 3),
        (DType::U16, 4),
        (DType::I16, 5),
        (DType::I32, 6),
        (DType::I64, 7),
        (DType::BOOL, 9),
        (DType::F16, 10),
        (DType::F64, 11),
        (DType::U32, 12),
        (DType::U64, 13),
        (DType::BF16, 16),
    ];
    let found = CODES.iter().find(|(known, _)| *known == dtype);
    found.map(|&(_, code)| code).ok_or_else(|| format!("`{dtype}`, which ONNX does not have"))
}

/// Padding of `n` axes in ONNX's order: all values before, then all after.
pub(crate) fn pads(padding: &[i64], n: usize) -> Vec<i64> {
    let sides = window::sides(padding, n);
    sides.iter().map(|side| side.0).chain(sides.iter().map(|side| side.1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_apart() {
        let mut taken = TakenNames::default();
        let names: Vec<String> = ["x", "x", "x_2", "x"].iter().map(|name| taken.free(name)).collect();
        assert_eq!(names, ["x", "x_2", "x_2_2", "x_3"]);
    }

    #[test]
    fn padding_is_written_in_two_halves() {
        assert_eq!(pads(&[1], 2), [1, 1, 1, 1]);
        assert_eq!(pads(&[1, 2], 2), [1, 2, 1, 2]);
        assert_eq!(pads(&[1, 2, 3, 4], 2), [1, 2, 3, 4]);
        assert_eq!(pads(&[1, 2], 1), [1, 2]);
    }
}
