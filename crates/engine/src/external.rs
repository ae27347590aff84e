//! Functions with `Compiler="NAME"` for outside compilers: `--external NAME=CMD`.
//!
//! The command gets the function as text and its weights as a file, and writes a shared object ([`Library`]). Each function is compiled
//! once, before the program runs, in a temporary folder that is removed at once. The function keeps its body, which is what the
//! interpreter runs; passes leave it as it is, since it has attributes.

use super::compile::nested;
use relayc_base::Span;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::{count, escape_control, shortened};
use relayc_driver::bind::{Bound, leaves, tensors_in};
use relayc_driver::compare::values::{self, Allowed};
use relayc_driver::run::{Limits, to_bound, to_value};
use relayc_exec::external::{Aligned, HEADER, Library, TensorType};
use relayc_interp::{self as interp, Interp};
use relayc_ir::print::{self, Options};
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, Ty, Types};
use relayc_ir::{AttrValue, COMPILER, ExprId, ExprKind, FuncId, GlobalId, Module};
use relayc_ops as ops;
use relayc_passes::unbind_params;
use relayc_sys::{self as sys, Ended};
use relayc_weights::{Format, Named};
use rustc_hash::FxHashSet;
use std::time::Duration;

/// An outside compiler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compiler {
    /// The value of the attribute `Compiler`.
    pub name: String,
    /// The command and its first arguments.
    pub command: Vec<String>,
}

/// The attribute that numbers the functions of outside compilers.
const NUMBER: &str = "relayc.external";

/// The compiled functions of a program.
#[derive(Default)]
pub struct Externals {
    functions: Vec<External>,
}

/// A function, and the library that computes it.
struct External {
    compiler: String,
    library: Library,
    /// Whether each parameter is an input of the library; the others are its weights.
    is_input: Vec<bool>,
    /// The function as a module of its own.
    module: Module,
    ret: Ty,
    outputs: Vec<(DType, Vec<usize>)>,
}

/// A function to compile.
struct Found {
    func: FuncId,
    compiler: usize,
    span: Span,
    /// The arguments of its only call.
    args: Option<Vec<ExprId>>,
}

/// Compiles the functions of an entry for the compilers that are given, and numbers them. Weights are constants by now.
///
/// Errors: E0706 for a compiler without a function, E0740 for one that fails, E0741 for a library that does not fit.
pub fn compile(
    module: &mut Module,
    entry: &str,
    compilers: &[Compiler],
    timeout: Option<Duration>,
) -> Result<Externals, Diagnostic> {
    let found = found(module, entry, compilers);
    if let Some(unused) = (0..compilers.len()).find(|&at| found.iter().all(|found| found.compiler != at)) {
        let name = &compilers[unused].name;
        let message = format!("`--external {name}=…`: `@{entry}` calls no function with `Compiler=\"{name}\"`");
        return Err(Diagnostic::new(codes::E0706, message));
    }
    let mut functions = vec![];
    for found in &found {
        functions.push(compiled(module, found, &compilers[found.compiler], timeout)?);
    }
    for (at, found) in found.iter().enumerate() {
        module.funcs[found.func].attrs.push((NUMBER.into(), AttrValue::Int { value: at as i64, bits: 64 }));
    }
    Ok(Externals { functions })
}

/// The functions for these compilers that an entry reaches, in the order of evaluation.
fn found(module: &Module, entry: &str, compilers: &[Compiler]) -> Vec<Found> {
    let mut found: Vec<Found> = vec![];
    let mut seen: FxHashSet<GlobalId> = FxHashSet::default();
    let mut left: Vec<GlobalId> = module.find_global(entry).into_iter().collect();
    while let Some(global) = left.pop() {
        if !seen.insert(global) {
            continue;
        }
        let order = module.evaluation_order(&[module.funcs[module.globals[global].func].body]);
        for &expr in &order {
            let func = match module.exprs[expr].kind {
                ExprKind::Global(callee) => {
                    left.push(callee);
                    module.globals[callee].func
                }
                ExprKind::Fn(func) => func,
                _ => continue,
            };
            let Some(compiler) = compiler_of(module, func, compilers) else { continue };
            let mut calls = order.iter().filter_map(|&call| match module.exprs[call].kind {
                ExprKind::Call { callee, args, .. } if callee == expr => Some(module.items(args)),
                _ => None,
            });
            let args = calls.next().filter(|_| calls.next().is_none());
            let args = args.map(|args| args.iter().map(|arg| arg.expr).collect());
            match found.iter_mut().find(|found| found.func == func) {
                // Of several calls each has its own constants.
                Some(found) => found.args = None,
                None => found.push(Found { func, compiler, span: module.exprs[expr].span, args }),
            }
        }
    }
    found
}

/// The position of a function's compiler.
fn compiler_of(module: &Module, func: FuncId, compilers: &[Compiler]) -> Option<usize> {
    let (_, value) = module.funcs[func].attrs.iter().find(|(name, _)| &**name == COMPILER)?;
    let AttrValue::Str(name) = value else { return None };
    compilers.iter().position(|compiler| compiler.name == **name)
}

/// The files that a compiler gets and gives.
const FUNCTION: &str = "function.relay";
const WEIGHTS: &str = "weights.safetensors";
const LIBRARY: &str = "function.so";
const HEADER_FILE: &str = "relayc_external.h";

fn compiled(module: &Module, found: &Found, compiler: &Compiler, timeout: Option<Duration>) -> Result<External, Diagnostic> {
    let failed = |words: String| {
        Diagnostic::new(codes::E0740, format!("the compiler `{}` {words}", compiler.name)).at(found.span, "for this function")
    };
    let own = closed(module, found.func)
        .ok_or_else(|| failed("takes no functions that branch, call others or use variables around them".into()))?;
    let main = own.globals.iter().next().expect("an extracted module has its function").func;
    let params = own.funcs[main].params.clone();
    let constant = |at: usize| {
        let arg = *found.args.as_ref()?.get(at)?;
        let ExprKind::Const(id) = module.exprs[arg].kind else { return None };
        Some(module.consts[id].clone())
    };
    let mut weights: Named = vec![];
    let (mut inputs, mut is_input) = (vec![], vec![]);
    for (at, &var) in params.iter().enumerate() {
        let (name, ty) = (&own.vars[var].name, own.vars[var].checked_ty.or(own.vars[var].ty).unwrap_or(Ty::ERROR));
        let value = constant(at);
        is_input.push(value.is_none());
        match value {
            Some(value) => weights.push((name.to_string(), value)),
            None => inputs.extend(tensors(name, ty, &own.types).map_err(failed)?),
        }
    }
    let ret = own.funcs[main].ret.unwrap_or(Ty::ERROR);
    let results = tensors("out", ret, &own.types).map_err(failed)?;
    let mut given = own.clone();
    let global = given.find_global("main").expect("an extracted module has its function");
    weights.extend(unbind_params(&mut given, global).unwrap_or_default());
    let text = print::print(&given, ops::table(), Options { types: false, meta: true, exact: true, dim_names: false });
    let library = library(compiler, &text, &weights, timeout).map_err(|wrong| wrong.at(found.span, "for this function"))?;
    let types = |leaves: &[(DType, Vec<usize>)]| leaves.iter().map(stated).collect::<Vec<_>>();
    for (what, has, needs) in [("input", &library.inputs, types(&inputs)), ("output", &library.outputs, types(&results))] {
        if let Some(why) = differs(what, has, &needs) {
            let message = format!("the library of `{}` is not that of its function: {why}", compiler.name);
            return Err(Diagnostic::new(codes::E0741, message).at(found.span, "this function"));
        }
    }
    Ok(External { compiler: compiler.name.clone(), library, is_input, module: own, ret, outputs: results })
}

/// A function as a module of its own; `None` if it branches, or mentions what is outside of it.
fn closed(module: &Module, func: FuncId) -> Option<Module> {
    let own = module.extract(func)?;
    let mut bound: FxHashSet<_> = FxHashSet::default();
    for expr in own.post_order(&own.roots()) {
        match own.exprs[expr].kind {
            ExprKind::Let { var, .. } => {
                bound.insert(var);
            }
            ExprKind::Fn(func) => bound.extend(&own.funcs[func].params),
            _ => {}
        }
    }
    bound.extend(own.globals.iter().flat_map(|global| &own.funcs[global.func].params));
    let is_bound = |&expr: &ExprId| !matches!(own.exprs[expr].kind, ExprKind::Var(var) if !bound.contains(&var));
    own.post_order(&own.roots()).iter().all(is_bound).then_some(own)
}

/// The tensors of a type. Errors: in words, if they are none of known size.
fn tensors(name: &str, ty: Ty, types: &Types) -> Result<Vec<(DType, Vec<usize>)>, String> {
    let no_tensors = |_| format!("takes tensors, which `{name}` is not");
    let leaves = leaves::leaves(name, ty, types).map_err(no_tensors)?;
    let tensor = |leaf: leaves::Leaf| {
        let shape = leaf.dims.iter().map(|dim| dim.value().and_then(|dim| usize::try_from(dim).ok())).collect();
        let shape: Option<Vec<usize>> = shape;
        let shape = shape.ok_or_else(|| format!("takes sizes that are known: `{}` is {}", leaf.name, leaf.type_text()))?;
        Ok((leaf.dtype, shape))
    };
    leaves.into_iter().map(tensor).collect()
}

fn stated((dtype, shape): &(DType, Vec<usize>)) -> TensorType {
    TensorType { dtype: dtype.to_string(), shape: shape.iter().map(|&dim| dim as u64).collect() }
}

/// How a library's tensors differ from those of its function.
fn differs(what: &str, has: &[TensorType], needs: &[TensorType]) -> Option<String> {
    if has.len() != needs.len() {
        return Some(format!("it has {}, the function {}", count(has.len(), what), needs.len()));
    }
    let (at, (has, needs)) = has.iter().zip(needs).enumerate().find(|(_, (has, needs))| has != needs)?;
    Some(format!("its {what} {at} is {has}, the function's is {needs}"))
}

/// Runs a compiler in a folder of its own, and loads what it writes. Errors: E0740, E0741.
fn library(compiler: &Compiler, text: &str, weights: &Named, timeout: Option<Duration>) -> Result<Library, Diagnostic> {
    let failed = |words: String| Diagnostic::new(codes::E0740, format!("the compiler `{}` {words}", compiler.name));
    let unwritten = |error: std::io::Error| failed(format!("has no folder to work in: {error}"));
    let folder = tempfile::Builder::new().prefix("relayc-external-").tempdir().map_err(unwritten)?;
    let at = |name: &str| folder.path().join(name);
    let format = Format::of_name(WEIGHTS).expect("the ending of a format");
    let weights = relayc_weights::encode(format, WEIGHTS, weights)?;
    let files: [(&str, &[u8]); 3] = [(FUNCTION, text.as_bytes()), (WEIGHTS, &weights), (HEADER_FILE, HEADER.as_bytes())];
    for (name, bytes) in files {
        std::fs::write(at(name), bytes).map_err(unwritten)?;
    }
    let path = |name: &str| at(name).to_str().map(str::to_owned);
    let args = [FUNCTION, WEIGHTS, LIBRARY].map(path).into_iter().collect::<Option<Vec<String>>>();
    let args = args.ok_or_else(|| failed("has a folder whose name is no text".into()))?;
    let command = [compiler.command.as_slice(), &args].concat();
    let ended = sys::run(&command, timeout).map_err(|error| failed(format!("cannot be started: {error}")))?;
    if let Some(how) = unfinished(&ended) {
        let said = String::from_utf8_lossy(&ended.stderr);
        let said = said.lines().take(SAID).map(|line| format!("it said: {}", escape_control(&shortened(line, 120))));
        return Err(said.fold(failed(how), |failed, line| failed.note(line)));
    }
    if !at(LIBRARY).is_file() {
        return Err(failed(format!("wrote no `{LIBRARY}`")).help("the last of its three arguments is the file to write"));
    }
    Library::open(&at(LIBRARY)).map_err(|why| {
        let why = why.replace(&*at(LIBRARY).to_string_lossy(), LIBRARY);
        Diagnostic::new(codes::E0741, format!("the library of `{}` is not used: {why}", compiler.name))
    })
}

/// Lines of a compiler's words that are shown.
const SAID: usize = 5;

/// How a compiler ended, if not well.
fn unfinished(ended: &Ended) -> Option<String> {
    match ended {
        Ended { timed_out: true, .. } => Some("is out of time".to_owned()),
        Ended { code: Some(0), .. } => None,
        Ended { code: Some(code), .. } => Some(format!("failed with exit code {code}")),
        Ended { code: None, .. } => Some("was killed".to_owned()),
    }
}

impl Externals {
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// The number of a function, if an outside compiler made it.
    pub(crate) fn number(&self, module: &Module, func: FuncId) -> Option<usize> {
        let (_, value) = module.funcs[func].attrs.iter().find(|(name, _)| &**name == NUMBER)?;
        usize::try_from(value.as_int()?).ok().filter(|&at| at < self.functions.len())
    }

    /// Calls a function. Errors: E0506 if it fails, E0803 without memory.
    pub(crate) fn call(&self, number: usize, args: &[Bound]) -> Result<Bound, Box<Diagnostic>> {
        let External { compiler, library, is_input, module, ret, outputs } = &self.functions[number];
        let args: Vec<Bound> = args.iter().zip(is_input).filter(|(_, is_input)| **is_input).map(|(arg, _)| arg.clone()).collect();
        let memory = |len: usize| {
            Aligned::zeros(len)
                .map_err(|_| Diagnostic::new(codes::E0803, "the tensors of a function are too large for this machine"))
        };
        let input = |tensor: &Tensor| {
            let bytes = tensor.to_le_bytes();
            let mut input = memory(bytes.len())?;
            input.bytes_mut().copy_from_slice(&bytes);
            Ok(input)
        };
        let inputs = tensors_in(&args).into_iter().map(input).collect::<Result<Vec<_>, _>>().map_err(Box::new)?;
        let bytes = |(dtype, shape): &(DType, Vec<usize>)| dtype.bytes() as usize * shape.iter().product::<usize>();
        let mut results = outputs.iter().map(|output| memory(bytes(output))).collect::<Result<Vec<_>, _>>().map_err(Box::new)?;
        library.run(&inputs, &mut results).map_err(|code| {
            Box::new(Diagnostic::new(codes::E0506, format!("a function of the compiler `{compiler}` failed with {code}")))
        })?;
        let mut tensors = outputs.iter().zip(&results).map(|((dtype, shape), bytes)| {
            Tensor::from_le_bytes(*dtype, shape, bytes.bytes()).expect("an output has the bytes of its type")
        });
        Ok(nested(*ret, &module.types, &mut tensors))
    }

    /// Checks a result of a function with the interpreter. Errors: E0508 if it differs, and those of the interpreter.
    pub(crate) fn check(&self, number: usize, args: &[Bound], result: &Bound, limits: &Limits) -> Result<(), Box<Diagnostic>> {
        let External { compiler, module, .. } = &self.functions[number];
        let lowered = interp::lower(module);
        let main = module.find_global("main").expect("an extracted module has its function");
        let args = args.iter().cloned().map(to_value).collect();
        let expected = Interp::new(module, ops::table(), &lowered, limits.clone()).call_global(main, args)?;
        let expected = to_bound(expected).map_err(Box::new)?;
        values::same(&expected, result, Allowed::OfScale).map_err(|how| {
            let message = format!("a function of the compiler `{compiler}` does not give what the interpreter gives");
            Box::new(Diagnostic::new(codes::E0508, message).note(how))
        })
    }
}

/// Splits `NAME=CMD`. Errors: in words.
pub fn parse(text: &str) -> Result<Compiler, String> {
    let (name, command) = text.split_once('=').ok_or("expected NAME=CMD")?;
    let command: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    match name.trim() {
        "" => Err("expected NAME=CMD".to_owned()),
        "relayc" => Err("the name `relayc` is that of relayc's own subgraphs".to_owned()),
        _ if command.is_empty() => Err("expected a command behind `=`".to_owned()),
        name => Ok(Compiler { name: name.to_owned(), command }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_has_a_name_and_a_command() {
        let found = parse("mine=cc -O2").expect("both");
        assert_eq!((found.name.as_str(), found.command), ("mine", vec!["cc".to_owned(), "-O2".to_owned()]));
        for wrong in ["mine", "=cc", "mine=", "mine= ", "relayc=cc"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
