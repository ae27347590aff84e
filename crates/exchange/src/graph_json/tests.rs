//! Tests graphs of small functions, built by hand, and files with one mistake each.

use super::*;
use relayc_base::Span;
use relayc_base::diag::codes;
use relayc_ir::attrs::OpTable;
use relayc_ir::{AttrValue, Attrs, ExprId, ExprKind, Func, FuncId, Module, Operand, PRIMITIVE};
use relayc_ops as ops;

/// A function under construction, in the form that fusion produces.
struct Make {
    module: Module,
}

impl Make {
    fn new() -> Make {
        Make { module: Module::new() }
    }

    fn expr(&mut self, kind: ExprKind, shape: &[i64]) -> ExprId {
        let ty = self.module.types.tensor_of(shape, DType::F32);
        let expr = self.module.expr(Span::NONE, kind);
        self.module.expr_tys.grow(self.module.exprs.len(), None);
        self.module.expr_tys[expr] = Some(ty);
        expr
    }

    fn var(&mut self, name: &str, shape: &[i64]) -> ExprId {
        let ty = self.module.types.tensor_of(shape, DType::F32);
        let var = self.module.var(name, Some(ty), Span::NONE);
        self.expr(ExprKind::Var(var), shape)
    }

    fn constant(&mut self, shape: &[usize]) -> ExprId {
        let id = self.module.consts.push(Tensor::full(DType::F32, shape, 0.5).expect("small"));
        let shape: Vec<i64> = shape.iter().map(|&dim| dim as i64).collect();
        self.expr(ExprKind::Const(id), &shape)
    }

    fn operator(&mut self, op: &str, args: &[ExprId], shape: &[i64]) -> ExprId {
        let id = ops::table().find(op).expect("an operator");
        let callee = self.module.expr(Span::NONE, ExprKind::Op(id));
        let attrs = ops::table().schema(id).map(|schema| {
            let values = schema.values(&[]).into();
            self.module.attrs.push(Attrs { values, spans: [].into() })
        });
        self.call(callee, args, attrs, shape)
    }

    fn call(&mut self, callee: ExprId, args: &[ExprId], attrs: Option<relayc_ir::AttrsId>, shape: &[i64]) -> ExprId {
        let args: Vec<Operand> = args.iter().map(|&expr| Operand { expr, span: Span::NONE }).collect();
        let args = self.module.operands(&args);
        self.expr(ExprKind::Call { callee, args, attrs }, shape)
    }

    fn func(&mut self, params: &[ExprId], body: ExprId, primitive: bool) -> FuncId {
        let var = |expr: &ExprId| match self.module.exprs[*expr].kind {
            ExprKind::Var(var) => var,
            _ => panic!("a parameter is a variable"),
        };
        let params = params.iter().map(var).collect();
        let attrs = if primitive { vec![(PRIMITIVE.into(), AttrValue::int(1))] } else { vec![] };
        self.module.funcs.push(Func {
            span: Span::NONE,
            type_params: vec![],
            params,
            ret: None,
            ret_span: Span::NONE,
            body,
            attrs,
        })
    }

    /// A call of a group `relu(add(p0, p1))`.
    fn add_relu(&mut self, lhs: ExprId, rhs: ExprId, shape: &[i64]) -> ExprId {
        let (p0, p1) = (self.var("p0", shape), self.var("p1", shape));
        let sum = self.operator("add", &[p0, p1], shape);
        let body = self.operator("nn.relu", &[sum], shape);
        let func = self.func(&[p0, p1], body, true);
        let callee = self.module.expr(Span::NONE, ExprKind::Fn(func));
        self.call(callee, &[lhs, rhs], None, shape)
    }

    fn graph(&mut self, params: &[ExprId], body: ExprId) -> (Graph, relayc_weights::Named) {
        let func = self.func(params, body, false);
        of_function(&self.module, func).expect("a graph")
    }
}

/// Four calls of one group, a reshape between them, and a constant.
fn chain() -> (Graph, relayc_weights::Named) {
    let mut make = Make::new();
    let (x, w) = (make.var("x", &[2, 8]), make.constant(&[2, 8]));
    let a = make.add_relu(x, w, &[2, 8]);
    let b = make.add_relu(a, x, &[2, 8]);
    let c = make.add_relu(b, w, &[2, 8]);
    let flat = make.operator("nn.batch_flatten", &[c], &[2, 8]);
    let d = make.add_relu(flat, b, &[2, 8]);
    make.graph(&[x], d)
}

#[test]
fn nodes_stand_in_the_order_of_visits() {
    let (graph, constants) = chain();
    let names: Vec<&str> = graph.nodes.iter().map(|node| node.name.as_str()).collect();
    let func = "tvmgen_default_fused_add_nn_relu";
    let calls = ["", "_1", "_2"].map(|more| format!("{func}{more}"));
    assert_eq!(names, ["x", "p0", &calls[0], &calls[1], &calls[2], "reshape_nop", &format!("{func}_3")]);
    assert!(graph.nodes.iter().filter_map(|node| node.call.as_ref()).all(|call| call.func == func || call.func == NOP));
    assert_eq!(constants.len(), 1);
    assert_eq!(constants[0].0, "p0");
    assert_eq!(graph.heads, [Ref { node: 6, index: 0, version: 0 }]);
    assert_eq!(graph.rows, [0, 1, 2, 3, 4, 5, 6, 7]);
}

/// Follows TVM's planner by hand. x and p0 keep their blocks. The first sum is in 2, the second in 3, which frees 2 for the
/// third; its reshape stays there. The last finds nothing free, because its operands are in use.
#[test]
fn memory_is_used_again() {
    let (graph, _) = chain();
    let storage: Vec<u32> = graph.tensors.iter().map(|info| info.storage).collect();
    assert_eq!(storage, [0, 1, 2, 3, 2, 2, 4]);
}

#[test]
fn a_block_is_at_most_sixteen_times_too_large() {
    let mut make = Make::new();
    let x = make.var("x", &[1024]);
    let large = make.operator("nn.relu", &[x], &[1024]);
    let small = make.operator("sum", &[large], &[8]);
    let next = make.operator("nn.relu", &[small], &[8]);
    let medium = make.operator("nn.relu", &[next], &[100]);
    let (graph, _) = make.graph(&[x], medium);
    let storage: Vec<u32> = graph.tensors.iter().map(|info| info.storage).collect();
    // `next` could lie where `large` was, which is 128 times too large for it; `medium` takes that, and not the one of `small`.
    assert_eq!(storage, [0, 1, 2, 3, 1]);
}

#[test]
fn groups_that_compute_the_same_are_one_function() {
    let mut make = Make::new();
    let x = make.var("x", &[4]);
    let a = make.operator("nn.leaky_relu", &[x], &[4]);
    let b = make.operator("nn.leaky_relu", &[a], &[4]);
    let attrs = [("alpha", AttrValue::float(0.5))];
    let c = make.operator("nn.leaky_relu", &[b], &[4]);
    let ExprKind::Call { attrs: Some(id), .. } = make.module.exprs[c].kind else { panic!("a call with attributes") };
    let id_of = ops::table().find("nn.leaky_relu").and_then(|op| ops::table().schema(op)).expect("attributes");
    make.module.attrs[id].values = id_of.values(&attrs).into();
    let (graph, _) = make.graph(&[x], c);
    let calls: Vec<(&str, &str)> =
        graph.nodes.iter().filter_map(|node| Some((node.name.as_str(), node.call.as_ref()?.func.as_str()))).collect();
    let name = "tvmgen_default_fused_nn_leaky_relu";
    // The third function's name is the second call's too: names are counted apart, as TVM does.
    let (one, two) = (format!("{name}_1"), format!("{name}_1_1"));
    assert_eq!(calls, [(name, name), (&one, name), (&two, &one)]);
    let hash = |at: usize| graph.nodes[at].call.as_ref().expect("a call").attrs.last().expect("a hash").clone();
    assert_eq!(hash(1), hash(2));
    assert_ne!(hash(1), hash(3));
}

#[test]
fn control_flow_is_refused() {
    let mut make = Make::new();
    let (x, cond) = (make.var("x", &[4]), make.var("c", &[]));
    let choice = make.expr(ExprKind::If { cond, then_branch: x, else_branch: x }, &[4]);
    let func = make.func(&[x, cond], choice, false);
    let error = of_function(&make.module, func).expect_err("`if`");
    assert_eq!(error.code, codes::E0708);
    assert!(error.notes.iter().any(|note| note.contains("`if`")), "{:?}", error.notes);
}

#[test]
fn what_is_written_is_read() {
    let (graph, _) = chain();
    assert_eq!(read("x.json", write(&graph).as_bytes()), Ok(graph));
}

/// One mistake in a valid file: replaced text, replacement, and a word of the message.
const MISTAKES: &[(&str, &str, &str)] = &[
    ("\"nodes\"", "\"node\"", "`node`"),
    ("\"heads\": [[6, 0, 0]]", "\"heads\": [[7, 0, 0]]", "node 7"),
    ("\"heads\": [[6, 0, 0]]", "\"heads\": [[6, 1, 0]]", "result 1"),
    ("\"heads\": [[6, 0, 0]]", "\"heads\": [[6]]", "reference"),
    ("\"heads\": [[6, 0, 0]]", "\"heads\": []", "without a result"),
    ("\"heads\": [[6, 0, 0]]", "\"heads\": [[-1, 0, 0]]", "list of numbers"),
    ("\"inputs\": [[0, 0, 0], [1, 0, 0]]", "\"inputs\": [[0, 0, 0], [3, 0, 0]]", "does not come before"),
    ("\"inputs\": [[0, 0, 0], [1, 0, 0]]", "\"inputs\": [[0, 0, 0]]", "num_inputs"),
    ("\"name\": \"p0\"", "\"name\": \"x\"", "second input"),
    ("\"op\": \"null\", \"name\": \"p0\"", "\"op\": \"nothing\", \"name\": \"p0\"", "`nothing`"),
    ("\"arg_nodes\": [0, 1]", "\"arg_nodes\": [0]", "inputs, in order"),
    ("\"node_row_ptr\": [0, 1, 2,", "\"node_row_ptr\": [0, 1, 1,", "results"),
    ("\"node_row_ptr\": [0, 1, 2,", "\"node_row_ptr\": [0, 2, 1,", "must not fall"),
    ("\"node_row_ptr\": [0, 1, 2,", "\"node_row_ptr\": [1, 1, 2,", "begin with 0"),
    ("\"node_row_ptr\": [0, 1,", "\"node_row_ptr\": [0,", "one more than nodes"),
    ("\"list_str\", [\"float32\", ", "\"list_str\", [", "6 items"),
    ("\"list_str\", [\"float32\"", "\"list_str\", [\"float33\"", "`float33`"),
    ("\"list_str\"", "\"list_int\"", "list_str"),
    ("\"storage_id\": [\"list_int\", [0", "\"storage_id\": [\"list_int\", [-1", "list of numbers"),
    ("\"shape\": [\"list_shape\", [[2, 8]", "\"shape\": [\"list_shape\", [[2, -8]", "shape"),
    ("\"num_outputs\": \"1\"", "\"num_outputs\": \"2\"", "num_outputs"),
    ("\"func_name\"", "\"funcname\"", "func_name"),
    ("\"node_row_ptr\"", "\"heads\": [], \"node_row_ptr\"", "second key"),
    ("{\n", "{\n]", "no JSON"),
];

#[test]
fn each_mistake_is_found() {
    let right = write(&chain().0);
    for (from, to, words) in MISTAKES {
        assert!(right.contains(from), "{from} is in\n{right}");
        let error = read("x.json", right.replacen(from, to, 1).as_bytes()).expect_err(to);
        assert_eq!(error.code, codes::E0703, "{to}");
        assert!(error.message.contains(words), "{to}: {}", error.message);
    }
    assert!(read("x.json", format!("{right}x").as_bytes()).is_err());
}

#[test]
fn limits_are_told_from_mistakes() {
    let right = write(&chain().0);
    let deep = right.replacen("[[2, 8]", &format!("[[{}]", vec!["1"; 33].join(", ")), 1);
    assert_eq!(read("x.json", deep.as_bytes()).expect_err("33 dimensions").code, codes::E0804);
    let long = right.replacen("\"p0\"", &format!("\"{}\"", "p".repeat(5000)), 1);
    assert_eq!(read("x.json", long.as_bytes()).expect_err("a long name").code, codes::E0804);
    let many = format!("{{\"nodes\": [{}{{}}]}}", "{},".repeat(1 << 20));
    let results = right.replacen(", 7]", ", 4194305]", 1);
    for (text, words) in [(many, "1048577 nodes"), (results, "4194305 results")] {
        let error = read("x.json", text.as_bytes()).expect_err(words);
        assert_eq!(error.code, codes::E0804);
        assert!(error.message.contains(words), "{}", error.message);
    }
}

#[test]
fn a_node_waits_for_earlier_ones() {
    let (graph, _) = chain();
    let waiting =
        |dep: &str| write(&graph).replacen("\"op\": \"tvm_op\",", &format!("\"op\": \"tvm_op\", \"control_deps\": [{dep}],"), 1);
    assert_eq!(read("x.json", waiting("0, 1").as_bytes()).as_ref(), Ok(&graph));
    for wrong in ["2", "9"] {
        let error = read("x.json", waiting(wrong).as_bytes()).expect_err(wrong);
        assert!(error.message.contains("does not come before it"), "{}", error.message);
    }
}

/// A graph as TVM 0.14 wrote it, with its own line breaks.
#[test]
fn the_layout_of_lines_means_nothing() {
    let (graph, _) = chain();
    let loose = write(&graph).replace(", ", ", \n      ").replace(": ", ":\t");
    assert_eq!(read("x.json", loose.as_bytes()), Ok(graph));
}

#[test]
fn weights_are_held_against_inputs() {
    let (graph, constants) = chain();
    assert!(unmatched(&graph, &constants).is_empty());
    let other = vec![("p1".to_owned(), constants[0].1.clone()), ("p0".to_owned(), Tensor::scalar(1f32))];
    let lines = unmatched(&graph, &other);
    assert!(lines[0].contains("no input is named `p1`") && lines[0].contains("`p0`"), "{lines:?}");
    assert!(lines[1].contains("Tensor[(2, 8), float32]"), "{lines:?}");
}
