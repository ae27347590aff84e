//! Runs an entry function on the interpreter: its parameters and its result.

pub(super) mod text;

pub use relayc_interp::Limits;

use super::Program;
use super::bind::{Bound, Slot};
use super::outputs;
use super::sized::sized;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::nearest;
use relayc_interp::{Interp, Value, ValueObserver, lower};
use relayc_ir::types::{MAX_DEPTH, MAX_LEAVES, Ty};
use relayc_ir::{ExprKind, FuncId, GlobalId, Module, Root, VarId};
use relayc_ops as ops;
use relayc_sys as sys;

/// The entry of a run: a function of the module, or a bare expression.
#[derive(Clone, Debug)]
pub struct Entry {
    global: Option<GlobalId>,
    /// The parameters, in order.
    pub slots: Vec<Slot>,
    pub ret: Ty,
    /// The names of the result's tensors, left to right; empty if it is no data.
    pub results: Vec<String>,
    /// How many of the slots are free variables of a bare expression; the rest are its parameters if it is a function.
    n_free: usize,
}

impl Entry {
    /// The function, if it is one of the module, and its parameters.
    pub fn callee(&self, module: &Module) -> (Option<FuncId>, &[Slot]) {
        (self.global.map(|global| module.globals[global].func), &self.slots)
    }
}

/// Finds an entry of a checked program. A bare expression is its own entry: its inputs are its free variables and, if it is a
/// function, the parameters. Errors: E0706 for an unknown name.
pub fn entry(module: &Module, name: &str) -> Result<Entry, Diagnostic> {
    let slots = |vars: &[VarId]| vars.iter().map(|&var| slot(module, var)).collect::<Vec<_>>();
    let of_func = |func: FuncId| {
        let func = &module.funcs[func];
        (slots(&func.params), func.ret.unwrap_or(Ty::ERROR), func.output_names())
    };
    match module.root {
        Root::Globals => {
            let Some(global) = module.find_global(name) else {
                return Err(no_entry(module, name));
            };
            let (slots, ret, names) = of_func(module.globals[global].func);
            let results = outputs::result_names(names, ret, &module.types);
            Ok(Entry { global: Some(global), slots, ret, results, n_free: 0 })
        }
        Root::Expr(expr) => {
            let free = module.free_vars();
            let (params, ret, names) = match module.exprs[expr].kind {
                ExprKind::Fn(func) => of_func(func),
                _ => (vec![], module.ty(expr), None),
            };
            let slots = slots(&free).into_iter().chain(params).collect();
            let results = outputs::result_names(names, ret, &module.types);
            Ok(Entry { global: None, slots, ret, results, n_free: free.len() })
        }
    }
}

fn slot(module: &Module, var: VarId) -> Slot {
    let var = &module.vars[var];
    Slot { name: var.name.to_string(), ty: var.checked_ty.or(var.ty).unwrap_or(Ty::ERROR) }
}

pub fn no_entry(module: &Module, name: &str) -> Diagnostic {
    let diagnostic = Diagnostic::new(codes::E0706, format!("there is no function `@{name}` to run"));
    let mut names: Vec<&str> = module.globals.iter().map(|global| &*global.name).collect();
    names.sort_unstable();
    match (nearest(name, names.iter().copied()), names.first()) {
        (Some(near), _) => diagnostic.help(format!("there is `@{near}`: `--entry {near}`")),
        (None, Some(first)) => diagnostic.help(format!("name one that exists: `--entry {first}`")),
        (None, None) => diagnostic.help("the module defines no function"),
    }
}

/// E0601 for an entry, with the reason.
pub fn not_compiled(entry: &str, reason: &str) -> Diagnostic {
    Diagnostic::new(codes::E0601, format!("`@{entry}` is not compiled: {reason}"))
}

/// The number of threads that the environment asks for: RELAYC_NUM_THREADS, else OMP_NUM_THREADS. Errors: a variable of relayc that
/// is no number from 1 to `max`, in words.
pub fn threads_of_environment(max: usize) -> Result<Option<usize>, String> {
    let number = |text: &str| text.trim().parse::<usize>().ok().filter(|&n| n > 0);
    if let Some(own) = std::env::var_os("RELAYC_NUM_THREADS") {
        let own = own.to_string_lossy();
        let threads = number(&own).filter(|&n| n <= max).map(Some);
        return threads.ok_or_else(|| format!("RELAYC_NUM_THREADS is `{own}`: expected a number from 1 to {max}"));
    }
    // Others' variable: a number for each level of nesting, of which the first is meant; what is no number is theirs to refuse.
    let others = std::env::var("OMP_NUM_THREADS").unwrap_or_default();
    Ok(number(others.split(',').next().unwrap_or_default()).map(|n| n.min(max)))
}

/// The limits of runs whose tensors take so many bytes at most; by default, as many as a machine of this memory can hold.
pub fn limits(max_memory: Option<u64>) -> Limits {
    let known = Limits::default();
    let max_live_bytes = max_memory.unwrap_or_else(sys::default_memory_limit);
    let max_tensor_bytes = max_live_bytes.min(known.max_tensor_bytes);
    Limits { max_tensor_bytes, max_live_bytes, short_of_memory: sys::is_short_of_memory, ..known }
}

/// The result of a run.
#[derive(Clone, Debug)]
pub enum Outcome {
    Data(Bound),
    /// Values of data types: as text, for reading only, and why they are not data.
    Text(String, Box<Diagnostic>),
}

impl Outcome {
    /// Converts a value of a type. Errors: as [`to_bound`], for functions and references.
    pub fn of(value: Value, module: &Module, ty: Ty) -> Result<Outcome, Diagnostic> {
        let text = text::of_data_type(module, &value);
        match (to_bound(value), text) {
            (Ok(bound), _) => Ok(Outcome::Data(bound)),
            (Err(why), Some(text)) => Ok(Outcome::Text(format!("out: {}\n{text}\n", module.types.text(ty)), Box::new(why))),
            (Err(why), None) => Err(why),
        }
    }

    /// The result as data. Errors: why it is not data.
    pub fn data(self) -> Result<Bound, Box<Diagnostic>> {
        match self {
            Outcome::Data(bound) => Ok(bound),
            Outcome::Text(_, why) => Err(why),
        }
    }
}

/// Runs an entry on the interpreter. `args` are values of the slots' types, in order.
pub fn interpret(program: &Program, entry: &Entry, args: Vec<Bound>, limits: Limits) -> Result<Bound, Diagnostic> {
    interpret_seen(program, entry, args, limits, None)
}

/// As [`interpret`]; the result may contain anything but functions and references.
pub fn outcome(program: &Program, entry: &Entry, args: Vec<Bound>, limits: Limits) -> Result<Outcome, Diagnostic> {
    Outcome::of(answer(&program.module, entry, args, limits)?, &program.module, entry.ret)
}

/// As [`interpret`], with the result as it is.
pub(crate) fn answer(module: &Module, entry: &Entry, args: Vec<Bound>, limits: Limits) -> Result<Value, Diagnostic> {
    answer_seen(module, entry, args, limits, None)
}

/// As [`interpret`], with an observer, for a result that is data. Errors: also those of the observer.
pub(crate) fn interpret_seen(
    program: &Program,
    entry: &Entry,
    args: Vec<Bound>,
    limits: Limits,
    witness: Option<&dyn ValueObserver>,
) -> Result<Bound, Diagnostic> {
    to_bound(answer_seen(&program.module, entry, args, limits, witness)?)
}

/// Runs an entry on the interpreter, with any values for its slots and any result; `data` are the arguments if all of them are data.
pub fn value(
    module: &Module,
    entry: &Entry,
    args: Vec<Value>,
    data: Option<&[Bound]>,
    limits: Limits,
) -> Result<Value, Diagnostic> {
    let sized = data.map_or(Ok(None), |data| sized(module, entry.callee(module), data)).map_err(|wrong| *wrong)?;
    called(sized.as_ref().unwrap_or(module), entry, args, limits, None)
}

/// As [`answer`], with an observer. Errors: also those of the observer.
pub(crate) fn answer_seen(
    module: &Module,
    entry: &Entry,
    args: Vec<Bound>,
    limits: Limits,
    witness: Option<&dyn ValueObserver>,
) -> Result<Value, Diagnostic> {
    let sized = sized(module, entry.callee(module), &args).map_err(|wrong| *wrong)?;
    called(sized.as_ref().unwrap_or(module), entry, args.into_iter().map(to_value).collect(), limits, witness)
}

fn called(
    module: &Module,
    entry: &Entry,
    mut args: Vec<Value>,
    limits: Limits,
    witness: Option<&dyn ValueObserver>,
) -> Result<Value, Diagnostic> {
    let lowered = lower(module);
    let mut interp = Interp::new(module, ops::table(), &lowered, limits).seen_by(witness);
    let result = match entry.global {
        Some(global) => interp.call_global(global, args),
        None => {
            let params = args.split_off(entry.n_free);
            match interp.eval_root(args) {
                Ok(Value::Closure(closure)) => interp.call_closure(&closure, params),
                other => other,
            }
        }
    };
    result.map_err(|failure| *failure)
}

pub fn to_value(bound: Bound) -> Value {
    match bound {
        Bound::Tensor(tensor) => Value::Tensor(tensor),
        Bound::Tuple(fields) => Value::tuple(fields.into_iter().map(to_value).collect()),
    }
}

/// The result as data. Errors: E0506 for other values, E0805 for more tensors or levels than a parameter may have.
pub fn to_bound(value: Value) -> Result<Bound, Diagnostic> {
    if is_shallow(&value) {
        return nested(value);
    }
    Err(Diagnostic::new(codes::E0805, format!("the result has more than {MAX_LEAVES} tensors or {MAX_DEPTH} levels")))
}

/// Whether a value nests no deeper than the types of parameters may.
fn is_shallow(value: &Value) -> bool {
    let (mut n_seen, mut stack) = (0, vec![(value, 0)]);
    while let Some((value, depth)) = stack.pop() {
        n_seen += 1;
        if n_seen + stack.len() > 2 * MAX_LEAVES || depth > MAX_DEPTH {
            return false;
        }
        if let Value::Tuple(fields) = value {
            stack.extend(fields.iter().map(|field| (field, depth + 1)));
        }
    }
    true
}

/// As [`to_bound`], for a value of limited depth.
fn nested(value: Value) -> Result<Bound, Diagnostic> {
    match value {
        Value::Tensor(tensor) => Ok(Bound::Tensor(tensor)),
        Value::Tuple(fields) => fields.iter().cloned().map(nested).collect::<Result<_, _>>().map(Bound::Tuple),
        Value::Closure(_) => Err(Diagnostic::new(codes::E0506, "the result holds a function, which is no data")
            .help("call it in the program, or run another entry")),
        Value::Adt(..) => Err(Diagnostic::new(codes::E0506, "the result holds a value of a data type, which no file can hold")
            .help("take it apart with `match` in the program, or run another entry")),
        Value::Cell(_) => Err(Diagnostic::new(codes::E0506, "the result holds a reference, which no file can hold")
            .help("read it with `ref_read` in the program, or run another entry")),
    }
}
