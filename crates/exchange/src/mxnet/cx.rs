//! The context of a converter: one node, its operands, its attributes as MXNet writes them, and the program under construction.
//!
//! Attributes are strings: `(3, 3)`, `True`, `0.9`, `None`. An attribute that no converter reads is refused, because it could
//! change the node's meaning. Attributes that only affect training or MXNet's own kernels are known and ignored.

use super::symbol::Node;
use crate::onnx::import::build::{Builder, Val, axis_of};
use crate::onnx::import::errors::Refusal;
use relayc_base::text::{escape_control, shortened};
use relayc_ir::attrs::AttrValue;
use relayc_ir::types::{DType, Dim};
use rustc_hash::FxHashSet;

pub(crate) type Result<T = Val> = std::result::Result<T, Refusal>;

/// Attributes without effect on results: memory and choice of kernels, and training.
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

/// Maximum length of an attribute's value in messages.
const MAX_SHOWN: usize = 60;

/// A node under conversion.
pub(crate) struct Cx<'a> {
    pub(crate) b: &'a mut Builder,
    pub(crate) node: &'a Node,
    pub(crate) inputs: Vec<Val>,
    /// Looks up inputs that files before version 0.9 do not list, by their suffix to the node's name.
    pub(crate) hidden: &'a mut dyn FnMut(&mut Builder, &str) -> Option<Val>,
    /// Whether a result is used.
    pub(crate) wanted: &'a dyn Fn(usize) -> bool,
    /// Total number of results of nodes with several results.
    pub(crate) n_results: &'a mut usize,
    pub(crate) read: FxHashSet<&'static str>,
}

impl Cx<'_> {
    // ---- Operands ----

    pub(crate) fn input(&self, index: usize) -> Result {
        self.inputs.get(index).copied().ok_or_else(|| Refusal::wrong(format!("operand {index} is missing")))
    }

    /// The only operand.
    pub(crate) fn one(&self) -> Result {
        match self.inputs[..] {
            [one] => Ok(one),
            ref all => Err(Refusal::wrong(format!("it takes one operand, found {}", all.len()))),
        }
    }

    /// The dimensions of an operand.
    pub(crate) fn shape(&self, val: Val) -> Result<Vec<Dim>> {
        self.b.shape(val)
    }

    pub(crate) fn rank(&self, val: Val) -> Result<usize> {
        Ok(self.shape(val)?.len())
    }

    pub(crate) fn dtype(&self, val: Val) -> Result<DType> {
        self.b.dtype(val)
    }

    /// Resolves an axis, which counts from the end if negative.
    pub(crate) fn axis(&self, axis: i64, rank: usize) -> Result<usize> {
        axis_of(axis, rank)
    }

    // ---- Attributes ----

    /// The text of an attribute; `None` if it is absent or `None`.
    pub(crate) fn text(&mut self, name: &'static str) -> Option<&str> {
        self.read.insert(name);
        self.node.attrs.get(name).map(|text| text.trim()).filter(|text| *text != "None")
    }

    fn parsed<T>(&mut self, name: &'static str, what: &str, parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let shown = shortened(&escape_control(text), MAX_SHOWN);
        parse(text).map(Some).ok_or_else(|| Refusal::wrong(format!("the attribute `{name}` is `{shown}`, expected {what}")))
    }

    pub(crate) fn int(&mut self, name: &'static str) -> Result<Option<i64>> {
        self.parsed(name, "an integer", parse_int)
    }

    /// A required integer.
    pub(crate) fn need_int(&mut self, name: &'static str) -> Result<i64> {
        self.int(name)?.ok_or_else(|| Refusal::wrong(format!("the attribute `{name}` is missing")))
    }

    pub(crate) fn float(&mut self, name: &'static str, default: f64) -> Result<f64> {
        let number = |text: &str| text.parse::<f64>().or_else(|error| text.strip_suffix('f').ok_or(error)?.parse()).ok();
        Ok(self.parsed(name, "a number", number)?.unwrap_or(default))
    }

    pub(crate) fn flag(&mut self, name: &'static str, default: bool) -> Result<bool> {
        let flag = |text: &str| match text {
            "True" | "true" | "1" => Some(true),
            "False" | "false" | "0" => Some(false),
            _ => None,
        };
        Ok(self.parsed(name, "`True` or `False`", flag)?.unwrap_or(default))
    }

    /// `(1, 2)`, `[1, 2]`, and `3` for one.
    pub(crate) fn ints(&mut self, name: &'static str) -> Result<Option<Vec<i64>>> {
        let all = self.parsed(name, "a tuple of integers", |text| parse_list(text, parse_int))?;
        Ok(all)
    }

    /// Like [`Cx::ints`], with items that may be `None`.
    pub(crate) fn some_ints(&mut self, name: &'static str) -> Result<Option<Vec<Option<i64>>>> {
        let item = |text: &str| if text == "None" { Some(None) } else { parse_int(text).map(Some) };
        self.parsed(name, "a tuple of integers and `None`", |text| parse_list(text, item))
    }

    /// Refuses a result that MXNet returns besides the first.
    pub(crate) fn refuse_flag(&mut self, name: &'static str) -> Result<()> {
        match self.flag(name, false)? {
            true => Err(Refusal::unsupported(format!("`{name}=True`"))),
            false => Ok(()),
        }
    }

    /// Refuses attributes that were not read.
    pub(crate) fn all_read(&self) -> Result<()> {
        let means_nothing = |name: &str| HINTS.contains(&name) || (name.starts_with("__") && name.ends_with("__"));
        let unread = self.node.attrs.keys().filter(|name| !self.read.contains(name.as_str()) && !means_nothing(name));
        let unread: Vec<String> = unread.map(|name| format!("`{}`", shortened(&escape_control(name), MAX_SHOWN))).collect();
        match unread.is_empty() {
            true => Ok(()),
            false => Err(Refusal::unsupported(format!("attributes that are not understood: {}", unread.join(", ")))),
        }
    }

    // ---- The program ----

    /// Adds a call of a Relay operator; attributes that are not given have their defaults.
    pub(crate) fn call(&mut self, op: &str, args: &[Val], attrs: &[(&str, AttrValue)]) -> Result {
        self.b.call(op, args, attrs)
    }

    /// A constant of rank 0.
    pub(crate) fn scalar(&mut self, dtype: DType, value: f64) -> Result {
        self.b.scalar(dtype, value)
    }

    /// A scalar of the dtype of an operand.
    pub(crate) fn scalar_like(&mut self, val: Val, value: f64) -> Result {
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
