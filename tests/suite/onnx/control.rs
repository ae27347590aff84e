//! Imports models of several nodes, `If`, `Loop` and `Scan` and what is computed of sizes, and runs them on both engines: each operand
//! form in the standard's text (`docs/Operators.md` of ONNX), with numbers worked out by hand.

use super::nodes::{BOOL, F32, I64, In, attribute, imported, int, ints, tensor};
#[cfg(feature = "jit")]
use crate::compare::{Verdict, held, isas, reference};
use In::{Bytes, Floats, Ints};
use prost::Message;
use relayc_driver::example::{Example, Runner};
use relayc_driver::{Phase, check_text};
#[cfg(feature = "jit")]
use relayc_engine::compile::{Machine, Policy, Settings};
use relayc_exchange::onnx::proto::*;

/// Dimension -1 is `n1`.
fn value(name: &str, dtype: i32, dims: &[i64]) -> ValueInfoProto {
    let dim = |&dim: &i64| match dim < 0 {
        true => DimensionProto { dim_value: None, dim_param: Some(format!("n{}", -dim)) },
        false => DimensionProto { dim_value: Some(dim), dim_param: None },
    };
    let shape = Some(TensorShapeProto { dim: dims.iter().map(dim).collect() });
    let tensor_type = Some(TensorTypeProto { elem_type: Some(dtype), shape });
    ValueInfoProto { name: Some(name.into()), r#type: Some(TypeProto { tensor_type, ..TypeProto::default() }) }
}

/// `y, z = Kind(a, b)`.
fn node(line: &str) -> NodeProto {
    let names = |list: &str| -> Vec<String> {
        list.split(',').map(str::trim).map(|name| if name == "_" { String::new() } else { name.to_owned() }).collect()
    };
    let (results, call) = line.split_once(" = ").expect("a result");
    let (kind, operands) = call.trim_end_matches(')').split_once('(').expect("operands");
    let input = if operands.is_empty() { vec![] } else { names(operands) };
    NodeProto { input, output: names(results), op_type: Some(kind.into()), ..NodeProto::default() }
}

fn graph(inputs: &[ValueInfoProto], lines: &[&str], outputs: &[ValueInfoProto]) -> GraphProto {
    let node = lines.iter().map(|line| node(line)).collect();
    GraphProto { node, input: inputs.to_vec(), output: outputs.to_vec(), ..GraphProto::default() }
}

fn body(name: &str, graph: GraphProto) -> AttributeProto {
    AttributeProto { g: Some(Box::new(graph)), ..attribute(name, attribute_type::GRAPH) }
}

/// A model of these nodes, of which the last has graphs inside.
fn model(inputs: &[ValueInfoProto], weights: &[(&str, In)], lines: &[&str], inside: &[AttributeProto]) -> ModelProto {
    let mut main = graph(inputs, lines, &[]);
    main.initializer = weights.iter().filter_map(|(name, weight)| tensor(name, weight)).collect();
    let last = main.node.last_mut().expect("a node");
    last.attribute = inside.to_vec();
    main.output = last.output.iter().map(|name| ValueInfoProto { name: Some(name.clone()), r#type: None }).collect();
    let opset_import = vec![OperatorSetIdProto { domain: None, version: Some(17) }];
    ModelProto { graph: Some(main), opset_import, ..ModelProto::default() }
}

/// Requires `@main` to give what the line says, interpreted, and compiled with the feature `jit`.
#[track_caller]
fn gives(model: &ModelProto, lines: &[&str]) {
    let outcome = imported(model.encode_to_vec());
    let Some(imported) = outcome.imported else { panic!("{:#?}", outcome.diagnostics) };
    let program = check_text("m", &imported.text, Phase::Main);
    assert!(!program.has_errors(), "{:?}\n{}", program.diagnostics, imported.text);
    let runner = Runner::new(&program, "");
    for line in lines {
        let example = Example::parse(line).expect("a line that says what it gives");
        runner.check(&example).unwrap_or_else(|why| panic!("{line}: {why}\n{}", imported.text));
        #[cfg(feature = "jit")]
        {
            let args = runner.arguments(&example).expect("arguments");
            let reference = reference(&program, "main", &args);
            let settings = Settings {
                level: 3,
                isa: isas()[0],
                threads: 1,
                accuracy: Policy::Strict,
                machine: Machine::Native,
                choices: Default::default(),
                fault: None,
            };
            if let Verdict::Differs(why) = held("m", &imported.text, "main", &settings, &[(args, &reference)]) {
                panic!("{line}: {why}\n{}", imported.text);
            }
        }
    }
}

#[track_caller]
fn refused(model: &ModelProto, code: &str, reason: &str) {
    let outcome = imported(model.encode_to_vec());
    let said = format!("{:?}", outcome.diagnostics);
    assert!(outcome.imported.is_none() && said.contains(reason), "{said}");
    assert_eq!(outcome.diagnostics[0].code.id(), code, "{said}");
}

fn choice(cond: &[i64], inside: Vec<AttributeProto>) -> ModelProto {
    let inputs = [value("x", F32, &[]), value("c", BOOL, cond)];
    model(&inputs, &[], &["k = Add(x, x)", "y = If(c)"], &inside)
}

fn branches() -> Vec<AttributeProto> {
    let branch = |line: &str| graph(&[], &[line], &[value("r", F32, &[])]);
    vec![body("then_branch", branch("r = Mul(k, x)")), body("else_branch", branch("r = Sub(x, k)"))]
}

#[test]
fn branches_take_what_is_around_them() {
    gives(&choice(&[], branches()), &["@main(3, true) == 18", "@main(3, false) == -3"]);
    gives(&choice(&[1, 1], branches()), &["@main(3, [[true]]) == 18"]);
    refused(&choice(&[2], branches()), "E0716", "squeeze");
    let known = |cond: In| {
        let lines = ["k = Add(x, x)", "y = If(c)"];
        model(&[value("x", F32, &[])], &[("c", cond)], &lines, &branches())
    };
    gives(&known(Bytes(BOOL, &[1], &[0])), &["@main(3) == -3"]);
    refused(&known(Bytes(BOOL, &[2], &[0, 1])), "E0716", "squeeze");
    refused(&choice(&[], [branches(), vec![int("bogus", 1)]].concat()), "E0715", "not understood: `bogus`");
    let mut more = choice(&[], branches());
    more.graph.as_mut().expect("a graph").node[1].input.push("x".into());
    refused(&more, "E0716", "nothing else");
}

/// Doubles `v` until it is 30 or more, and gathers what it was.
fn doubling(operands: &str, inputs: &[ValueInfoProto], weights: &[(&str, In)]) -> ModelProto {
    let turn = graph(
        &[value("i", I64, &[]), value("before", BOOL, &[]), value("v", F32, &[])],
        &["v2 = Add(v, v)", "go = Less(v2, limit)"],
        &[value("go", BOOL, &[]), value("v2", F32, &[]), value("v", F32, &[])],
    );
    let turn = GraphProto { initializer: tensor("limit", &Floats(&[], &[30.0])).into_iter().collect(), ..turn };
    let inputs = [&[value("x", F32, &[])], inputs].concat();
    model(&inputs, weights, &[&format!("y, seen = Loop({operands})")], &[body("body", turn)])
}

#[test]
fn loops_end_by_count_and_condition() {
    let (n, c) = (value("n", I64, &[]), value("c", BOOL, &[]));
    let both = doubling("n, c, x", &[n.clone(), c.clone()], &[]);
    gives(&both, &["@main(2, 10, true) == (32, [2, 4, 8, 16])", "@main(2, 2, true) == (8, [2, 4])"]);
    gives(&both, &["@main(2, 10, false) == (2, [])", "@main(2, 0, true) == (2, [])"]);
    gives(&doubling("_, c, x", &[c], &[]), &["@main(2, true) == (32, [2, 4, 8, 16])", "@main(2, false) == (2, [])"]);
    // Without a condition that of the body does not count.
    gives(&doubling("n, _, x", &[n], &[]), &["@main(2, 6) == (128, [2, 4, 8, 16, 32, 64])", "@main(2, 0) == (2, [])"]);
    let known = doubling("n, _, x", &[], &[("n", Ints(&[], &[6]))]);
    gives(&known, &["@main(2) == (128, [2, 4, 8, 16, 32, 64])"]);
    let known = doubling("n, c, x", &[], &[("n", Ints(&[], &[6])), ("c", Bytes(BOOL, &[], &[1]))]);
    gives(&known, &["@main(2) == (32, [2, 4, 8, 16])"]);
    refused(&doubling("_, _, x", &[], &[]), "E0715", "never ends");
}

/// What is computed of sizes in floats has sizes too.
#[test]
fn ranges_of_floats_between_sizes() {
    let numbers = [("zero", Ints(&[], &[0])), ("step", Floats(&[], &[-2.0]))];
    let lines = ["of_x = Shape(x)", "n = Gather(of_x, zero)", "less = Neg(n)", "start = Cast(n)", "limit = Cast(less)"];
    let mut model = model(&[value("x", F32, &[-1])], &numbers, &[&lines[..], &["y = Range(start, limit, step)"]].concat(), &[]);
    for cast in &mut model.graph.as_mut().expect("a graph").node[3..5] {
        cast.attribute = vec![int("to", F32.into())];
    }
    let lines = ["@main([1, 2, 3]) == [3, 1, -1]", "@main([1, 2]) == [2, 0]", "@main([]) == []"];
    let text = text_that_gives(&model, &lines);
    assert!(!text.contains("arange"), "{text}");
}

/// The turns of a loop take sizes out of a sequence that is made before it.
#[test]
fn sequences_of_sizes() {
    let turn = graph(
        &[value("i", I64, &[]), value("before", BOOL, &[]), value("v", F32, &[-1])],
        &["size = SequenceAt(s, i)", "v2 = Expand(one, size)", "go = Identity(before)"],
        &[value("go", BOOL, &[]), value("v2", F32, &[-1])],
    );
    let lines = ["of_x = Shape(x)", "s = SplitToSequence(of_x)", "y = Loop(two, _, x0)"];
    let weights = [("two", Ints(&[], &[2])), ("one", Floats(&[1], &[1.0])), ("x0", Floats(&[1], &[1.0]))];
    let model = model(&[value("x", F32, &[-1, -2])], &weights, &lines, &[body("body", turn)]);
    let text = text_that_gives(&model, &["@main([[1, 2, 3], [4, 5, 6]]) == [1, 1, 1]"]);
    assert!(!text.contains("dyn."), "{text}");
}

/// Appends `x + 1` and so on to a sequence of a length that only a run knows.
fn appending(begins: &[&str], after: &str) -> ModelProto {
    let turn = graph(
        &[value("i", I64, &[]), value("before", BOOL, &[]), value("v", F32, &[-1]), value("all", F32, &[])],
        &["v2 = Add(v, one)", "all2 = SequenceInsert(all, v2)", "go = Identity(before)"],
        &[value("go", BOOL, &[]), value("v2", F32, &[-1]), value("all2", F32, &[])],
    );
    let turn = GraphProto { initializer: tensor("one", &Floats(&[], &[1.0])).into_iter().collect(), ..turn };
    let lines = [begins, &["last, seen = Loop(n, _, x, s)"]].concat();
    let mut model = model(&[value("n", I64, &[]), value("x", F32, &[-1])], &[], &lines, &[body("body", turn)]);
    let main = model.graph.as_mut().expect("a graph");
    main.initializer = [("zero", Ints(&[], &[0])), ("end", Ints(&[], &[-1]))].iter().filter_map(|(n, v)| tensor(n, v)).collect();
    main.node.push(node(after));
    main.output = vec![ValueInfoProto { name: Some("y".into()), r#type: None }];
    model
}

#[test]
fn loops_append_to_sequences() {
    let with = |after: &str, attrs: &[AttributeProto]| {
        let mut model = appending(&["s = SequenceEmpty()"], after);
        model.graph.as_mut().expect("a graph").node.last_mut().expect("a node").attribute = attrs.to_vec();
        model
    };
    let stacked = with("y = ConcatFromSequence(seen)", &[int("axis", 1), int("new_axis", 1)]);
    gives(&stacked, &["@main(3, [1, 5]) == [[2, 3, 4], [6, 7, 8]]", "@main(1, [1]) == [[2]]"]);
    gives(&with("y = ConcatFromSequence(seen)", &[int("axis", -1)]), &["@main(2, [1, 5]) == [2, 6, 3, 7]"]);
    gives(&with("y = SequenceAt(seen, zero)", &[]), &["@main(2, [1, 5]) == [2, 6]"]);
    gives(&with("y = SequenceAt(seen, end)", &[]), &["@main(2, [1, 5]) == [3, 7]"]);
    gives(&with("y = SequenceLength(seen)", &[]), &["@main(2, [1, 5]) == 2", "@main(0, [1, 5]) == 0"]);
    let behind = appending(&["s = SequenceConstruct(x, x)"], "y = SequenceLength(seen)");
    gives(&behind, &["@main(1, [1]) == 3"]);
    // In each branch.
    let in_branches = |lines: [&str; 2]| {
        let mut model = with("y = SequenceAt(seen, end)", &[]);
        let turn = model.graph.as_mut().expect("a graph").node[1].attribute[0].g.as_mut().expect("a body");
        let [then, other] = lines.map(|line| graph(&[], &["r = Neg(v2)", line], &[value("longer", F32, &[])]));
        let choice =
            NodeProto { attribute: vec![body("then_branch", then), body("else_branch", other)], ..node("all2 = If(odd)") };
        turn.node.splice(1..2, [node("t = Mod(i, two)"), node("odd = Cast(t)"), choice]);
        turn.node[2].attribute = vec![int("to", BOOL.into())];
        turn.initializer.extend(tensor("two", &Ints(&[], &[2])));
        model
    };
    let both = in_branches(["longer = SequenceInsert(all, r)", "longer = SequenceInsert(all, v2)"]);
    gives(&both, &["@main(2, [1, 5]) == [-3, -7]", "@main(3, [1, 5]) == [4, 8]"]);
    refused(&in_branches(["longer = SequenceInsert(all, r)", "longer = Identity(all)"]), "E0715", "branches of different types");
    let mut read = with("y = SequenceLength(seen)", &[]);
    let turn = read.graph.as_mut().expect("a graph").node[1].attribute[0].g.as_mut().expect("a body");
    turn.node.insert(0, node("n_before = SequenceLength(all)"));
    refused(&read, "E0715", "in one turn");
}

/// Repeats each row, as torch's exporter writes `repeat_interleave` along an axis whose length only a run knows: the loop takes
/// the rows out of a sequence, and its results are joined.
#[test]
fn rows_of_an_open_axis_are_repeated() {
    let with = |rows: &str, lengths: &[&str], times: &str| {
        let turn = graph(
            &[value("i", I64, &[]), value("before", BOOL, &[]), value("all", F32, &[])],
            &[
                "row = SequenceAt(s, i)",
                &format!("size = {times}"),
                "longer = Expand(row, size)",
                "all2 = SequenceInsert(all, longer)",
                "go = Identity(before)",
            ],
            &[value("go", BOOL, &[]), value("all2", F32, &[])],
        );
        let sizes = ["of_x = Shape(x)", "n = Gather(of_x, vec0)", "three = Expand(ints3, n)", "ones = ConstantOfShape(n)"];
        let sequences = [rows, "e = SequenceEmpty()", "seen = Loop(n, yes, e)"];
        let lines = [&sizes[..], lengths, &sequences].concat();
        let inputs = [value("x", F32, &[-1, 1]), value("times", I64, &[-2])];
        let numbers =
            [("vec0", Ints(&[1], &[0])), ("ints3", Ints(&[], &[3])), ("yes", Bytes(BOOL, &[], &[1])), ("one", Ints(&[1], &[1]))];
        let mut model = model(&inputs, &numbers, &lines, &[body("body", turn)]);
        let main = model.graph.as_mut().expect("a graph");
        let one = TensorProto { data_type: Some(I64), dims: vec![1], int64_data: vec![1], ..TensorProto::default() };
        main.node[3].attribute = vec![AttributeProto { t: Some(Box::new(one)), ..attribute("value", attribute_type::TENSOR) }];
        main.node.push(NodeProto { attribute: vec![int("axis", 1)], ..node("y = ConcatFromSequence(seen)") });
        main.output = vec![ValueInfoProto { name: Some("y".into()), r#type: None }];
        model
    };
    let rows = "s = SplitToSequence(x, ones)";
    let same = with(rows, &["r = SplitToSequence(three, ones)"], "SequenceAt(r, i)");
    let text = text_that_gives(&same, &["@main([[1], [2]], []) == [[1, 1, 1, 2, 2, 2]]"]);
    assert!(!text.contains("dyn.broadcast_to"), "{text}");
    // By numbers of the data.
    let other = with(rows, &["r = SplitToSequence(times)"], "SequenceAt(r, i)");
    text_that_gives(&other, &["@main([[1], [2], [3]], [2, 0, 1]) == [[1, 1, 3]]"]);
    refused(&with("s = SplitToSequence(x, times)", &[], "Identity(one)"), "E0715", "lengths that only a run knows");
}

/// Dimensions that the body of a loop has are not given up for those that the model leaves out.
#[test]
fn scanned_results_keep_their_sizes() {
    let turn = graph(
        &[value("i", I64, &[]), value("before", BOOL, &[]), value("v", F32, &[-1])],
        &["v2 = Add(v, x)", "go = Identity(before)"],
        &[value("go", BOOL, &[]), value("v2", F32, &[-1]), value("v2", F32, &[-1])],
    );
    let mut model = model(&[value("n", I64, &[]), value("x", F32, &[-1])], &[], &["y, all = Loop(n, _, x)"], &[]);
    let mut turn = turn;
    let unsaid = turn.output[2].r#type.as_mut().and_then(|ty| ty.tensor_type.as_mut()).expect("a tensor");
    unsaid.shape = Some(TensorShapeProto { dim: vec![DimensionProto::default()] });
    model.graph.as_mut().expect("a graph").node[0].attribute = vec![body("body", turn)];
    text_that_gives(&model, &["@main(2, [1, 5]) == ([3, 15], [[2, 10], [3, 15]])", "@main(0, [1]) == ([1], [])"]);
}

/// The rank of a result is that of every run: an open axis stays, whatever a run gives it.
#[test]
fn an_open_axis_is_not_squeezed() {
    let branch = |line: &str, name: &str| graph(&[], &[line], &[value(name, F32, &[])]);
    let inside = [
        body("then_branch", branch("dropped = Squeeze(x, vec0)", "dropped")),
        body("else_branch", branch("kept = Identity(x)", "kept")),
    ];
    let asks = ["of_x = Shape(x)", "n = Gather(of_x, vec0)", "is_one = Equal(n, one)", "y = If(is_one)"];
    let numbers = [("vec0", Ints(&[1], &[0])), ("one", Ints(&[1], &[1]))];
    let of = |first: i64| model(&[value("x", F32, &[first, 2])], &numbers, &asks, &inside);
    text_that_gives(&of(-1), &["@main([[1, 2], [3, 4]]) == [[1, 2], [3, 4]]"]);
    gives(&of(1), &["@main([[1, 2]]) == [1, 2]"]);
    gives(&of(2), &["@main([[1, 2], [3, 4]]) == [[1, 2], [3, 4]]"]);
}

/// Scales that are sizes over others, as exporters wrote them before a node took sizes.
#[test]
fn sizes_over_others_are_scales() {
    let inputs = [value("x", F32, &[1, 1, -1, -2]), value("like", F32, &[1, 1, -3, -4])];
    let lines = ["of_x = Shape(x)", "from = Cast(of_x)", "of_like = Shape(like)", "to = Cast(of_like)", "by = Div(to, from)"];
    let mut model = model(&inputs, &[], &[&lines[..], &["y = Upsample(x, by)"]].concat(), &[]);
    for cast in [1, 3] {
        model.graph.as_mut().expect("a graph").node[cast].attribute = vec![int("to", F32.into())];
    }
    model.opset_import = vec![OperatorSetIdProto { domain: None, version: Some(9) }];
    let line = "@main([[[[1, 2]]]], [[[[0, 0, 0], [0, 0, 0]]]]) == [[[[1, 1, 2], [1, 1, 2]]]]";
    text_that_gives(&model, &[line]);
}

/// Sums along the second axis, of which every sum is seen, negated.
fn sums(columns: i64, more: &[AttributeProto]) -> ModelProto {
    let turn = graph(
        &[value("s", F32, &[2]), value("e", F32, &[2])],
        &["s2 = Add(s, e)", "o = Neg(s2)"],
        &[value("s2", F32, &[2]), value("o", F32, &[2])],
    );
    let inside = [&[body("body", turn), int("num_scan_inputs", 1), ints("scan_input_axes", &[1])], more].concat();
    let zero = ("zero", Floats(&[2], &[0.0, 0.0]));
    model(&[value("x", F32, &[2, columns])], &[zero], &["y, all = Scan(zero, x)"], &inside)
}

#[test]
fn scans_go_along_an_axis() {
    let x = "@main([[1, 2, 3], [4, 5, 6]])";
    let second = ints("scan_output_axes", &[-1]);
    let back = [second.clone(), ints("scan_input_directions", &[1])];
    let both = [&back[..], &[ints("scan_output_directions", &[1])]].concat();
    // Of a known length, and of any.
    for columns in [3, -1] {
        gives(&sums(columns, &[]), &[&format!("{x} == ([6, 15], [[-1, -4], [-3, -9], [-6, -15]])")]);
        gives(&sums(columns, std::slice::from_ref(&second)), &[&format!("{x} == ([6, 15], [[-1, -3, -6], [-4, -9, -15]])")]);
        gives(&sums(columns, &back), &[&format!("{x} == ([6, 15], [[-3, -5, -6], [-6, -11, -15]])")]);
        gives(&sums(columns, &both), &[&format!("{x} == ([6, 15], [[-6, -5, -3], [-15, -11, -6]])")]);
    }
    let text = text_that_gives(&sums(-1, &both), &["@main([[], []]) == ([0, 0], [[], []])"]);
    assert!(text.contains("-> (Tensor[(2), float32], Tensor[(2, n1), float32])"), "the result is as long as the operand: {text}");
    // Of no length: no elements, along the same axis.
    gives(&sums(0, &[second]), &["@main([[], []]) == ([0, 0], [[], []])"]);
    gives(&sums(0, &[]), &["@main([[], []]) == ([0, 0], [])"]);
    refused(&sums(0, &[ints("scan_output_axes", &[2])]), "E0716", "axis 2 is out of range for rank 2");
    refused(&sums(3, &[ints("scan_output_axis", &[1])]), "E0715", "not understood: `scan_output_axis`");
}

/// A sequence of a length that the model says is a tuple.
#[test]
fn sequences_of_known_length() {
    let x = [value("x", F32, &[2, 3])];
    let weights = [("zero", Ints(&[], &[0])), ("last", Ints(&[], &[-1]))];
    let rows = ["s = SplitToSequence(x)", "t = SequenceInsert(s, x, zero)", "u = SequenceErase(t)"];
    let joined = [&rows[..], &["y = ConcatFromSequence(u)"]].concat();
    let all = model(&x, &weights, &joined, &[int("axis", 0)]);
    gives(&all, &["@main([[1, 2, 3], [4, 5, 6]]) == [[1, 2, 3], [4, 5, 6], [1, 2, 3]]"]);
    let stacked = ["e = SequenceEmpty()", "f = SequenceInsert(e, x)", "g = SequenceInsert(f, x)", "y = ConcatFromSequence(g)"];
    let stacked = model(&x, &[], &stacked, &[int("axis", 0), int("new_axis", 1)]);
    gives(&stacked, &["@main([[1, 2, 3], [4, 5, 6]]) == [[[1, 2, 3], [4, 5, 6]], [[1, 2, 3], [4, 5, 6]]]"]);
    let one =
        [&rows[..], &["v = SequenceConstruct(x)", "n = SequenceLength(t)", "a = SequenceAt(t, last)", "y = Add(a, a)"]].concat();
    gives(&model(&x, &weights, &one, &[]), &["@main([[1, 2, 3], [4, 5, 6]]) == [[8, 10, 12]]"]);
    let outside = [&rows[..], &["y = SequenceAt(u, far)"]].concat();
    refused(&model(&x, &[("zero", Ints(&[], &[0])), ("far", Ints(&[], &[2]))], &outside, &[]), "E0716", "axis 2 is out of range");
}

/// The text of a model, of which `@main` gives what the lines say. Inputs give sizes their numbers, which a run of the interpreter
/// alone does.
#[track_caller]
fn text_that_gives(model: &ModelProto, lines: &[&str]) -> String {
    let text = imported(model.encode_to_vec()).imported.expect("it is imported").text;
    let program = check_text("m", &text, Phase::Main);
    let runner = Runner::new(&program, "");
    for line in lines {
        let example = Example::parse(line).expect("a line that says what it gives");
        runner.check(&example).unwrap_or_else(|why| panic!("{line}: {why}\n{text}"));
    }
    text
}

#[test]
fn ranges_between_sizes_have_sizes() {
    let gives = |start: &str, limit: &str, lines: &[&str]| {
        let inputs = [value("x", F32, &[-1]), value("past", F32, &[-2])];
        let numbers = [("zero", Ints(&[], &[0])), ("one", Ints(&[], &[1]))];
        let sizes = ["of_x = Shape(x)", "n = Gather(of_x, zero)", "of_past = Shape(past)", "seen = Gather(of_past, zero)"];
        let range = format!("y = Range({start}, {limit}, one)");
        let model = model(&inputs, &numbers, &[&sizes[..], &["all = Add(seen, n)", &range]].concat(), &[]);
        let text = text_that_gives(&model, lines);
        assert!(!text.contains("shape_of"), "{text}");
    };
    gives("seen", "all", &["@main([1, 2, 3], [7, 7]) == [2, 3, 4]", "@main([1], []) == [0]"]);
    gives("zero", "all", &["@main([1], [7]) == [0, 1]"]);
    gives("one", "n", &["@main([1, 2, 3], [7]) == [1, 2]", "@main([1], [7]) == []"]);
}
