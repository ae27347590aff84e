//! Marks calls that other compilers take: TVM's `AnnotateTarget` (`src/relay/transforms/annotate_target.cc`).
//!
//! A call is for the first compiler that takes its operator, or whose name begins the `Composite` of the function it calls. Tuples, fields
//! and cells are for the compiler of their operands, where those agree, unless only calls are to be marked.
//!
//! ```text
//! nn.relu(%x)    →    compiler_end(nn.relu(compiler_begin(%x, compiler="dnnl")), compiler="dnnl")
//! ```

use super::super::build::args;
use super::super::rewrite::with_children;
use super::super::step::{ArgKind, Param};
use super::super::{Pass, PassCx};
use super::{DEFAULT, begin, end, marked};
use relayc_ir::{AttrValue, ExprId, ExprKind, FuncId, Module};
use relayc_ops::declarations::{COMPILER_BEGIN, COMPILER_END};
use rustc_hash::FxHashMap;

pub(crate) const PASS: Pass = Pass {
    name: "annotate-target",
    doc: "Marks the calls that other compilers take, by their operators or by the composites that they call.",
    params: &[
        Param {
            name: "targets",
            kind: ArgKind::WordLists,
            default: "{}",
            doc: "the operators that each compiler takes, the first compiler first",
        },
        Param {
            name: "include_non_call_ops",
            kind: ArgKind::Bool,
            default: "true",
            doc: "whether tuples, fields and cells are marked too",
        },
    ],
    run: |module, cx| Ok(run(module, cx)),
    ..Pass::BASE
};

fn run(module: &mut Module, cx: &PassCx) -> bool {
    let targets = cx.args.word_lists("targets");
    let all = cx.args.bool("include_non_call_ops");
    let funcs: Vec<FuncId> = module.globals.iter().map(|global| global.func).collect();
    for func in funcs.into_iter().filter(|_| !targets.is_empty()) {
        if module.funcs[func].is_for_a_compiler() {
            continue;
        }
        let body = module.funcs[func].body;
        let mut annotate = Annotate { cx, targets: &targets, all, done: FxHashMap::default(), target: FxHashMap::default() };
        for expr in module.post_order(&[body]) {
            let new = annotate.visit(module, expr);
            annotate.done.insert(expr, new);
        }
        let new = annotate.done[&body];
        module.funcs[func].body = annotate.closed(module, new);
    }
    !targets.is_empty()
}

struct Annotate<'a> {
    cx: &'a PassCx<'a>,
    targets: &'a [(&'a str, Vec<&'a str>)],
    /// Whether more than calls is marked.
    all: bool,
    done: FxHashMap<ExprId, ExprId>,
    /// The compilers that new expressions are for.
    target: FxHashMap<ExprId, String>,
}

impl Annotate<'_> {
    fn visit(&mut self, module: &mut Module, expr: ExprId) -> ExprId {
        let mut children = Vec::new();
        module.children(expr, &mut children);
        let new: Vec<ExprId> = children.iter().map(|child| self.done[child]).collect();
        match module.exprs[expr].kind {
            ExprKind::Call { .. } => self.call(module, expr, &new),
            ExprKind::Fn(func) => {
                if composite(module, func).is_none() {
                    module.funcs[func].body = self.closed(module, new[0]);
                }
                expr
            }
            ExprKind::Let { .. } => {
                let body = self.closed(module, new[1]);
                let is_function = matches!(module.exprs[new[0]].kind, ExprKind::Fn(_));
                let value = if is_function { new[0] } else { self.opened(module, &[new[0]], None).1[0] };
                with_children(module, expr, &[value, body])
            }
            ExprKind::If { .. } => self.all_closed(module, expr, &new),
            ExprKind::Tuple(_)
            | ExprKind::Proj { .. }
            | ExprKind::RefNew(_)
            | ExprKind::RefRead(_)
            | ExprKind::RefWrite { .. } => {
                if !self.all {
                    return self.all_closed(module, expr, &new);
                }
                let (target, new) = self.opened(module, &new, None);
                let new = with_children(module, expr, &new);
                self.target.insert(new, target);
                new
            }
            _ => with_children(module, expr, &new),
        }
    }

    fn all_closed(&mut self, module: &mut Module, expr: ExprId, children: &[ExprId]) -> ExprId {
        let children: Vec<ExprId> = children.iter().map(|&child| self.closed(module, child)).collect();
        with_children(module, expr, &children)
    }

    fn call(&mut self, module: &mut Module, expr: ExprId, children: &[ExprId]) -> ExprId {
        let marks = [begin(module, self.cx, expr).is_some(), end(module, self.cx, expr).is_some()];
        if marks != [false, false] {
            let new = with_children(module, expr, children);
            if let Some((operand, compiler)) = end(module, self.cx, new) {
                self.target.entry(operand).or_insert(compiler);
            }
            return new;
        }
        let first = args(module, expr).first().and_then(|&first| begin(module, self.cx, first));
        if first.is_some_and(|(_, compiler)| compiler != DEFAULT) {
            return with_children(module, expr, children);
        }
        let callee = children[0];
        if matches!(module.exprs[callee].kind, ExprKind::Var(_)) && !self.all {
            return self.all_closed(module, expr, children);
        }
        let target = self.taker(module, expr).unwrap_or(DEFAULT).to_owned();
        let (target, operands) = self.opened(module, &children[1..], Some(target));
        let children: Vec<ExprId> = std::iter::once(callee).chain(operands).collect();
        let new = with_children(module, expr, &children);
        self.target.insert(new, target);
        new
    }

    /// The first compiler that takes a call.
    fn taker(&self, module: &Module, call: ExprId) -> Option<&str> {
        if let Some(def) = self.cx.called(module, call) {
            return self.targets.iter().find(|(_, ops)| ops.contains(&def.name)).map(|(target, _)| *target);
        }
        let ExprKind::Call { callee, .. } = module.exprs[call].kind else { return None };
        let ExprKind::Fn(func) = module.exprs[callee].kind else { return None };
        let (compiler, _) = composite(module, func)?.split_once('.')?;
        self.targets.iter().map(|(target, _)| *target).find(|target| *target == compiler)
    }

    /// Operands with marks where they enter a part, and the compiler of the part: the given one, or that of all operands.
    fn opened(&mut self, module: &mut Module, operands: &[ExprId], target: Option<String>) -> (String, Vec<ExprId>) {
        // Each operand, and whether it gets a mark.
        let mut found: Vec<(ExprId, bool)> = Vec::new();
        let mut common: Option<String> = None;
        for &operand in operands {
            let mut own = DEFAULT.to_owned();
            if let Some((inner, compiler)) = begin(module, self.cx, operand) {
                found.push(if compiler == DEFAULT { (inner, true) } else { (operand, false) });
                if let Some((_, compiler)) = end(module, self.cx, inner) {
                    own = compiler;
                }
            } else if let Some(known) = self.target.get(&operand).cloned() {
                let is_bare_call = matches!(module.exprs[operand].kind, ExprKind::Call { args, .. } if args.is_empty());
                found.push((if is_bare_call { operand } else { marked(module, self.cx, operand, &COMPILER_END, &known) }, true));
                own = known;
            } else {
                found.push((operand, true));
            }
            common = Some(match common {
                None => own,
                Some(common) if common == own => common,
                Some(_) => DEFAULT.to_owned(),
            });
        }
        let Some(common) = common else { return (target.unwrap_or_default(), operands.to_vec()) };
        let target = target.unwrap_or(common);
        let mut opened = Vec::new();
        for (operand, enters) in found {
            opened.push(if enters { marked(module, self.cx, operand, &COMPILER_BEGIN, &target) } else { operand });
        }
        (target, opened)
    }

    /// A value with a mark where it leaves its part.
    fn closed(&mut self, module: &mut Module, expr: ExprId) -> ExprId {
        let (inner, target) = match (self.target.get(&expr).cloned(), end(module, self.cx, expr)) {
            (Some(target), _) => {
                let has_operands = match module.exprs[expr].kind {
                    ExprKind::Call { .. } | ExprKind::Tuple(_) => !args(module, expr).is_empty(),
                    ExprKind::Proj { .. } | ExprKind::RefNew(_) | ExprKind::RefRead(_) | ExprKind::RefWrite { .. } => true,
                    _ => false,
                };
                if !has_operands {
                    return expr;
                }
                (expr, target)
            }
            (None, Some((inner, compiler))) if compiler == DEFAULT => {
                let target = self.target.get(&inner).cloned().unwrap_or(compiler);
                (inner, target)
            }
            _ => return expr,
        };
        let new = marked(module, self.cx, inner, &COMPILER_END, &target);
        self.target.insert(new, target);
        new
    }
}

/// The name of a composite, as patterns of compilers give it.
fn composite(module: &Module, func: FuncId) -> Option<&str> {
    let found = module.funcs[func].attrs.iter().find(|(name, _)| &**name == "Composite")?;
    match &found.1 {
        AttrValue::Str(name) => Some(name),
        _ => None,
    }
}
