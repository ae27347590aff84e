//! Promises of programs that are right: passes keep them, folding computes what the interpreter does, runs end within their limits.

use super::super::choices::Choices;
use super::super::counted::within;
use super::super::grid::{ATTRS, corners};
use super::super::writer::{Purpose, write};
use relayc_base::Idx;
use relayc_base::diag::{Diagnostic, codes};
use relayc_driver::bind::{Bound, Packed, Requests, bind, tensors_in};
use relayc_driver::example::Runner;
use relayc_driver::optimise::{MAX_LEVEL, Pass, PassPlan, Target, UNTIL, all, bind_weights, optimise};
use relayc_driver::run::{Entry, Limits, entry, interpret, to_bound, to_value};
use relayc_driver::{Phase, Program, check_text, show};
use relayc_interp::{Engine, EngineResult, Interp, Value, lower};
use relayc_ir::attrs::Arg;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, Solver, Ty, Types};
use relayc_ir::{ExprId, ExprKind, FuncId, Module};
use relayc_ops::{OpDef, table};
use relayc_passes::{Observer, broken};
use std::cell::Cell;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A program without errors.
fn right(text: &str, until: Phase) -> Program {
    let program = check_text("random", text, until);
    assert!(!program.has_errors(), "{text}\n{:?}", program.diagnostics);
    program
}

/// The types of the data that a program computes, before a pass.
#[derive(Default)]
struct LiveTypes(Vec<(ExprId, Ty)>);

fn is_data(types: &Types, ty: Ty) -> bool {
    let is_tensor = |&ty: &Ty| types.as_tensor(ty).is_some();
    types.as_tuple(ty).map_or_else(|| is_tensor(&ty), |fields| fields.iter().all(is_tensor))
}

impl LiveTypes {
    fn of(module: &Module) -> LiveTypes {
        let typed = |expr: ExprId| Some((expr, module.expr_tys.get(expr).copied().flatten()?));
        let live = module.post_order(&module.roots()).into_iter().filter_map(typed);
        LiveTypes(live.filter(|&(_, ty)| is_data(&module.types, ty)).collect())
    }
}

/// An expression that a pass leaves has its number still, so it is the same value: of the type it had, or of one that says more.
impl Observer for LiveTypes {
    fn before(&mut self, _: &Pass, module: &Module) {
        *self = LiveTypes::of(module);
    }

    fn after(&mut self, pass: &Pass, module: &Module) -> Result<(), Box<Diagnostic>> {
        if !pass.keeps_answers || !pass.needs_types {
            return Ok(());
        }
        let LiveTypes(live) = LiveTypes::of(module);
        let mut now = vec![None; module.exprs.len()];
        live.iter().for_each(|&(expr, ty)| now[expr.index()] = Some(ty));
        for &(expr, before) in &self.0 {
            let Some(after) = now[expr.index()].filter(|&after| after != before) else { continue };
            let mut types = module.types.clone();
            let open = types.has_hole(before) || types.has_hole(after);
            if !open && Solver::with_written(&types).unify(&mut types, before, after).is_err() {
                let why = format!("a value of type {} has become {}", types.text(before), types.text(after));
                return Err(broken(pass.name, &why));
            }
        }
        Ok(())
    }
}

/// A right program is one after each of some passes, and what is left of it has its types; where it can be run, and its passes keep
/// answers, it gives the same.
pub fn passes_verify_each(choices: &[u8]) {
    let mut choices = Choices::new(choices);
    let passes = all();
    let target = [Target::V3, Target::V4][choices.one(2)];
    let level = choices.one(8);
    let names: Vec<&Pass> = (0..1 + choices.one(4)).map(|_| passes[choices.one(passes.len())]).collect();
    let purpose = [Purpose::Run, Purpose::Read][choices.one(2)];
    let plan = match u8::try_from(level).ok().filter(|&level| level > 0 && level <= MAX_LEVEL) {
        Some(level) => PassPlan::level(level, target),
        None => PassPlan::named(names.iter().map(|pass| pass.name), target).expect("the names of passes"),
    };
    let entry = (purpose == Purpose::Run).then(|| "main".to_owned());
    let plan = PassPlan { verify: true, entry, ..plan };
    let text = write(choices.rest(), purpose);
    let before = right(&text, UNTIL);
    let mut after = before.clone();
    let shown = || plan.passes.iter().map(|step| step.pass.name).collect::<Vec<_>>().join(",");
    if let Err(wrong) = optimise(&mut after.module, &plan, &mut LiveTypes::default()) {
        assert_eq!(wrong.code, codes::E0743, "{}: {}\n{text}", shown(), wrong.message);
        return;
    }
    if purpose == Purpose::Run && plan.passes.iter().all(|step| step.pass.keeps_answers) {
        let (before, after) = (Runner::new(&before, ""), Runner::new(&after, ""));
        let example = before.random("main").expect("it has a main");
        // What nobody needs may fail or not.
        if before.outcome(&example).expect("it takes two tensors").is_err() {
            return;
        }
        before.same(&after, &example).unwrap_or_else(|why| panic!("{}: {why}\n{text}", shown()));
    }
}

/// A tensor of special values of a dtype.
fn special(choices: &mut Choices, dtype: DType, shape: &[usize]) -> Tensor {
    static GRIDS: OnceLock<Vec<Vec<Tensor>>> = OnceLock::new();
    let grids = GRIDS.get_or_init(|| DType::RUNTIME.into_iter().map(corners).collect());
    let grid = &grids[DType::RUNTIME.iter().position(|&known| known == dtype).expect("a dtype of tensors")];
    let bytes: Vec<u8> =
        (0..shape.iter().product::<usize>()).flat_map(|_| grid[choices.wide(grid.len())].to_le_bytes()).collect();
    Tensor::from_le_bytes(dtype, shape, &bytes).expect("as many bytes as the shape says")
}

/// What is worth trying of the attributes of operators that need none.
const COMMON_ATTRS: [&str; 10] = [
    "",
    "axis=0",
    "axis=-1",
    "axis=[0]",
    "axis=1, keepdims=True",
    "axis=[0, 1], exclude=True",
    "dtype=\"int64\"",
    "out_dtype=\"float32\"",
    "exclusive=True",
    "newshape=[-1]",
];

/// A call of an operator with special values as text, and the values.
fn call_on_corners(choices: &mut Choices) -> (&'static OpDef, String, Vec<Tensor>) {
    let defs = table().defs();
    let def = defs[choices.wide(defs.len())];
    let dtype = choices.of(&DType::RUNTIME);
    let shape: Vec<usize> = (0..choices.one(4)).map(|_| choices.of(&[2, 1, 3, 0])).collect();
    let operand = |_| {
        let (shape, dtype) = match choices.one(8) {
            0 => (&shape[shape.len().min(1)..], dtype),
            1 => (&shape[..0], dtype),
            2 => (&shape[..], choices.of(&DType::RUNTIME)),
            _ => (&shape[..], dtype),
        };
        special(choices, dtype, shape)
    };
    let args: Vec<Tensor> = def.args.iter().map(operand).collect();
    let own = ATTRS.iter().find(|(name, _)| *name == def.name).map_or(&COMMON_ATTRS[..], |(_, attrs)| attrs);
    let attrs = if own.is_empty() { "" } else { choices.of(own) };
    let params: Vec<String> = args.iter().enumerate().map(|(at, arg)| format!("%a{at}: {}", arg.type_text())).collect();
    let written = |(at, arg): (usize, &Arg)| match arg.kind.starts_with("Tuple") {
        true => format!("(%a{at}, %a{at})"),
        false => format!("%a{at}"),
    };
    let names = def.args.iter().enumerate().map(written).chain([attrs.to_owned()]);
    let names = names.filter(|name| !name.is_empty()).collect::<Vec<_>>().join(", ");
    (def, format!("#[version = \"0.0.5\"]\ndef @main({}) {{ {}({names}) }}\n", params.join(", "), def.name), args)
}

/// The dtype, the shape and the bytes of each tensor.
type Bits = Vec<(DType, Vec<usize>, Vec<u8>)>;

/// The dtypes, shapes and bytes of what a run gave, or the code it failed with.
fn bits(outcome: &Result<Bound, Diagnostic>) -> Result<Bits, &'static str> {
    let tensors = |value: &Bound| {
        let tensors = tensors_in(std::slice::from_ref(value)).into_iter();
        tensors.map(|tensor| (tensor.dtype(), tensor.shape().to_vec(), tensor.to_le_bytes())).collect()
    };
    outcome.as_ref().map(tensors).map_err(|diagnostic| diagnostic.code.id())
}

/// An operator on constants is folded to what the interpreter computes, bit for bit, or fails as it does.
pub fn fold_corners(choices: &[u8]) {
    let (def, text, args) = call_on_corners(&mut Choices::new(choices));
    let program = check_text("corner", &text, UNTIL);
    if program.has_errors() || def.internal || def.random {
        return;
    }
    let main = entry(&program.module, "main").expect("it has a main");
    let values: Vec<(String, Tensor)> = args.iter().enumerate().map(|(at, arg)| (format!("a{at}"), arg.clone())).collect();
    let bound = args.into_iter().map(Bound::Tensor).collect();
    let expected = bits(&interpret(&program, &main, bound, Limits::default()));
    let mut folded = program.clone();
    folded.packed = Packed::of("random", values);
    bind_weights(&mut folded, "main", &[]).unwrap_or_else(|wrong| panic!("{wrong:?}\n{text}"));
    let plan = PassPlan { verify: true, ..PassPlan::named(["fold-constants"], Target::V4).expect("the name of a pass") };
    optimise(&mut folded.module, &plan, &mut ()).unwrap_or_else(|wrong| panic!("{}\n{text}", wrong.message));
    let shown = || show::print(&folded, show::Options { types: true, meta: true, exact: true, dim_names: false });
    let again = entry(&folded.module, "main").expect("it has a main still");
    assert!(again.slots.is_empty(), "a constant is a parameter still\n{text}");
    let found = bits(&interpret(&folded, &again, vec![], Limits::default()));
    assert!(found == expected, "{text}folded to\n{}which gives {found:?}, not {expected:?}", shown());
    let module = &folded.module;
    let body = module.funcs[module.globals[module.find_global("main").expect("it has a main")].func].body;
    let is_call = matches!(module.exprs[body].kind, ExprKind::Call { .. });
    // Results of more than 64 KiB are folded if their operands are nearly as large.
    let folds = expected.is_ok_and(|tensors| tensors.iter().map(|(.., bytes)| bytes.len()).sum::<usize>() <= 64 << 10);
    assert!(!folds || !is_call, "{text}is not folded:\n{}", shown());
}

/// Counts the calls of a run.
#[derive(Default)]
struct Calls(Cell<u64>);

impl Engine for Calls {
    fn call(&self, _: FuncId, _: &[Value]) -> Result<EngineResult, Box<Diagnostic>> {
        self.0.set(self.0.get() + 1);
        Ok(EngineResult::No)
    }
}

/// What a function gives within limits, and how many functions it called.
fn run(module: &Module, entry: &Entry, name: &str, args: &[Bound], limits: Limits) -> (Result<Bound, Diagnostic>, u64) {
    assert_eq!(entry.slots.len(), args.len());
    let (lowered, calls) = (lower(module), Calls::default());
    let mut interp = Interp::with_engine(module, table(), &lowered, limits, &calls);
    let global = module.find_global(name).expect("an entry");
    let result = interp.call_global(global, args.iter().cloned().map(to_value).collect());
    (result.map_err(|failure| *failure).and_then(to_bound), calls.0.get())
}

/// The limits that others are held against: a program of the writer may call itself for ever.
const MOST_CALLS: u64 = 2000;
const MOST_DEPTH: usize = 500;
const MOST_BYTES: u64 = 1 << 20;

/// A run ends within small limits, with the code of a limit, and is otherwise the run that larger limits allow.
pub fn interp_fuel(choices: &[u8]) {
    let mut choices = Choices::new(choices);
    let (calls, depth, bytes) = (choices.wide(1 << 10), choices.one(64), choices.wide(1 << 10));
    let (which, at) = (choices.one(32), choices.one(8));
    let text = write(choices.rest(), Purpose::Read);
    let program = right(&text, Phase::Main);
    let module = &program.module;
    let names: Vec<String> = module.globals.iter().map(|global| global.name.to_string()).collect();
    let name = &names[at % names.len()];
    let main = entry(module, name).expect("a function of the program");
    let ones = Requests { fill: Some("ones".into()), max_memory: Some(MOST_BYTES), ..Requests::default() };
    let Ok(args) = bind(&main.slots, &module.types, &ones) else { return };
    let large = Limits {
        max_calls: MOST_CALLS,
        max_depth: MOST_DEPTH,
        max_tensor_bytes: MOST_BYTES,
        max_live_bytes: 16 * MOST_BYTES,
        ..Limits::default()
    };
    let mut small = large.clone();
    if which & 1 != 0 {
        small.max_calls = calls as u64;
    }
    if which & 2 != 0 {
        small.max_depth = depth;
    }
    if which & 4 != 0 {
        small.max_tensor_bytes = bytes as u64;
    }
    let over = which & 24 == 24;
    if over {
        small.deadline = Instant::now().checked_sub(Duration::from_millis(1));
    }
    let of_limits = [codes::E0803, codes::E0805];
    let (reference, _) = within(0, || run(module, &main, name, &args, large));
    let ((found, n_calls), max) = (within(0, || run(module, &main, name, &args, small.clone())), small.max_calls);
    // The call that is one too many is refused; after the time is over, so is the first.
    let most = if over { 1 } else { max.saturating_add(1) };
    assert!(n_calls <= most, "{n_calls} calls within {small:?} of @{name} in\n{text}");
    match &found {
        Err(stopped) if of_limits.contains(&stopped.code) => {}
        _ => assert_eq!(bits(&found), bits(&reference), "@{name} within {small:?} in\n{text}"),
    }
}
