//! Reads programs that come with weights: of archives, with the parameters that an archive's weights belong to, and of ONNX models.
//!
//! A model in Model Library Format has the program as given to TVM. It also has the constants of TVM's graph, called `p0`, `p1`,
//! … in the order in which the graph uses them. If TVM changed only their number of axes, they are the weights in the program's
//! order of use. If TVM precomputed with weights, they are not, and nothing records the originals.

use super::bind::{self, Packed};
use super::{Program, ReadOptions, tensors};
use relayc_base::diag::{Diagnostic, Severity, codes};
use relayc_base::text::{count, join_words};
use relayc_base::{FileId, Idx, Sources};
use relayc_exchange::package;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, dims_of};
use relayc_ir::{ExprId, ExprKind, Module, VarId};
use relayc_ops as ops;
use relayc_syntax as syntax;
use relayc_sys as sys;
use relayc_weights::Named;
use relayc_weights::foreign::Foreign;
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::{Path, PathBuf};

/// A program that came with weights.
pub(super) struct Package {
    pub(crate) file: FileId,
    name: String,
    weights: Named,
    /// The inputs of its graph.
    inputs: Option<FxHashSet<String>>,
    /// Its inputs with their names in the model that the program was read from.
    model_names: Vec<(String, String)>,
    /// What was said while it was read.
    pub(crate) warnings: Vec<Diagnostic>,
    /// The settings of `--set` that are left to carry out.
    pub(crate) set: Vec<String>,
}

/// Opens the program of an archive or of an ONNX model; `None` for an unreadable file or another one.
/// Errors: as [`package::read`] and E0005 for its text, or as [`import`](super::import::import).
pub(super) fn open(path: &Path, how: &ReadOptions, sources: &mut Sources) -> Result<Option<Package>, Vec<Diagnostic>> {
    // A pipe can be read once, as a text.
    if sys::is_standard(path) || !path.is_file() {
        return Ok(None);
    }
    let one = |diagnostic| vec![diagnostic];
    let name = path.display().to_string();
    let Ok(file) = sys::open_file(path, sys::Limit::data()) else { return Ok(None) };
    let Ok(start) = file.start::<512>() else { return Ok(None) };
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("onnx")) || Foreign::is_model(&start) {
        let mut read = |sizes: &[(String, i64)]| {
            let bytes = sys::read_file(path, sys::Limit::model()).map_err(one)?;
            super::import::read_onnx(&name, bytes, (&[], sizes), how.external_data.then_some(path), sources)
        };
        let mut set = how.set.clone();
        let model = match (read(&[]), sizes_of(&set)) {
            // Some operators are imported only where sizes are numbers.
            (Err(_), Some(sizes)) => {
                set.retain(|setting| bind::size_setting(setting).is_none());
                read(&sizes)?
            }
            (made, _) => made?,
        };
        let file = sources.add(format!("{name}:program"), model.text);
        let inputs = Some(model.inputs.iter().map(|(ours, _)| ours.clone()).collect());
        let (weights, model_names, warnings) = (model.weights, model.inputs, model.warnings);
        for setting in &mut set {
            let axis = bind::axis_setting("--set", setting).ok();
            let named = axis.and_then(|(name, axis, n)| Some((bind::own_name(&model_names, name)?, axis, n)));
            if let Some((own, axis, n)) = named {
                *setting = format!("{own}.{axis}={n}");
            }
        }
        return Ok(Some(Package { file, name, weights, inputs, model_names, warnings, set }));
    }
    if !relayc_weights::tar::is_tar(&start) {
        return Ok(None);
    }
    let model = package::read(&name, &file.whole().map_err(one)?).map_err(one)?;
    let (text, reports) = syntax::decode(sources.next_id(), &model.text);
    let file = sources.add(format!("{name}:{}", model.text_name), text);
    if !reports.is_empty() {
        return Err(reports);
    }
    let inputs = model.graph.map(|graph| graph.inputs().map(|(_, name)| name.to_owned()).collect());
    let (weights, set) = (model.weights, how.set.clone());
    Ok(Some(Package { file, name, weights, inputs, model_names: vec![], warnings: vec![], set }))
}

/// The sizes that settings give numbers; `None` if there are none, one is no number, or one has two.
fn sizes_of(set: &[String]) -> Option<Vec<(String, i64)>> {
    let mut sizes: Vec<(String, i64)> = vec![];
    for (name, number) in set.iter().filter_map(|setting| bind::size_setting(setting)) {
        if sizes.iter().any(|(known, _)| known == name) {
            return None;
        }
        sizes.push((name.to_owned(), number?));
    }
    (!sizes.is_empty()).then_some(sizes)
}

impl Package {
    /// Assigns the weights to the parameters of a checked program.
    pub(crate) fn weights(self, module: &Module) -> Packed {
        let main = module.find_global("main").map(|main| module.globals[main].func);
        let params = main.map_or(vec![], |main| module.funcs[main].params.clone());
        let named: FxHashSet<&str> = params.iter().map(|&var| &*module.vars[var].name).collect();
        let by_name = main.is_none() || self.weights.iter().all(|(name, _)| named.contains(name.as_str()));
        let (weights, mut doubt) = match if by_name { Ok(vec![]) } else { self.in_order(module, &params) } {
            Ok(_) if by_name => (self.weights.clone(), None),
            Ok(weights) => (weights, None),
            Err(why) => (vec![], Some(self.doubt(&why))),
        };
        let is_input = |name: &str| self.inputs.as_ref().is_some_and(|inputs| inputs.contains(name));
        let has_weight = |name: &str| weights.iter().any(|(own, _)| own == name);
        let open = params.iter().map(|&var| &*module.vars[var].name).filter(|name| !is_input(name) && !has_weight(name));
        let open: Vec<String> = open.map(str::to_owned).collect();
        // Without a graph, all of them may be inputs.
        if doubt.is_none() && self.inputs.is_some() && !open.is_empty() {
            doubt = Some(without_weights(&self.name, &open));
        }
        Packed { from: self.name, weights, doubt, open, model_names: self.model_names }
    }

    /// Assigns the weights, in order of use, to the parameters that the graph does not take. Errors: why that is impossible, in
    /// words.
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
        let names: Vec<String> = self.weights.iter().map(|(name, _)| name.clone()).collect();
        let message = format!("the weights in `{}` are not known to be those of its program: {}", self.name, shown(&names));
        Diagnostic::new(codes::E0727, message)
            .note(format!("they cannot be told by their order: {why}"))
            .note("TVM saves the constants of the graph it made, into which weights may be folded and packed")
            .help(GIVE)
    }
}

/// The warning E0727 about the parameters of an entry that stay inputs, because neither the archive nor one of the weight files
/// has a tensor for them.
pub fn left_open(program: &Program, entry: &str, files: &[PathBuf]) -> Option<Diagnostic> {
    let (packed, module) = (&program.packed, &program.module);
    let func = module.globals[module.find_global(entry).filter(|_| !packed.open.is_empty())?].func;
    // The reader of a file reports its errors.
    let files: Vec<tensors::File> = files.iter().filter_map(|file| tensors::open(file).ok()).collect();
    let is_given = |name: &str| files.iter().any(|file| file.items().iter().any(|item| item.name == name));
    let params = module.funcs[func].params.iter().map(|&var| &*module.vars[var].name);
    let left = params.filter(|&name| packed.open.iter().any(|open| open == name) && !is_given(name));
    let left: Vec<String> = left.map(str::to_owned).collect();
    (!left.is_empty()).then(|| {
        let doubt = packed.doubt.clone().unwrap_or_else(|| without_weights(&packed.from, &left));
        Diagnostic { severity: Severity::Warning, ..doubt.note(format!("these parameters stay inputs: {}", shown(&left))) }
    })
}

/// E0727 for an archive without weights for these parameters.
fn without_weights(name: &str, params: &[String]) -> Diagnostic {
    let what = if params.len() == 1 { "a parameter" } else { "parameters" };
    Diagnostic::new(codes::E0727, format!("`{name}` has no weights for {what} of its program: {}", shown(params))).help(GIVE)
}

/// The help for an archive without weights.
const GIVE: &str = "give the weights that the model was compiled with: `--params FILE`";

/// The first three of a list of names, as text.
fn shown(names: &[String]) -> String {
    let first: Vec<String> = names.iter().take(3).map(|name| format!("`{name}`")).collect();
    if names.len() > first.len() { format!("{}, …", first.join(", ")) } else { join_words(&first, "and") }
}

/// A constant with the shape of a parameter, if they differ only in axes of length 1.
fn as_type(constant: &Tensor, dims: &[i64], dtype: DType) -> Option<Tensor> {
    let shape = dims.iter().map(|&dim| usize::try_from(dim).ok()).collect::<Option<Vec<usize>>>()?;
    let long = |shape: &[usize]| shape.iter().copied().filter(|&dim| dim != 1).collect::<Vec<usize>>();
    (constant.dtype() == dtype && long(constant.shape()) == long(&shape)).then(|| constant.reshape(&shape)).flatten()
}

/// The parameters in the order of their first use in `@main`. Errors: in words, if TVM computes with one of them before it saves.
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
