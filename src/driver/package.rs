//! Programs out of archives: the text, and which of the archive's weights are which parameters.
//!
//! A model in Model Library Format keeps the program as it was given to TVM, and the constants of the graph that TVM made of it, called
//! `p0`, `p1`, … in the order in which the graph meets them. Where TVM changed nothing but their number of axes, they are the weights
//! in the order in which the program uses them; where it computed with weights ahead, they are not, and nothing says what they were.

use super::bind::Packed;
use crate::base::text::{count, join_words};
use crate::base::{FileId, Idx, Sources};
use crate::diag::{Diagnostic, codes};
use crate::formats::{Named, package};
use crate::ir::{ExprId, ExprKind, Module, VarId};
use crate::ops;
use crate::tensor::Tensor;
use crate::types::{DType, dims_of};
use crate::{syntax, sys};
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::Path;

/// A program that came with weights.
pub(super) struct Package {
    pub file: FileId,
    name: String,
    weights: Named,
    /// The inputs of its graph.
    inputs: Option<FxHashSet<String>>,
}

/// The program of an archive; `None` for a file that is no archive, or cannot be read. Errors: as [`package::read`], and E0005 for its
/// text.
pub(super) fn open(path: &Path, sources: &mut Sources) -> Result<Option<Package>, Vec<Diagnostic>> {
    let Ok(file) = sys::open_file(path, sys::DATA_LIMIT) else { return Ok(None) };
    if !file.start::<512>().is_ok_and(|start| package::is_tar(&start)) {
        return Ok(None);
    }
    let one = |diagnostic| vec![diagnostic];
    let name = path.display().to_string();
    let model = package::read(&name, &file.whole().map_err(one)?).map_err(one)?;
    let (text, reports) = syntax::decode(sources.next_id(), &model.text);
    let file = sources.add(format!("{name}:{}", model.text_name), text);
    if !reports.is_empty() {
        return Err(reports);
    }
    let inputs = model.graph.map(|graph| graph.inputs().map(|(_, name)| name.to_owned()).collect());
    Ok(Some(Package { file, name, weights: model.weights, inputs }))
}

impl Package {
    /// The weights by the names of the parameters of a checked program.
    pub fn weights(self, module: &Module) -> Packed {
        let from = format!("`{}`", self.name);
        let Some(params) = module.find_global("main").map(|main| module.funcs[module.globals[main].func].params.clone()) else {
            return Packed { from, weights: self.weights, doubt: None };
        };
        let named: FxHashSet<&str> = params.iter().map(|&var| &*module.vars[var].name).collect();
        if self.weights.iter().all(|(name, _)| named.contains(name.as_str())) {
            return Packed { from, weights: self.weights, doubt: None };
        }
        match self.in_order(module, &params) {
            Ok(weights) => Packed { from, weights, doubt: None },
            Err(why) => Packed { from, weights: vec![], doubt: Some(self.doubt(&why)) },
        }
    }

    /// The weights as the parameters that the graph does not take, in the order of use. Errors: why they are not, in words.
    fn in_order(&self, module: &Module, params: &[VarId]) -> Result<Named, String> {
        let inputs = self.inputs.as_ref().ok_or("the archive has no graph, which would say what its inputs are")?;
        let mut constants: Vec<Option<&Tensor>> = vec![None; self.weights.len()];
        for (name, tensor) in &self.weights {
            let number = name.strip_prefix('p').and_then(|number| number.parse::<usize>().ok());
            let slot = number.and_then(|number| constants.get_mut(number));
            *slot.ok_or_else(|| format!("`{name}` is not one of `p0`, `p1`, …"))? = Some(tensor);
        }
        let wanted: FxHashSet<VarId> = params.iter().copied().filter(|&var| !inputs.contains(&*module.vars[var].name)).collect();
        let used = in_order_of_use(module, &wanted)?;
        if used.len() != constants.len() {
            let (weights, n_used) = (count(constants.len(), "constant"), count(used.len(), "parameter"));
            return Err(format!("the graph has {weights}, and the program {n_used} that are no inputs of it"));
        }
        let mut named: Named = vec![];
        for (var, constant) in used.into_iter().zip(constants.into_iter().flatten()) {
            let var = &module.vars[var];
            let ty = var.checked_ty.or(var.ty).and_then(|ty| module.types.as_tensor(ty));
            let reshaped = ty.and_then(|(dims, dtype)| as_type(constant, &dims_of(dims)?, dtype));
            let reshaped =
                reshaped.ok_or_else(|| format!("a constant is {}, which `%{}` is not", constant.type_text(), var.name))?;
            named.push((var.name.to_string(), reshaped));
        }
        Ok(named)
    }

    fn doubt(&self, why: &str) -> Diagnostic {
        let names: Vec<String> = self.weights.iter().take(3).map(|(name, _)| format!("`{name}`")).collect();
        let more = if self.weights.len() > names.len() { ", …" } else { "" };
        let names = if more.is_empty() { join_words(&names, "and") } else { names.join(", ") };
        Diagnostic::new(
            codes::E0727,
            format!("the weights in `{}` are not known to be those of its program: {names}{more}", self.name),
        )
        .note(format!("they cannot be told by their order: {why}"))
        .note("TVM saves the constants of the graph it made, into which weights may be folded and packed")
        .help("give the weights that the model was compiled with: `--params FILE`")
    }
}

/// A constant under the shape of a parameter, where axes of length 1 are all they differ in.
fn as_type(constant: &Tensor, dims: &[i64], dtype: DType) -> Option<Tensor> {
    let shape = dims.iter().map(|&dim| usize::try_from(dim).ok()).collect::<Option<Vec<usize>>>()?;
    let long = |shape: &[usize]| shape.iter().copied().filter(|&dim| dim != 1).collect::<Vec<usize>>();
    (constant.dtype() == dtype && long(constant.shape()) == long(&shape)).then(|| constant.reshape(&shape)).flatten()
}

/// The parameters in the order in which `@main` uses them first. Errors: in words, where TVM computes with one of them before it saves.
fn in_order_of_use(module: &Module, wanted: &FxHashSet<VarId>) -> Result<Vec<VarId>, String> {
    let Some(main) = module.find_global("main") else { return Ok(vec![]) };
    let mut used: Vec<VarId> = vec![];
    let mut seen: FxHashSet<VarId> = FxHashSet::default();
    let mut lets: FxHashMap<VarId, ExprId> = FxHashMap::default();
    // Whether nothing but constants and weights is in it.
    let mut fixed = vec![false; module.exprs.len()];
    for expr in module.post_order(&[module.funcs[module.globals[main].func].body]) {
        let of = |expr: ExprId| fixed[expr.index()];
        fixed[expr.index()] = match module.exprs[expr].kind {
            ExprKind::Const(_) => true,
            ExprKind::Var(var) if wanted.contains(&var) => {
                if seen.insert(var) {
                    used.push(var);
                }
                true
            }
            ExprKind::Var(var) => lets.get(&var).is_some_and(|&value| of(value)),
            ExprKind::Tuple(fields) => !fields.is_empty() && module.items(fields).iter().all(|field| of(field.expr)),
            ExprKind::Proj { tuple, .. } => of(tuple),
            ExprKind::Let { var, value, body } => {
                lets.insert(var, value);
                of(body)
            }
            ExprKind::Call { callee, args, .. } => {
                let args = module.items(args);
                let ExprKind::Op(op) = module.exprs[callee].kind else { return Err("the program calls functions".to_owned()) };
                let name = ops::table().def(op).name;
                if !args.is_empty() && args.iter().all(|arg| of(arg.expr)) {
                    return Err(format!("`{name}` computes with weights alone, which TVM does ahead"));
                }
                if ops::table().def(op).decomposed && args.iter().any(|arg| of(arg.expr)) {
                    return Err(format!("`{name}` takes weights, which TVM computes others of"));
                }
                false
            }
            ExprKind::Op(_) => false,
            _ => return Err("the program is more than operators on tensors".to_owned()),
        };
    }
    Ok(used)
}

#[cfg(test)]
mod tests;
