//! Moves each marked part to a function of its own: TVM's `PartitionGraph` (`src/relay/transforms/partition_graph.cc`).
//!
//! A value that enters a part becomes a parameter, or a constant in the function. What leaves it is the result, or a field of it. The
//! function has the attributes `global_symbol`, `Primitive`, `Compiler` and `Inline`, and is named by the compiler, the function that had the
//! part, and a number. Marks for `default` go.
//!
//! ```text
//! compiler_end(nn.relu(compiler_begin(%x, compiler="dnnl")), compiler="dnnl")
//! →
//! def @tvmgen_default_dnnl_main_0(%dnnl_0_i0, Compiler="dnnl", …) { nn.relu(%dnnl_0_i0) }   @tvmgen_default_dnnl_main_0(%x)
//! ```

use super::super::build::{ExprKey, args, project, tuple, typed};
use super::super::names::Names;
use super::super::rewrite::{rewrite, with_children};
use super::super::step::{ArgKind, Param};
use super::super::{Pass, PassCx, Stop, refused};
use super::annotated::{PartId, Parts};
use super::{DEFAULT, begin, end, marked};
use relayc_base::diag::Diagnostic;
use relayc_base::{Idx, Span};
use relayc_ir::{AttrValue, COMPILER, ExprId, ExprKind, Func, Global, Module, Operand, PRIMITIVE, Seen, VarId};
use relayc_ops::declarations::COMPILER_END;
use rustc_hash::FxHashMap;

pub(crate) const PASS: Pass = Pass {
    name: "partition-graph",
    doc: "Makes a function of each part that is marked for another compiler.",
    params: &[
        Param {
            name: "mod_name",
            kind: ArgKind::Word,
            default: "default",
            doc: "the name of the module, in the names of the functions; may be empty",
        },
        Param {
            name: "bind_constants",
            kind: ArgKind::Bool,
            default: "true",
            doc: "whether constants that enter a part are put into it",
        },
    ],
    run,
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> Result<bool, Box<Diagnostic>> {
    flatten_tuples(module, cx);
    remove_defaults(module, cx);
    let funcs: Vec<Global> = module.globals.iter().cloned().collect();
    let mut names = Names::of_globals(module);
    for Global { name, func, span } in funcs {
        if module.funcs[func].is_for_a_compiler() {
            continue;
        }
        let body = module.funcs[func].body;
        let parts = Parts::of(module, cx, body).map_err(|stop| refused(&PASS, stop))?;
        let (done, made) = Default::default();
        let mut partition = Partition { cx, parts, name: name.to_string(), names: &mut names, done, made };
        let new = partition.rewritten(module, body);
        let stopped = || refused(&PASS, Stop::from("a part needs a value that itself computes").at(span));
        module.funcs[func].body = new.ok_or_else(stopped)?;
    }
    Ok(true)
}

/// `compiler_end((a, b))` is `(compiler_end(a), compiler_end(b))`: the fields may have users of their own.
fn flatten_tuples(module: &mut Module, cx: &PassCx) {
    rewrite(module, |module, expr| {
        let (operand, compiler) = end(module, cx, expr)?;
        if !matches!(module.exprs[operand].kind, ExprKind::Tuple(_)) {
            return None;
        }
        let fields: Vec<ExprId> = args(module, operand);
        let ends: Vec<ExprId> = fields.into_iter().map(|field| marked(module, cx, field, &COMPILER_END, &compiler)).collect();
        Some(tuple(module, module.exprs[operand].span, &ends))
    });
}

fn remove_defaults(module: &mut Module, cx: &PassCx) {
    rewrite(module, |module, expr| {
        let mark = begin(module, cx, expr).or_else(|| end(module, cx, expr));
        mark.filter(|(_, compiler)| compiler == DEFAULT).map(|(operand, _)| operand)
    });
}

/// The function of a part.
#[derive(Default)]
struct Made {
    /// Each parameter, and the argument for it.
    args: Vec<(VarId, ExprId)>,
    /// The mentions of parameters in the function, by what they stand for.
    inside: FxHashMap<ExprKey, ExprId>,
    /// What replaces the values that leave the part.
    outside: FxHashMap<ExprId, ExprId>,
}

enum Step {
    Visit(ExprId),
    Finish(ExprId),
}

struct Partition<'a> {
    cx: &'a PassCx<'a>,
    parts: Parts,
    /// The function that is partitioned.
    name: String,
    /// Those of all functions.
    names: &'a mut Names,
    done: FxHashMap<ExprId, ExprId>,
    made: FxHashMap<PartId, Made>,
}

impl Partition<'_> {
    fn rewritten(&mut self, module: &mut Module, body: ExprId) -> Option<ExprId> {
        let mut seen = Seen::none(module);
        let mut steps = vec![Step::Visit(body)];
        while let Some(step) = steps.pop() {
            match step {
                Step::Visit(expr) => {
                    if !seen.insert(expr) {
                        continue;
                    }
                    steps.push(Step::Finish(expr));
                    let mut before = Vec::new();
                    module.children(expr, &mut before);
                    if end(module, self.cx, expr).is_some() {
                        before.extend(self.results(module, expr));
                    }
                    steps.extend(before.into_iter().rev().map(Step::Visit));
                }
                Step::Finish(expr) => {
                    let new = self.finish(module, expr)?;
                    self.done.insert(expr, new);
                }
            }
        }
        self.done.get(&body).copied()
    }

    /// The values that leave the part of an end, each once.
    fn results(&self, module: &Module, expr: ExprId) -> Vec<ExprId> {
        let Some(part) = self.parts.find(expr) else { return vec![] };
        let mut results = Vec::new();
        for &output in &self.parts.part(part).outputs {
            let value = args(module, output).first().copied();
            results.extend(value.filter(|value| !results.contains(value)));
        }
        results
    }

    fn finish(&mut self, module: &mut Module, expr: ExprId) -> Option<ExprId> {
        if begin(module, self.cx, expr).is_some() {
            return self.entered(module, expr);
        }
        if let Some((operand, _)) = end(module, self.cx, expr) {
            let part = self.parts.find(expr)?;
            if self.made.get(&part).is_none_or(|made| made.outside.is_empty()) {
                self.function(module, part, expr)?;
            }
            return self.made[&part].outside.get(&operand).copied();
        }
        let mut children = Vec::new();
        module.children(expr, &mut children);
        let new: Option<Vec<ExprId>> = children.iter().map(|child| self.done.get(child).copied()).collect();
        Some(with_children(module, expr, &new?))
    }

    /// The parameter for a value that enters a part.
    fn entered(&mut self, module: &mut Module, mark: ExprId) -> Option<ExprId> {
        let (operand, compiler) = begin(module, self.cx, mark)?;
        let mut source = operand;
        while let Some((inner, _)) = begin(module, self.cx, source).or_else(|| end(module, self.cx, source)) {
            source = inner;
        }
        let part = self.parts.find(mark)?;
        // What nothing leaves is no part: `annotate-target` opens one at the value of a `let`.
        if self.parts.part(part).outputs.is_empty() {
            return self.done.get(&operand).copied();
        }
        let key = ExprKey::of(module, source);
        if let Some(&known) = self.made.get(&part).and_then(|made| made.inside.get(&key)) {
            return Some(known);
        }
        let at = self.parts.part(part).inputs.iter().position(|&input| input == mark)?;
        let (span, ty) = (module.exprs[mark].span, module.ty(mark));
        let param = module.var(&format!("{compiler}_{}_i{at}", part.index()), Some(ty), span);
        let mention = typed(module, span, ExprKind::Var(param), ty);
        let value = *self.done.get(&operand)?;
        let made = self.made.entry(part).or_default();
        made.args.push((param, value));
        made.inside.insert(key, mention);
        Some(mention)
    }

    /// Makes the function of a part, and its call.
    fn function(&mut self, module: &mut Module, part: PartId, mark: ExprId) -> Option<()> {
        let span = module.exprs[mark].span;
        let (_, compiler) = end(module, self.cx, mark)?;
        let results = self.results(module, mark);
        let values: Option<Vec<ExprId>> = results.iter().map(|value| self.done.get(value).copied()).collect();
        let values = values?;
        let body = if let [value] = values[..] { value } else { tuple(module, span, &values) };
        let ret = module.ty(body);
        let (mut params, mut operands) = (Vec::new(), Vec::new());
        let made = self.made.entry(part).or_default();
        for &(param, value) in &made.args {
            if self.cx.args.bool("bind_constants") && is_constant(module, value) {
                put_constant(module, param, value, &made.inside);
            } else {
                params.push(param);
                operands.push(Operand { expr: value, span });
            }
        }
        let name = self.name(&compiler, part);
        let text = |text: &str| AttrValue::Str(text.into());
        let attrs = vec![
            ("global_symbol".into(), text(&name)),
            (PRIMITIVE.into(), AttrValue::int(1)),
            (COMPILER.into(), text(&compiler)),
            ("Inline".into(), AttrValue::int(1)),
        ];
        let func = Func { span, type_params: vec![], params, ret: Some(ret), ret_span: Span::NONE, body, attrs };
        let func = module.funcs.push(func);
        let global = module.globals.push(Global { name, func, span });
        let callee = module.expr(span, ExprKind::Global(global));
        let operands = module.operands(&operands);
        let call = typed(module, span, ExprKind::Call { callee, args: operands, attrs: None }, ret);
        let made = self.made.entry(part).or_default();
        if results.len() == 1 {
            made.outside.insert(results[0], call);
        } else {
            for (at, result) in results.into_iter().enumerate() {
                let field = project(module, span, call, at);
                made.outside.insert(result, field);
            }
        }
        Some(())
    }

    /// The name of a part's function, as TVM mangles it.
    fn name(&mut self, compiler: &str, part: PartId) -> Box<str> {
        let prefix = match self.cx.args.word("mod_name") {
            "" => "tvmgen".to_owned(),
            mod_name => format!("tvmgen_{mod_name}"),
        };
        let name = format!("{prefix}_{compiler}_{}_{}", self.name, part.index());
        let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        self.names.free(&name, "_")
    }
}

/// Whether a value is a constant or a tuple of constants.
fn is_constant(module: &Module, expr: ExprId) -> bool {
    let is_const = |expr: ExprId| matches!(module.exprs[expr].kind, ExprKind::Const(_));
    match module.exprs[expr].kind {
        ExprKind::Tuple(_) => args(module, expr).into_iter().all(is_const),
        _ => is_const(expr),
    }
}

/// Puts a constant in the place of a parameter's mentions.
fn put_constant(module: &mut Module, param: VarId, value: ExprId, inside: &FxHashMap<ExprKey, ExprId>) {
    let copy = |module: &mut Module, expr: ExprId| {
        let (node, ty) = (module.exprs[expr], module.ty(expr));
        typed(module, node.span, node.kind, ty)
    };
    let kind = match module.exprs[value].kind {
        ExprKind::Tuple(_) => {
            let fields: Vec<ExprId> = args(module, value).into_iter().map(|field| copy(module, field)).collect();
            let fields = tuple(module, module.exprs[value].span, &fields);
            module.exprs[fields].kind
        }
        kind => kind,
    };
    let mentions = inside.values().copied().filter(|&expr| module.exprs[expr].kind == ExprKind::Var(param));
    for mention in mentions.collect::<Vec<_>>() {
        module.exprs[mention].kind = kind;
    }
}
