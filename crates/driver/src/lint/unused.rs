//! Flags unused bindings, parameters, declarations and definitions.

use super::{MAX_EACH, Program, is_silent};
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::{Idx, Span};
use relayc_ir::{ExprKind, GlobalId, Module, Root};
use relayc_syntax::ast::{self, StmtKind};
use rustc_hash::{FxHashMap, FxHashSet};

/// W0005. Skips values that write a cell or call a function, since they may be bound for their effects. Skips also the fields of
/// a tuple that is destructured by name.
pub(super) fn lets(program: &Program) -> Vec<Diagnostic> {
    let module = program.module;
    let is_unused = |kind: ExprKind| match kind {
        ExprKind::Let { var, value, .. } => {
            let is_field = matches!(module.exprs[value].kind, ExprKind::Proj { .. });
            let silent = is_field || program.used[var.index()] || is_silent(&module.vars[var].name);
            (!silent).then_some((var, value))
        }
        _ => None,
    };
    let unused: Vec<_> = module.exprs.iter().filter_map(|expr| is_unused(expr.kind)).collect();
    if unused.is_empty() {
        return vec![];
    }
    let effects = effects(module);
    let harmless = unused.into_iter().filter(|(_, value)| !effects[value.index()]);
    let report =
        |name: &str, span: Span| {
            Diagnostic::new(codes::W0005, format!("the variable `%{name}` is never used"))
                .at(span, "bound here, used nowhere")
                .fix(format!("leave the `let` out, or name it `%_{name}`"), span, format!("%_{name}"))
        };
    harmless.take(MAX_EACH).map(|(var, _)| report(&module.vars[var].name, module.vars[var].span)).collect()
}

/// For each expression, whether computing it may have an effect.
fn effects(module: &Module) -> Vec<bool> {
    let mut effects = vec![false; module.exprs.len()];
    let mut children = Vec::new();
    for expr in module.post_order(&module.roots()) {
        children.clear();
        let own = match module.exprs[expr].kind {
            ExprKind::RefWrite { .. } => true,
            // A function does nothing where it is made.
            ExprKind::Fn(_) => continue,
            ExprKind::Call { callee, .. } => !matches!(module.exprs[callee].kind, ExprKind::Op(_) | ExprKind::Ctor(_)),
            _ => false,
        };
        module.children(expr, &mut children);
        effects[expr.index()] = own || children.iter().any(|child| effects[child.index()]);
    }
    effects
}

/// W0006.
pub(super) fn graph_variables(program: &Program) -> Vec<Diagnostic> {
    let ast = program.ast;
    // Definitions do not nest: the one a place lies in is the last that starts before it.
    let mut starts: Vec<u32> = ast.defs.iter().map(|def| def_span(ast, def).start).collect();
    starts.sort_unstable();
    let def_of = |span: Span| starts.partition_point(|&start| start <= span.start);
    let mut uses: FxHashMap<(usize, &str), bool> = FxHashMap::default();
    let mut bound: Vec<Span> = Vec::new();
    for stmt in ast.stmts.iter() {
        if let StmtKind::Graph { name, .. } = stmt.kind {
            uses.insert((def_of(name), ast.text(name)), false);
            bound.push(name);
        }
    }
    let mut foreign: FxHashSet<&str> = FxHashSet::default();
    for expr in ast.exprs.iter().filter(|expr| matches!(expr.kind, ast::ExprKind::Graph)) {
        let name = ast.text(expr.span);
        match uses.get_mut(&(def_of(expr.span), name)) {
            Some(used) => *used = true,
            // Text printed by TVM may mention one of an earlier function.
            None => _ = foreign.insert(name),
        }
    }
    let is_unused = |name: Span| uses.get(&(def_of(name), ast.text(name))) == Some(&false) && !foreign.contains(ast.text(name));
    let unused = bound.into_iter().filter(|&name| is_unused(name));
    let report = |name: Span| {
        Diagnostic::new(codes::W0006, format!("the graph variable `{}` is never used", ast.text(name)))
            .at(name, "bound here, used nowhere")
            .note("nothing computes it: a graph variable is its expression where it is used")
            .help("leave the binding out")
    };
    unused.take(MAX_EACH).map(report).collect()
}

fn def_span(ast: &ast::Ast, def: &ast::Def) -> Span {
    match def {
        ast::Def::Type { span, .. } => *span,
        ast::Def::Func { func, .. } => ast.funcs[*func].span,
    }
}

/// W0007. Skips `@main`, whose callers decide its parameters, and `fn` literals.
pub(super) fn parameters(program: &Program) -> Vec<Diagnostic> {
    let module = program.module;
    let funcs = module.globals.iter().filter(|global| &*global.name != "main").map(|global| global.func);
    let vars = funcs.flat_map(|func| module.funcs[func].params.iter().copied());
    let unused = vars.filter(|var| !program.used[var.index()] && !is_silent(&module.vars[*var].name));
    let report = |var| {
        let (name, span) = (&module.vars[var].name, module.vars[var].span);
        let end = Span { end: span.start + 1 + name.len() as u32, ..span };
        Diagnostic::new(codes::W0007, format!("the parameter `%{name}` is never used"))
            .at(span, "declared here, used nowhere")
            .fix(format!("leave it out, or name it `%_{name}`"), end, format!("%_{name}"))
    };
    unused.take(MAX_EACH).map(report).collect()
}

/// W0013: in a module with a `@main`, functions that it does not reach.
pub(super) fn functions(program: &Program) -> Vec<Diagnostic> {
    let module = program.module;
    let (Root::Globals, Some(main)) = (&module.root, module.find_global("main")) else { return vec![] };
    let mut reached = vec![false; module.globals.len()];
    let mut stack: Vec<GlobalId> = vec![main];
    while let Some(global) = stack.pop() {
        if std::mem::replace(&mut reached[global.index()], true) {
            continue;
        }
        let body = module.funcs[module.globals[global].func].body;
        stack.extend(module.post_order(&[body]).into_iter().filter_map(|expr| match module.exprs[expr].kind {
            ExprKind::Global(callee) => Some(callee),
            _ => None,
        }));
    }
    let unused = module.globals.iter_ids().filter(|(id, global)| !reached[id.index()] && !is_silent(&global.name));
    let report = |name: &str, span: Span| {
        Diagnostic::new(codes::W0013, format!("the function `@{name}` is never called"))
            .at(span, "`@main` does not reach it")
            .help("leave it out, or run it with `--entry`")
    };
    unused.take(MAX_EACH).map(|(_, global)| report(&global.name, global.span)).collect()
}
