//! Scalability: programs of many parts run on a stack of 256 KiB. No algorithm scans all parts for each part, or visits a part
//! once for each path to it.
//!
//! No case is timed: a violation would not terminate.

use relayc_driver::optimise::{PassPlan, Target, UNTIL, optimise};
use relayc_driver::run::{Limits, entry, interpret};
use relayc_driver::{Phase, Program, check_text, show};
use relayc_exec::plan::{GroupPlans, KernelOptions, NotCompiled, Structure, plan};
use relayc_ir::kernel::Target as Machine;
use relayc_ir::tensor::Tensor;
use relayc_ops::table;
use relayc_passes::explain_fusion;
use std::fmt::Write;

const STACK: usize = 256 << 10;
const MANY: usize = 100_000;

fn on_small_stack<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().stack_size(STACK).spawn(run).expect("a thread").join().expect("no overflow")
}

/// Lines, each made of its number.
fn lines(n: usize, line: impl Fn(usize) -> String) -> String {
    (0..n).fold(String::new(), |mut text, at| {
        writeln!(text, "{}", line(at)).expect("a string takes all");
        text
    })
}

fn program(params: &str, body: &str) -> Program {
    let text = format!("#[version = \"0.0.5\"]\ndef @main({params}) {{\n{body}\n}}\n");
    let program = check_text("many", &text, UNTIL);
    assert!(!program.has_errors(), "{:.1000?}", program.diagnostics);
    program
}

fn optimised(mut program: Program, how: &PassPlan) -> Program {
    optimise(&mut program.module, how, &mut ()).unwrap_or_else(|wrong| panic!("{}", wrong.message));
    program
}

/// How many outputs `@main` has in its plan.
fn planned(program: &Program) -> Result<usize, NotCompiled> {
    let main = program.module.find_global("main").expect("it has a main");
    let means = KernelOptions { tile: 0, byte_columns: 1, target: Machine::AVX2, followed: true };
    let (func, groups) = (program.module.globals[main].func, GroupPlans::default());
    let structure = Structure::of(&program.module, func, &groups)?;
    plan(&program.module, table(), func, &structure, &[], means, &groups).map(|plan| plan.outputs.len())
}

#[test]
fn bindings_of_a_plan() {
    let outputs = on_small_stack(|| {
        let body = lines(MANY, |at| match at {
            0 => "let %v0 = transpose(%x, axes=[1, 0]);".to_owned(),
            _ => format!("let %v{at} = transpose(%v{}, axes=[1, 0]);", at - 1),
        });
        planned(&program("%x: Tensor[(2, 3), float32]", &format!("{body}%v{}", MANY - 1)))
    });
    assert_eq!(outputs, Ok(1));
}

#[test]
fn a_binding_of_a_block() {
    let body = "let %a = { let %b = nn.relu(%x); %b };\nlet %c = %a;\nadd(%c, %a)";
    assert_eq!(planned(&program("%x: Tensor[(2, 3), float32]", body)), Ok(1));
}

#[test]
fn functions_of_a_module() {
    let n_functions = on_small_stack(|| {
        let functions = lines(MANY, |at| format!("def @f{at}(%x: Tensor[(2), float32]) {{ nn.relu(%x) }}"));
        let program = check_text("many", &format!("#[version = \"0.0.5\"]\n{functions}"), UNTIL);
        optimised(program, &PassPlan::named(["inline"], Target::V3).expect("the name of a pass")).module.globals.len()
    });
    assert_eq!(n_functions, MANY);
}

#[test]
fn calls_that_differ_in_their_attributes() {
    let n_outputs = on_small_stack(|| {
        let calls = lines(MANY, |at| format!("%{at} = reshape(%x, newshape=[{}, -1]);", 1 << (at % 20)));
        let slices = lines(MANY, |at| {
            format!("%{} = strided_slice(%x, begin=[{at}], end=[{}], strides=[1], axes=None);", MANY + at, at + 1)
        });
        let fields: Vec<String> = (0..2 * MANY).map(|at| format!("%{at}")).collect();
        let program = program("%x: Tensor[(1048576), float32]", &format!("{calls}{slices}({})", fields.join(", ")));
        let how = PassPlan::named(["eliminate-common-subexpr"], Target::V3).expect("the name of a pass");
        let program = optimised(program, &how);
        let main = program.module.find_global("main").expect("it has a main");
        let body = program.module.funcs[program.module.globals[main].func].body;
        let calls = program.module.post_order(&[body]);
        calls.into_iter().filter(|&expr| program.module.called_op(expr).is_some()).count()
    });
    assert_eq!(n_outputs, MANY + 20);
}

#[test]
fn names_of_names() {
    on_small_stack(|| {
        let body = lines(MANY, |at| match at {
            0 => "let %v0 = %x;".to_owned(),
            _ => format!("let %v{at} = %v{};", at - 1),
        });
        let sums = lines(MANY, |at| format!("let %s{at} = nn.relu(%v{at});"));
        let program = program("%x: Tensor[(2), float32]", &format!("{body}{sums}%s{}", MANY - 1));
        let how = PassPlan::named(["to-a-normal-form"], Target::V3).expect("the name of a pass");
        assert!(!optimised(program, &how).has_errors());
    });
}

/// What is nearly one of very many names, and is very often not there: locals, functions, graph variables, operators, types,
/// constructors and variables of patterns; also names of many letters.
#[test]
fn names_that_nothing_has() {
    // Each for each would not end with these either.
    const FEWER: usize = MANY / 5;
    let said = |text: &str| {
        let program = check_text("many", &format!("#[version = \"0.0.5\"]\n{text}"), UNTIL);
        assert!(program.has_errors());
        program.diagnostics.iter().map(|said| said.helps.iter().map(|help| help.text.as_str()).collect()).collect::<Vec<String>>()
    };
    let main = |body: String| format!("def @main(%x: Tensor[(2), float32]) {{\n{body}%x\n}}\n");
    on_small_stack(move || {
        said(&main(lines(FEWER, |at| format!("let %y{at} = add(%x, %zz{at});"))));
        // The first are looked for.
        let first = said(&main(lines(FEWER, |at| match at {
            0 => "let %first = %x; let %y = add(%x, %firts);".to_owned(),
            _ => format!("let %long{at} = add(%first, %lonh{at});"),
        })));
        assert_eq!(first.first().map(String::as_str), Some("there is `%first`"));
        let (a, b) = ("a".repeat(180), "b".repeat(180));
        said(&main(lines(FEWER / 10, |at| format!("let %{a}{at} = add(%x, %{b}{at});"))));
        said(&main(lines(FEWER, |at| format!("%{at} = add(%x, %1{at:06});"))));
        said(&main(lines(FEWER, |at| format!("let %y{at} = nn.rulu{at}(%x);"))));
        said(&lines(FEWER, |at| format!("def @f{at}(%x: Tensor[(2), float32]) {{ @g{at}(%x) }}")));
        said(&lines(FEWER, |at| format!("type T{at} {{ C{at}(U{at}) }}")));
        let types = lines(FEWER, |at| format!("type T{at} {{ C{at} }}"));
        let clauses = |name: &str| lines(FEWER, |at| format!("{name}{at} => %x,"));
        let matching = |name: &str| main(format!("let %m = match (%x) {{\n{}_ => %x }};\n", clauses(name)));
        said(&format!("{types}{}", matching("D")));
        said(&format!("{types}{}", matching("d")));
        // Second definitions, of which each may be meant by each name that is used.
        said(&main(lines(FEWER, |at| format!("%{} = add(%x, %a{at});", at / 2))));
    });
}

#[test]
fn parameters_of_a_group() {
    let n_params = on_small_stack(|| {
        let values = lines(MANY, |at| format!("let %v{at} = nn.relu(%x);"));
        let fields: Vec<String> = (0..MANY).map(|at| format!("%v{at}")).collect();
        let body = format!("{values}concatenate(({}))", fields.join(", "));
        let how = PassPlan::named(["fuse-ops"], Target::V3).expect("the name of a pass");
        let program = optimised(program("%x: Tensor[(1), float32]", &body), &how);
        program.module.funcs.iter().map(|func| func.params.len()).max()
    });
    assert_eq!(n_params, Some(MANY));
}

#[test]
fn ways_through_tuples() {
    let edges = on_small_stack(|| {
        let tuples = lines(60, |at| {
            let before = 3 * at;
            format!(
                "%{} = (%{before},);\n%{} = (%{before},);\n%{} = (%{}, %{});",
                before + 1,
                before + 2,
                before + 3,
                before + 1,
                before + 2
            )
        });
        let body = format!("%0 = nn.relu(%x);\n{tuples}let %t = %180;\n%x");
        let program = program("%x: Tensor[(1), float32]", &body);
        explain_fusion(&program.module, table()).len()
    });
    assert_eq!(edges, 0);
}

/// A tensor in tuples of one field each, and taken out of `taken` of them.
fn nested(n: usize, taken: usize) -> Program {
    let tuples = lines(n, |at| if at == 0 { "%0 = (%x,);".to_owned() } else { format!("%{at} = (%{},);", at - 1) });
    let fields = lines(taken, |at| format!("%{} = %{}.0;", n + at, n + at - 1));
    program("%x: Tensor[(2), float32]", &format!("{tuples}{fields}%{}", n + taken - 1))
}

#[test]
fn tuples_in_tuples() {
    let (plan, code) = on_small_stack(|| {
        let program = nested(6_000, 0);
        let entry = entry(&program.module, "main").expect("it has a main");
        let x = relayc_driver::bind::Bound::Tensor(Tensor::from_vec(&[2], vec![1f32, 2.0]));
        let code = interpret(&program, &entry, vec![x], Limits::default()).map_err(|why| why.code.id()).map(drop);
        (planned(&program), code)
    });
    assert_eq!((plan, code), (Err(NotCompiled::NoTensor), Err("E0805")));
    assert_eq!(on_small_stack(|| planned(&nested(6_000, 6_000))), Err(NotCompiled::NoTensor));
    assert_eq!(planned(&nested(50, 50)), Ok(1));
}

#[test]
fn a_result_of_exponentially_many_tensors_is_refused() {
    let code = on_small_stack(|| {
        let body = lines(50, |at| if at == 0 { "%0 = (%x, %x);".to_owned() } else { format!("%{at} = (%{0}, %{0});", at - 1) });
        let program = program("%x: Tensor[(2), float32]", &format!("{body}%49"));
        let entry = entry(&program.module, "main").expect("it has a main");
        let x = relayc_driver::bind::Bound::Tensor(Tensor::from_vec(&[2], vec![1f32, 2.0]));
        let code = interpret(&program, &entry, vec![x], Limits::default()).map_err(|why| why.code.id()).map(drop);
        (planned(&program), code)
    });
    assert_eq!(code, (Err(NotCompiled::NoTensor), Err("E0805")));
}

#[test]
fn comments_that_allow_lints() {
    let text = lines(4 * MANY, |_| "let %x = %y; // allow: W0003".to_owned());
    let text = format!("#[version = \"0.0.5\"]\ndef @main(%y: int32) {{\n{text}%x\n}}\n");
    let program = on_small_stack(move || check_text("many", &text, Phase::Lint));
    assert!(!program.has_errors(), "{:.1000?}", program.diagnostics);
}

/// A suggestion edits its own place only: with the text of what it surrounds, each would hold all that lie inside of it.
#[test]
fn suggestions_inside_each_other() {
    let chain = lines(40_000, |_| "if (%c) { 1 } else".to_owned());
    let projections = "%c".to_owned() + &lines(40_000, |_| ".0 ".to_owned());
    for body in [format!("{chain} {{ 2 }}"), projections] {
        let program = check_text("many", &format!("#[version = \"0.0.5\"]\ndef @main(%c: bool) {{\n{body}\n}}\n"), UNTIL);
        assert!(program.has_errors());
        let edits = program.diagnostics.iter().flat_map(|d| &d.helps).flat_map(|help| &help.edits);
        assert!(edits.map(|edit| edit.text.len()).sum::<usize>() < 10_000);
    }
}

/// Without blanks they are one token, and one suggestion for all of them.
#[test]
fn projections_that_are_read_as_one_number() {
    let text = format!("#[version = \"0.0.5\"]\ndef @main(%c: bool) {{ %c{} }}\n", ".0".repeat(MANY));
    let program = check_text("many", &text, UNTIL);
    let edits = program.diagnostics.iter().flat_map(|d| &d.helps).flat_map(|help| &help.edits);
    let bytes =
        edits.map(|edit| edit.text.len()).sum::<usize>() + program.diagnostics.iter().map(|d| d.message.len()).sum::<usize>();
    assert!(program.has_errors() && bytes < 10 * MANY, "{bytes}");
}

/// Generic functions that are applied twice each: the size of the last type is exponential in their number.
#[test]
fn types_of_exponential_size() {
    let functions = lines(40, |at| match at {
        0 => "def @d0[A](%a: A) { (%a, %a) }".to_owned(),
        _ => format!("def @d{at}[A](%a: A) {{ @d{}(@d{}(%a)) }}", at - 1, at - 1),
    });
    let program = check_text("many", &format!("#[version = \"0.0.5\"]\n{functions}"), UNTIL);
    let codes: Vec<&str> = program.diagnostics.iter().map(|diagnostic| diagnostic.code.id()).collect();
    assert_eq!(codes, ["E0805"]);
}

/// Types that double with each binding are cut where they are printed, and all of them together are.
#[test]
fn printed_types_that_double() {
    let pairs = lines(4_000, |at| match at {
        0 => "let %v0 = (%x, %x);".to_owned(),
        _ => format!("let %v{at} = (%v{}, %v{});", at - 1, at - 1),
    });
    let program = program("%x: int32", &format!("{pairs}\n%x"));
    let options = show::Options { types: true, ..show::Options::default() };
    assert!(show::print(&program, options).len() < 128 << 20);
}

/// A type in the program itself is never cut.
#[test]
fn a_long_type_reads_back() {
    let fields = lines(4_000, |at| format!("Tensor[({}, 224), float32],", at + 1));
    let printed = show::print(&program(&format!("%x: ({fields})"), "%x.0"), show::Options::default());
    assert!(!check_text("printed", &printed, UNTIL).has_errors());
}
