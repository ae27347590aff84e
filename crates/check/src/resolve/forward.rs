//! Graph variables used above their binding.
//!
//! TVM's printer computes the texts of a call's operands before it writes their bindings. So a node that two operands need may be
//! used above the line that binds it (`src/relay/printer/relay_text_printer.cc`, language 5.4). TVM does not read such text. Here
//! such a use means the binding below it in the same function, unless a node would become a part of itself. A variable bound
//! nowhere in the function is reported as before.

use super::{Resolver, errors};
use relayc_base::Span;
use relayc_ir::{ExprId, ExprKind};
use relayc_syntax::ast::StmtKind;
use relayc_syntax::literal;
use rustc_hash::FxHashMap;

#[derive(Default)]
pub(super) struct Forward<'a> {
    /// The statements of the file that bind each number, in text order, with the name in each; made when it is first asked for.
    bindings: Option<FxHashMap<&'a str, Vec<(Span, Span)>>>,
    /// The function being resolved.
    within: Option<Span>,
    /// Nodes that are mentioned and not bound yet, with their first mention and the name that binds them.
    mentioned: FxHashMap<&'a str, (ExprId, Span, Span)>,
    /// Nodes used before their binding, their values, the first uses, and the names that bind them.
    bound: Vec<(ExprId, ExprId, Span, Span)>,
}

impl<'a> Resolver<'a> {
    pub(super) fn begin_forward(&mut self, within: Span) {
        self.forward.within = Some(within);
    }

    /// The node of a number that is bound further down, and the place of the name that binds it.
    pub(super) fn forward_use(&mut self, key: &'a str, at: Span) -> Option<(ExprId, Span)> {
        if let Some(&(node, _, binder)) = self.forward.mentioned.get(key) {
            return Some((node, binder));
        }
        let within = self.forward.within?;
        let places = self.bindings().get(key)?;
        let &(stmt, binder) = places.get(places.partition_point(|(stmt, _)| stmt.start < at.start))?;
        if stmt.start >= within.end {
            return None;
        }
        let node = self.module.expr(at, ExprKind::Error);
        self.forward.mentioned.insert(key, (node, at, binder));
        Some((node, binder))
    }

    /// The name that a statement binds, if a use of it stands in its own value.
    pub(super) fn own_binding(&mut self, key: &str, at: Span) -> Option<Span> {
        let places = self.bindings().get(key)?;
        let &(stmt, binder) = places[..places.partition_point(|(stmt, _)| stmt.start < at.start)].last()?;
        (at.end <= stmt.end).then_some(binder)
    }

    fn bindings(&mut self) -> &FxHashMap<&'a str, Vec<(Span, Span)>> {
        let ast = self.ast;
        self.forward.bindings.get_or_insert_with(|| {
            let mut bindings: FxHashMap<&str, Vec<(Span, Span)>> = FxHashMap::default();
            for stmt in ast.stmts.iter() {
                if let StmtKind::Graph { name, .. } = stmt.kind {
                    bindings.entry(literal::graph_key(ast.text(name))).or_default().push((stmt.span, name));
                }
            }
            bindings.values_mut().for_each(|places| places.sort_unstable_by_key(|(stmt, _)| stmt.start));
            bindings
        })
    }

    /// The node that a binding gives its value to: the one that was mentioned above, or the value itself.
    pub(super) fn forward_value(&mut self, key: &'a str, value: ExprId, stmt: Span) -> ExprId {
        let span = self.module.exprs[value].span;
        // Another name for a node that exists already cannot be the node mentioned.
        let is_new = stmt.start <= span.start && span.end <= stmt.end;
        if !is_new {
            return value;
        }
        let Some((node, mention, binder)) = self.forward.mentioned.remove(key) else { return value };
        self.module.exprs[node].span = span;
        self.forward.bound.push((node, value, mention, binder));
        node
    }

    /// Ends the function: gives the nodes their values, and reports those without one.
    pub(super) fn end_forward(&mut self) {
        let unknown = |(_, (_, mention, _)): (&str, (ExprId, Span, Span))| (mention, None);
        let mut missing: Vec<(Span, Option<Span>)> = self.forward.mentioned.drain().map(unknown).collect();
        let bound = std::mem::take(&mut self.forward.bound);
        for &(node, value, ..) in &bound {
            self.module.exprs[node].kind = self.module.exprs[value].kind;
        }
        if self.has_cycle(bound.iter().map(|&(node, ..)| node).collect()) {
            for &(node, _, mention, binder) in &bound {
                self.module.exprs[node].kind = ExprKind::Error;
                missing.push((mention, Some(binder)));
            }
        }
        missing.sort_unstable_by_key(|(mention, _)| mention.start);
        for (mention, binder) in missing {
            let name = self.ast.text(mention);
            self.diagnostics.push(match binder {
                Some(binder) => errors::cyclic_graph(name, mention, binder),
                None => errors::unknown_graph(name, mention, None),
            });
        }
    }

    fn has_cycle(&self, roots: Vec<ExprId>) -> bool {
        // Whether all that is inside a node has been seen; the walk is inside those that have not.
        let mut done: FxHashMap<ExprId, bool> = FxHashMap::default();
        let mut stack: Vec<(ExprId, bool)> = roots.into_iter().map(|node| (node, false)).collect();
        let mut children = Vec::new();
        while let Some((node, leaves)) = stack.pop() {
            if leaves {
                done.insert(node, true);
                continue;
            }
            match done.insert(node, false) {
                Some(false) => return true,
                Some(true) => drop(done.insert(node, true)),
                None => {
                    stack.push((node, true));
                    children.clear();
                    self.module.children(node, &mut children);
                    stack.extend(children.iter().filter(|child| done.get(child) != Some(&true)).map(|&child| (child, false)));
                }
            }
        }
        false
    }
}
