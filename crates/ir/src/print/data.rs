//! Prints data types as TVM does: definitions, patterns, `match` and references (language 5.2, 5.4, 5.10).

use super::{Memo, Printer, Step};
use crate::{AdtId, Clause, Clauses, ExprId, ExprKind, Module, PatId, PatKind, VarId};
use relayc_base::Idx;

/// A pattern: `Ctor(p, q)`, `(p, q)`; a tuple pattern of one field is `(p)`. `name` is called for each variable, in text order.
pub fn pattern(module: &Module, pat: PatId, name: &mut dyn FnMut(VarId) -> String) -> String {
    /// A part of its text.
    enum Piece {
        Pat(PatId),
        Text(&'static str),
    }
    let mut out = String::new();
    let mut stack = vec![Piece::Pat(pat)];
    while let Some(piece) = stack.pop() {
        let pat = match piece {
            Piece::Pat(pat) => pat,
            Piece::Text(text) => {
                out.push_str(text);
                continue;
            }
        };
        let fields = match module.pats[pat].kind {
            PatKind::Error | PatKind::Wildcard => {
                out.push('_');
                continue;
            }
            PatKind::Var(var) => {
                out.push_str(&name(var));
                continue;
            }
            PatKind::Ctor(ctor, fields) => {
                out.push_str(&module.ctors[ctor].name);
                if fields.is_empty() {
                    continue;
                }
                fields
            }
            PatKind::Tuple(fields) => fields,
        };
        out.push('(');
        stack.push(Piece::Text(")"));
        for (i, &field) in module.sub_pats(fields).iter().enumerate().rev() {
            stack.push(Piece::Pat(field));
            if i > 0 {
                stack.push(Piece::Text(", "));
            }
        }
    }
    out
}

impl Printer<'_> {
    /// `type Name[A] {␤  Ctor(A),␤}`.
    pub(super) fn data_type(&mut self, adt: AdtId) -> String {
        let module = self.module;
        let adt = &module.adts[adt];
        let params: Vec<String> = adt.params.iter().map(|&ty| self.ty(ty)).collect();
        let params = if params.is_empty() { String::new() } else { format!("[{}]", params.join(", ")) };
        let mut lines = Vec::new();
        for &ctor in &adt.ctors {
            let ctor = &module.ctors[ctor];
            let inputs: Vec<String> = ctor.inputs.iter().map(|&ty| self.ty(ty)).collect();
            let inputs = if inputs.is_empty() { String::new() } else { format!("({})", inputs.join(", ")) };
            lines.push(format!("  {}{inputs},", ctor.name));
        }
        // TVM leaves a line of two blanks between the braces of an empty one.
        let body = if lines.is_empty() { "  ".to_owned() } else { lines.join("\n") };
        format!("type {}{params} {{\n{body}\n}}", adt.name)
    }

    fn clauses(&self, expr: ExprId) -> Option<(Clauses, &[Clause])> {
        let ExprKind::Match { clauses, .. } = self.module.exprs[expr].kind else { return None };
        Some((clauses, self.module.clause_items(clauses)))
    }

    /// Prints a visited scrutinee, then the clauses, each pattern before its body.
    pub(super) fn match_head(&mut self, expr: ExprId) {
        let ExprKind::Match { scrutinee, .. } = self.module.exprs[expr].kind else { return };
        let scrutinee = self.print(scrutinee, false);
        self.results.push(scrutinee);
        self.steps.push(Step::MatchClause { expr, index: 0 });
    }

    pub(super) fn match_clause(&mut self, expr: ExprId, index: usize) {
        let Some((_, clauses)) = self.clauses(expr) else { return };
        let Some(&Clause { pat, body }) = clauses.get(index) else { return self.match_end(expr) };
        let module = self.module;
        let pattern = pattern(module, pat, &mut |var| self.declare(var));
        self.results.push(pattern);
        self.steps.extend([Step::MatchClause { expr, index: index + 1 }, Step::Scope(body)]);
    }

    fn match_end(&mut self, expr: ExprId) {
        let ExprKind::Match { clauses, total, .. } = self.module.exprs[expr].kind else { return };
        let parts = self.results.split_off(self.results.len() - 2 * clauses.len());
        let scrutinee = self.pop_result();
        let clause = |part: &[String]| format!("{} => {{\n  {}\n}},", part[0], self.nest.indent(part[1].clone()));
        let body: Vec<String> = parts.chunks(2).map(clause).collect();
        let keyword = if total { "match" } else { "match?" };
        let text = format!("{keyword} ({scrutinee}) {{\n  {}\n}}", self.nest.indent(body.join("\n")));
        self.memo[expr.index()] = Memo::Text(text);
    }

    /// Prints a `ref`, `ref_read` or `ref_write` whose operand or cell has been visited.
    pub(super) fn reference(&mut self, expr: ExprId) {
        let text = match self.module.exprs[expr].kind {
            ExprKind::RefNew(value) => format!("ref({})", self.print(value, false)),
            ExprKind::RefRead(cell) => format!("ref_read({})", self.print(cell, false)),
            ExprKind::RefWrite { cell, value } => {
                let cell = self.print(cell, false);
                self.results.push(cell);
                return self.steps.extend([Step::RefWriteEnd(expr), Step::Visit(value)]);
            }
            _ => return,
        };
        self.memo[expr.index()] = Memo::Text(text);
    }

    pub(super) fn ref_write_end(&mut self, expr: ExprId) {
        let ExprKind::RefWrite { value, .. } = self.module.exprs[expr].kind else { return };
        let value = self.print(value, false);
        let cell = self.pop_result();
        self.memo[expr.index()] = Memo::Text(format!("ref_write({cell}, {value})"));
    }
}
