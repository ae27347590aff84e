//! What a converter works with: one node, its operands, its attributes as MXNet writes them, and the program that it adds to.
//!
//! Attributes are strings: `(3, 3)`, `True`, `0.9`, `None`. One that no converter asks for is not passed over, since it could change
//! what the node means; those that only training or MXNet's own kernels look at are known.

use super::symbol::Node;
use crate::base::text::{escape_control, shortened};
use crate::formats::onnx::import::build::{Builder, Val, axis_of};
use crate::formats::onnx::import::errors::Refusal;
use crate::ir::attrs::AttrValue;
use crate::tensor::Tensor;
use crate::types::{DType, Dim};
use rustc_hash::FxHashSet;

pub type Result<T = Val> = std::result::Result<T, Refusal>;

/// What says nothing of a result: memory for and choice of kernels, and training.
const HINTS: &[&str] = &[
    "workspace",
    "cudnn_tune",
    "cudnn_off",
    "cudnn_algo_verbose",
    "cudnn_algo_fwd",
    "cudnn_algo_bwd_data",
    "cudnn_algo_bwd_filter",
    "cudnn_algo_fwd_prec",
    "cudnn_algo_bwd_prec",
    "cudnn_tensor_core",
    "cudnn_tensor_core_only",
    "momentum",
    "grad_scale",
    "normalization",
    "use_ignore",
    "ignore_label",
    "preserve_shape",
    "smooth_alpha",
    "out_grad",
    "mirror_stage",
    "force_mirroring",
    "ctx_group",
    "ctx",
    "lr_mult",
    "wd_mult",
    "weight_lr_mult",
    "num_args",
];

/// The longest value of an attribute that a message shows.
const MAX_SHOWN: usize = 60;

/// A node that is converted.
pub struct Cx<'a> {
    pub b: &'a mut Builder,
    pub node: &'a Node,
    pub inputs: Vec<Val>,
    /// Inputs that files before version 0.9 do not list with a node, by what they are called behind its name.
    pub hidden: &'a mut dyn FnMut(&mut Builder, &str) -> Option<Val>,
    /// Whether something asks for a result.
    pub wanted: &'a dyn Fn(usize) -> bool,
    /// How many results the nodes of several results have together.
    pub n_results: &'a mut usize,
    pub read: FxHashSet<&'static str>,
}

impl Cx<'_> {
    // ---- Operands ----

    pub fn input(&self, index: usize) -> Result {
        self.inputs.get(index).copied().ok_or_else(|| Refusal::wrong(format!("operand {index} is missing")))
    }

    /// The only operand.
    pub fn one(&self) -> Result {
        match self.inputs[..] {
            [one] => Ok(one),
            ref all => Err(Refusal::wrong(format!("it takes one operand, found {}", all.len()))),
        }
    }

    /// The dimensions of an operand.
    pub fn shape(&self, val: Val) -> Result<Vec<Dim>> {
        self.b.shape(val)
    }

    pub fn rank(&self, val: Val) -> Result<usize> {
        Ok(self.shape(val)?.len())
    }

    pub fn dtype(&self, val: Val) -> Result<DType> {
        self.b.dtype(val)
    }

    /// An axis counted from the end where negative.
    pub fn axis(&self, axis: i64, rank: usize) -> Result<usize> {
        axis_of(axis, rank)
    }

    // ---- Attributes ----

    /// The text of an attribute; none where it is not there or is `None`.
    pub fn text(&mut self, name: &'static str) -> Option<&str> {
        self.read.insert(name);
        self.node.attrs.get(name).map(|text| text.trim()).filter(|text| *text != "None")
    }

    fn parsed<T>(&mut self, name: &'static str, what: &str, parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let shown = shortened(&escape_control(text), MAX_SHOWN);
        parse(text).map(Some).ok_or_else(|| Refusal::wrong(format!("the attribute `{name}` is `{shown}`, expected {what}")))
    }

    pub fn int(&mut self, name: &'static str) -> Result<Option<i64>> {
        self.parsed(name, "an integer", parse_int)
    }

    /// An integer that must be there.
    pub fn need_int(&mut self, name: &'static str) -> Result<i64> {
        self.int(name)?.ok_or_else(|| Refusal::wrong(format!("the attribute `{name}` is missing")))
    }

    pub fn float(&mut self, name: &'static str, default: f64) -> Result<f64> {
        let number = |text: &str| text.parse::<f64>().or_else(|error| text.strip_suffix('f').ok_or(error)?.parse()).ok();
        Ok(self.parsed(name, "a number", number)?.unwrap_or(default))
    }

    pub fn flag(&mut self, name: &'static str, default: bool) -> Result<bool> {
        let flag = |text: &str| match text {
            "True" | "true" | "1" => Some(true),
            "False" | "false" | "0" => Some(false),
            _ => None,
        };
        Ok(self.parsed(name, "`True` or `False`", flag)?.unwrap_or(default))
    }

    /// `(1, 2)`, `[1, 2]`, and `3` for one.
    pub fn ints(&mut self, name: &'static str) -> Result<Option<Vec<i64>>> {
        let all = self.parsed(name, "a tuple of integers", |text| parse_list(text, parse_int))?;
        Ok(all)
    }

    /// As [`Cx::ints`], where an item may be `None`.
    pub fn some_ints(&mut self, name: &'static str) -> Result<Option<Vec<Option<i64>>>> {
        let item = |text: &str| if text == "None" { Some(None) } else { parse_int(text).map(Some) };
        self.parsed(name, "a tuple of integers and `None`", |text| parse_list(text, item))
    }

    /// Refuses a result that MXNet gives beside the first.
    pub fn refuse_flag(&mut self, name: &'static str) -> Result<()> {
        match self.flag(name, false)? {
            true => Err(Refusal::unsupported(format!("`{name}=True`"))),
            false => Ok(()),
        }
    }

    /// Refuses attributes that were not asked for.
    pub fn all_read(&self) -> Result<()> {
        let means_nothing = |name: &str| HINTS.contains(&name) || (name.starts_with("__") && name.ends_with("__"));
        let unread = self.node.attrs.keys().filter(|name| !self.read.contains(name.as_str()) && !means_nothing(name));
        let unread: Vec<String> = unread.map(|name| format!("`{}`", shortened(&escape_control(name), MAX_SHOWN))).collect();
        match unread.is_empty() {
            true => Ok(()),
            false => Err(Refusal::unsupported(format!("attributes that are not understood: {}", unread.join(", ")))),
        }
    }

    // ---- The program ----

    /// A call of a Relay operator; attributes that are not given have their defaults.
    pub fn call(&mut self, op: &str, args: &[Val], attrs: &[(&str, AttrValue)]) -> Result {
        self.b.call(op, args, attrs)
    }

    /// A constant of rank 0.
    pub fn scalar(&mut self, dtype: DType, value: f64) -> Result {
        let tensor = Tensor::full(dtype, &[], value).ok_or_else(|| Refusal::unsupported(format!("a scalar of {dtype}")))?;
        Ok(self.b.constant(tensor))
    }

    /// A scalar of the dtype of an operand.
    pub fn scalar_like(&mut self, val: Val, value: f64) -> Result {
        let dtype = self.dtype(val)?;
        self.scalar(dtype, value)
    }
}

fn parse_int(text: &str) -> Option<i64> {
    // Python writes the integers of some attributes as `5L`, and shapes computed there as `5.0`.
    let text = text.trim().trim_end_matches('L');
    text.strip_suffix(".0").unwrap_or(text).parse().ok()
}

fn parse_list<T>(text: &str, item: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    let inside = [('(', ')'), ('[', ']')].into_iter().find_map(|(open, close)| text.strip_prefix(open)?.strip_suffix(close));
    let Some(inside) = inside else { return Some(vec![item(text)?]) };
    let inside = inside.trim();
    // One item has a comma behind it.
    let inside = match inside.strip_suffix(',') {
        Some("") => return None,
        Some(rest) => rest,
        None => inside,
    };
    if inside.is_empty() { Some(vec![]) } else { inside.split(',').map(|part| item(part.trim())).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_python_writes_them() {
        let ints = |text| parse_list(text, parse_int);
        assert_eq!(ints("(3, 3)"), Some(vec![3, 3]));
        assert_eq!(ints("[3L,3L]"), Some(vec![3, 3]));
        assert_eq!(ints("(5,)"), Some(vec![5]));
        assert_eq!(ints("()"), Some(vec![]));
        assert_eq!(ints("7"), Some(vec![7]));
        assert_eq!(ints("(0, -1)"), Some(vec![0, -1]));
        for wrong in ["(3, x)", "(3", "3)", "(,)", "((1, 2), 3)", ""] {
            assert_eq!(ints(wrong), None, "{wrong}");
        }
    }
}
