//! Every pass on programs that are deep, wide, or of exponential size when their types are written out: on a stack of 256 KiB, each
//! pass rewrites the program or refuses it.
//!
//! No case is timed: a walk over all parts for each part, or over each way to a part, would not end.

use relayc_driver::check_text;
use relayc_driver::optimise::{PassPlan, Step, Target, UNTIL, all, optimise};
use std::fmt::Write;

const STACK: usize = 256 << 10;
const MANY: usize = 10_000;

/// The arguments with which passes do most.
const ARGS: &[(&str, &str)] = &[
    ("annotate-target", "(targets={a=[add, nn.relu]})"),
    ("convert-layout", "(layouts={nn.conv2d=[NCHW, default]})"),
    ("remove-unused-functions", "(entries=[main])"),
    ("split-args", "(max=100)"),
];

const VECTOR: &str = "%x: Tensor[(2), float32]";
const OPTION: &str = "type Option { Some(Tensor[(2), float32]), None }";

/// Runs every pass on a program.
fn through_all_passes(text: String) {
    let run = move || {
        let whole = check_text("many", &text, UNTIL);
        assert!(!whole.has_errors(), "{:.1000?}", whole.diagnostics);
        for pass in all() {
            let args = ARGS.iter().find(|(name, _)| *name == pass.name).map_or("", |(_, args)| args);
            let steps = Step::parse_list(&format!("{}{args}", pass.name)).expect("the name of a pass, and its arguments");
            let how = PassPlan { verify: true, entry: Some("main".to_owned()), ..PassPlan::requested(steps, Target::V4) };
            if let Err(said) = optimise(&mut whole.module.clone(), &how, &mut ()) {
                assert_eq!(said.code.id(), "E0743", "{}: {:.300}", pass.name, said.message);
            }
        }
    };
    std::thread::Builder::new().stack_size(STACK).spawn(run).expect("a thread").join().expect("no overflow");
}

/// `@main` behind other definitions.
fn main(before: &str, params: &str, body: &str) -> String {
    format!("#[version = \"0.0.5\"]\n{before}\ndef @main({params}) {{\n{body}\n}}\n")
}

fn lines(n: usize, line: impl Fn(usize) -> String) -> String {
    (0..n).fold(String::new(), |mut text, at| {
        writeln!(text, "{}", line(at)).expect("a string takes all");
        text
    })
}

/// Shared expressions, each of which has the one before in the place of `#`, and the last one.
fn shared(n: usize, first: &str, next: &str) -> String {
    let expr = |at: usize| if at == 0 { first.to_owned() } else { next.replace('#', &format!("%{}", at - 1)) };
    format!("{}%{}", lines(n, |at| format!("%{at} = {};", expr(at))), n - 1)
}

/// As [`shared`], bound by `let`; `$` is a number that no other line has.
fn bound(n: usize, first: &str, next: &str) -> String {
    let value = |at: usize| if at == 0 { first.to_owned() } else { next.replace('#', &format!("%v{}", at - 1)) };
    format!("{}%v{}", lines(n, |at| format!("let %v{at} = {};", value(at).replace('$', &at.to_string()))), n - 1)
}

fn list(n: usize, item: impl Fn(usize) -> String) -> String {
    format!("({})", (0..n).map(item).collect::<Vec<_>>().join(", "))
}

#[test]
fn chains() {
    through_all_passes(main("", VECTOR, &shared(MANY, "nn.relu(%x)", "add(#, %x)")));
    through_all_passes(main("", VECTOR, &bound(MANY, "nn.relu(%x)", "add(#, %x)")));
    through_all_passes(main("", VECTOR, &bound(MANY, "1f", "add(#, 1f)")));
    through_all_passes(main("", VECTOR, &shared(MANY, "nn.relu(%x)", "annotation.checkpoint(add(#, %x))")));
    let conv = "nn.conv2d(#, %w, kernel_size=[1, 1], channels=4, data_layout=\"NHWC\", kernel_layout=\"HWIO\")";
    let params = "%x: Tensor[(1, 2, 2, 4), float32], %w: Tensor[(1, 1, 4, 4), float32]";
    through_all_passes(main("", params, &shared(MANY / 10, "nn.relu(%x)", &format!("nn.relu({conv})"))));
}

#[test]
fn tuples_in_tuples() {
    through_all_passes(main("", VECTOR, &shared(MANY, "(%x,)", "(#,)")));
    through_all_passes(main("", VECTOR, &bound(MANY, "(%x,)", "(#,)")));
    let taken = lines(MANY, |at| format!("%{} = %{}.0;", MANY + at, MANY + at - 1));
    let nested = shared(MANY, "(%x,)", "(#,)");
    let (tuples, _) = nested.rsplit_once('\n').expect("lines");
    through_all_passes(main("", VECTOR, &format!("{tuples}\n{taken}%{}", 2 * MANY - 1)));
}

#[test]
fn functions_in_functions() {
    through_all_passes(main("", VECTOR, &shared(MANY / 10, "fn () { %x }", "fn () { # }")));
    through_all_passes(main("", VECTOR, &format!("{}()", bound(MANY, "fn () { %x }", "fn () { #() }"))));
    through_all_passes(main("", VECTOR, &shared(MANY, "%x", "fn (%a: Tensor[(2), float32]) { add(#, %a) }(%x)")));
}

#[test]
fn branches_in_branches() {
    let params = format!("{VECTOR}, %c: bool");
    through_all_passes(main("", &params, &shared(MANY, "nn.relu(%x)", "if (%c) { nn.relu(#) } else { %x }")));
    through_all_passes(main("", &params, &bound(MANY, "nn.relu(%x)", "if (%c) { nn.relu(#) } else { # }")));
    let params = format!("{VECTOR}, %o: Option");
    through_all_passes(main(OPTION, &params, &shared(MANY, "%x", "match (%o) { Some(%a) => add(#, %a), None => %x }")));
    let next = "match (#) { Some(%a$) => Some(nn.relu(%a$)), None => None() }";
    through_all_passes(main(OPTION, "%o: Option", &bound(MANY, "%o", next)));
}

#[test]
fn cells_and_data() {
    through_all_passes(main("", VECTOR, &bound(MANY, "ref(%x)", "ref(#)")));
    let writes = lines(MANY, |at| format!("let %v{at} = ref_write(%r, nn.relu(ref_read(%r)));"));
    through_all_passes(main("", VECTOR, &format!("let %r = ref(%x);\n{writes}ref_read(%r)")));
    let list = "type List { Cons(Tensor[(2), float32], List), Nil }";
    through_all_passes(main(list, VECTOR, &bound(MANY, "Nil()", "Cons(%x, #)")));
}

#[test]
fn functions_of_a_module() {
    let ty = "Tensor[(2), float32]";
    let chain = lines(MANY, |at| match at {
        0 => format!("def @f0({VECTOR}) -> {ty} {{ nn.relu(%x) }}"),
        _ => format!("def @f{at}({VECTOR}) -> {ty} {{ nn.relu(@f{}(%x)) }}", at - 1),
    });
    through_all_passes(main(&chain, VECTOR, &format!("@f{}(%x)", MANY - 1)));
    let all = lines(MANY, |at| format!("def @f{at}({VECTOR}) -> {ty} {{ nn.relu(%x) }}"));
    through_all_passes(main(&all, VECTOR, &list(MANY, |at| format!("@f{at}(%x)"))));
}

#[test]
fn wide_values() {
    through_all_passes(main("", VECTOR, &list(MANY, |_| "nn.relu(%x)".to_owned())));
    through_all_passes(main("", VECTOR, &format!("concatenate({})", list(MANY, |_| "nn.relu(%x)".to_owned()))));
    let fields = lines(MANY, |at| format!("let %v{at} = nn.relu(%t.{at});"));
    let tuple = list(MANY, |_| "%x".to_owned());
    through_all_passes(main("", VECTOR, &format!("let %t = {tuple};\n{fields}%v{}", MANY - 1)));
    let parts = lines(MANY, |at| format!("%{} = nn.relu(%0.{at});", at + 1));
    let split = format!("%0 = split(%x, indices_or_sections={MANY});\n{parts}{}", list(MANY, |at| format!("%{}", at + 1)));
    through_all_passes(main("", &format!("%x: Tensor[({MANY}), float32]"), &split));
}

/// Each line doubles what there is when it is written out; in memory it is one more node.
#[test]
fn types_of_exponential_size() {
    const N: usize = 100;
    through_all_passes(main("", VECTOR, &shared(N, "(nn.relu(%x), %x)", "(#, #)")));
    through_all_passes(main("", VECTOR, &bound(N, "(%x, %x)", "(#, #)")));
    through_all_passes(main("", VECTOR, &shared(N, "fn () { %x }", "fn () { (#, #) }")));
    let call = "fn () { let %t$ = #(); (%t$, %t$) }";
    through_all_passes(main("", VECTOR, &format!("{}()", bound(N, "fn () { (%x, %x) }", call))));
    let dense = "nn.dense(expand_dims(%x, axis=0), expand_dims(%x, axis=0), units=None)";
    let tuples = shared(N, &format!("({dense}, %x)"), "(#, #)");
    let (before, last) = tuples.rsplit_once('\n').expect("lines");
    through_all_passes(main("", &format!("{VECTOR}, %c: bool"), &format!("{before}\nif (%c) {{ {last} }} else {{ {last} }}")));
    let conv = "nn.conv2d(%x, %w, kernel_size=[1, 1], channels=4, data_layout=\"NHWC\", kernel_layout=\"HWIO\")";
    let params = "%x: Tensor[(1, 2, 2, 4), float32], %w: Tensor[(1, 1, 4, 4), float32]";
    through_all_passes(main("", params, &shared(N, &format!("({conv}, %x)"), "(#, #)")));
}

/// What partial evaluation could make of it has 8,192 times as many expressions.
#[test]
fn calls_of_a_long_function() {
    let body = bound(MANY, "nn.relu(%a)", "add(#, %x)");
    let calls = bound(MANY, "%f(%x)", "%f(#)").replace("%v", "%w");
    through_all_passes(main("", VECTOR, &format!("let %f = fn (%a: Tensor[(2), float32]) {{\n{body}\n}};\n{calls}")));
}

/// Operators of one operand: all unlike, and alike with much behind each.
#[test]
fn branches_to_combine() {
    let conv = |at: usize| format!("nn.conv2d(%x, %w, padding=[0, 0, 0, {at}], kernel_size=[1, 1], channels=1)");
    let params = "%x: Tensor[(1, 1, 1, 1), float32], %w: Tensor[(1, 1, 1, 1), float32]";
    through_all_passes(main("", params, &list(MANY, conv)));
    const N: usize = 20;
    let deep = MANY / N;
    let line = |at: usize| match at / N {
        0 => format!("%{at} = nn.conv2d(%x, %w, kernel_size=[1, 1], channels=1);"),
        _ => format!("%{at} = add(%{}, %x);", at - N),
    };
    through_all_passes(main(
        "",
        params,
        &format!("{}{}", lines(N * deep, line), list(N, |at| format!("%{}", N * (deep - 1) + at))),
    ));
}

/// Parts for compilers in a row: each for another one than the part before, and all for one.
#[test]
fn parts_for_compilers() {
    for compilers in [["a", "b"], ["a", "a"]] {
        let part = |at: usize| {
            let attrs = format!("compiler=\"{}\", attrs_type_key=\"relay.attrs.CompilerAttrs\"", compilers[at % 2]);
            let before = if at == 0 { "%x".to_owned() } else { format!("%{}", 2 * at - 1) };
            let begin = format!("%{} = nn.relu(annotation.compiler_begin({before}, {attrs}));", 2 * at);
            format!("{begin} %{} = annotation.compiler_end(%{}, {attrs});", 2 * at + 1, 2 * at)
        };
        through_all_passes(main("", VECTOR, &format!("{}%{}", lines(MANY, part), 2 * MANY - 1)));
    }
}

/// Each quantization has a region that begins with all that the one before has.
#[test]
fn quantized_regions() {
    let chain = shared(MANY, "qnn.dequantize(%x, 1f, 0, out_dtype=\"float32\")", "add(#, #)");
    let (chain, last) = chain.rsplit_once('\n').expect("lines");
    let all = list(MANY, |at| format!("qnn.quantize(%{at}, 1f, 0, out_dtype=\"int8\")"));
    through_all_passes(main("", "%x: Tensor[(2), int8]", &format!("{chain}\n{all}")));
    through_all_passes(main("", "%x: Tensor[(2), int8]", &format!("{chain}\nqnn.quantize({last}, 1f, 0, out_dtype=\"int8\")")));
}
