//! Compares two programs: functions by name, and in a function its parameters, calls and their operands.
//!
//! Two functions are equal if they compute the same from parameters of the same types. Names of variables, numbers of graph
//! bindings and repetition in the text do not count, `let` does. In programs with references, a repeated call of a function
//! counts as a new one.
//!
//! To describe a difference, the calls of both sides are aligned in evaluation order. A call without a partner is on one side
//! only; a call whose partner has other attributes or operands is shown on both. Differences that follow from one shown before
//! are not shown again.

use super::Differences;
use super::lines::{Lines, SidePlace};
use super::nodes::{Function, Nodes, Renamed};
use crate::{Program, show};
use relayc_base::text::count;
use relayc_base::{Span, diff};
use relayc_ir::tensor::Tensor;
use relayc_ir::tensor::compare::{Tolerance, compare};
use relayc_ir::types::Ty;
use relayc_ir::{Ctor, ExprId, GlobalId, Module};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::sync::LazyLock;

/// A program and its name.
#[derive(Clone, Copy)]
pub struct Side<'p> {
    pub name: &'p str,
    pub program: &'p Program,
}

impl<'p> Side<'p> {
    fn module(self) -> &'p Module {
        &self.program.module
    }

    pub(super) fn at(self, span: Span) -> SidePlace<'p> {
        SidePlace { name: self.name, sources: &self.program.sources, span }
    }
}

/// Compares the canonical texts, line by line.
pub fn texts(a: Side, b: Side) -> Differences {
    let print =
        |side: Side| show::print(side.program, show::Options { types: false, meta: false, exact: true, dim_names: false });
    let (from, to) = (print(a), print(b));
    let text = diff::unified((a.name, &from), (b.name, &to));
    Differences::new(from == to, Lines::default(), text.trim_end_matches('\n').to_owned())
}

/// Compares the definitions of two programs, and their weights if both came with some. Both are checked, with types.
pub fn programs(a: Side, b: Side, tolerance: Tolerance) -> Differences {
    let mut lines = Lines::default();
    let mut parts = definitions(a, b, Nodes::of([a.module(), b.module()]), &mut lines);
    if !a.program.packed.weights.is_empty() && !b.program.packed.weights.is_empty() {
        parts.push(weights(a, b, tolerance, &mut lines));
    }
    Differences::new(lines.len() == 0, lines, parts.join(", "))
}

/// Compares the weights of parameters that correspond; returns how many are equal and how many are not, in words.
fn weights(a: Side, b: Side, tolerance: Tolerance, lines: &mut Lines) -> String {
    let params = |side: Side| {
        let module = side.module();
        let main = module.find_global("main").map(|main| module.globals[main].func);
        main.map_or(vec![], |main| module.funcs[main].params.iter().map(|&var| module.vars[var].name.to_string()).collect())
    };
    let (ours, theirs) = (params(a), params(b));
    // The names of parameters do not count.
    let there: FxHashMap<&str, &str> = match ours.len() == theirs.len() {
        true => ours.iter().map(String::as_str).zip(theirs.iter().map(String::as_str)).collect(),
        false => FxHashMap::default(),
    };
    let of_b: FxHashMap<&str, &Tensor> = b.program.packed.weights.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    let (mut equal, mut differ) = (0, 0);
    for (name, tensor) in &a.program.packed.weights {
        let Some(other) = of_b.get(there.get(name.as_str()).copied().unwrap_or(name)) else { continue };
        match compare(tensor, other, tolerance) {
            Ok(comparison) if comparison.agrees() => equal += 1,
            Ok(comparison) => {
                differ += 1;
                lines.push(&format!("weight `{name}`: {}", super::words(&comparison)), &[]);
            }
            Err(_) => {
                differ += 1;
                let (ours, theirs) = (tensor.type_text(), other.type_text());
                lines.push(&format!("weight `{name}`: {ours} in {}, {theirs} in {}", a.name, b.name), &[]);
            }
        }
    }
    let differ = if differ > 0 { format!(", {differ} different") } else { String::new() };
    format!("{} equal{differ}", count(equal, "weight"))
}

/// Whether two checked programs compute the same, however they bind values without effects: by `let`, by a graph variable, or not
/// at all.
pub fn compute_same(a: &Program, b: &Program) -> bool {
    let sides = [a, b].map(|program| Side { name: "", program });
    let mut lines = Lines::default();
    definitions(sides[0], sides[1], Nodes::through_lets([&a.module, &b.module]), &mut lines);
    lines.len() == 0
}

/// Compares the definitions; returns how many are equal and how many are not, in words.
fn definitions(a: Side, b: Side, mut nodes: Nodes, lines: &mut Lines) -> Vec<String> {
    data_types(a, b, lines);
    let mut pairs: Vec<(GlobalId, GlobalId)> = Vec::new();
    let (mut only_a, mut only_b): (Vec<GlobalId>, Vec<GlobalId>) = (Vec::new(), Vec::new());
    for (id, global) in a.module().globals.iter_ids() {
        match b.module().find_global(&global.name) {
            Some(other) => pairs.push((id, other)),
            None => only_a.push(id),
        }
    }
    let known: FxHashSet<&str> = a.module().globals.iter().map(|global| &*global.name).collect();
    only_b.extend(b.module().globals.iter_ids().filter(|(_, global)| !known.contains(&*global.name)).map(|(id, _)| id));
    let renamed = renamed(a, b, &mut only_a, &mut only_b, &mut nodes);
    let names: Renamed = renamed.iter().map(|&(this, that)| (that, a.module().globals[this].name.to_string())).collect();
    let (mut equal, mut differ) = (0, 0);
    for (this, that) in pairs {
        let before = lines.len();
        Pair::new(a, b, (this, that), &names, &mut nodes).compare(&mut nodes, lines);
        if lines.len() == before { equal += 1 } else { differ += 1 }
    }
    for &(this, that) in &renamed {
        let (this, that) = (&a.module().globals[this], &b.module().globals[that]);
        let words = format!("@{} is called @{} there", this.name, that.name);
        lines.push(&words, &[a.at(this.span), b.at(that.span)]);
    }
    for (side, only) in [(a, &only_a), (b, &only_b)] {
        for &id in only {
            let global = &side.module().globals[id];
            lines.push(&format!("@{}: only in {}", global.name, side.name), &[side.at(global.span)]);
        }
    }
    let mut parts = vec![format!("{} equal", count(equal, "function"))];
    for (n, what) in
        [(differ, "different"), (renamed.len(), "of another name"), (only_a.len() + only_b.len(), "on one side only")]
    {
        if n > 0 {
            parts.push(format!("{n} {what}"));
        }
    }
    parts
}

/// The functions of one side that have another name on the other side.
fn renamed(
    a: Side,
    b: Side,
    only_a: &mut Vec<GlobalId>,
    only_b: &mut Vec<GlobalId>,
    nodes: &mut Nodes,
) -> Vec<(GlobalId, GlobalId)> {
    let (mut found, none) = (Vec::new(), Renamed::default());
    only_a.retain(|&this| {
        let is_same = |&that: &GlobalId| {
            let mut lines = Lines::default();
            Pair::new(a, b, (this, that), &none, nodes).compare(nodes, &mut lines);
            lines.len() == 0
        };
        match only_b.iter().take(RENAMED).position(is_same) {
            Some(at) => {
                found.push((this, only_b.remove(at)));
                false
            }
            None => true,
        }
    });
    found
}

/// The first side has its own names.
fn none_renamed() -> &'static Renamed {
    static NONE: LazyLock<Renamed> = LazyLock::new(Renamed::default);
    &NONE
}

/// Limit of functions that are tried as the renamed one.
const RENAMED: usize = 16;

fn data_types(a: Side, b: Side, lines: &mut Lines) {
    let text = |side: Side, ctor: &Ctor| {
        let types = &side.module().types;
        let inputs: Vec<String> = ctor.inputs.iter().map(|&ty| types.text(ty)).collect();
        format!("{}({})", ctor.name, inputs.join(", "))
    };
    let ctors = |side: Side, adt: &relayc_ir::Adt| {
        let ctors = adt.ctors.iter().map(|&ctor| text(side, &side.module().ctors[ctor]));
        (adt.params.len(), ctors.collect::<Vec<String>>())
    };
    for adt in a.module().adts.iter() {
        match b.module().adts.iter().find(|other| other.name == adt.name) {
            None => lines.push(&format!("type {}: only in {}", adt.name, a.name), &[a.at(adt.span)]),
            Some(other) if ctors(a, adt) != ctors(b, other) => {
                lines.push(&format!("type {}: other constructors", adt.name), &[a.at(adt.span), b.at(other.span)]);
            }
            Some(_) => {}
        }
    }
    for adt in b.module().adts.iter().filter(|adt| a.module().adts.iter().all(|other| other.name != adt.name)) {
        lines.push(&format!("type {}: only in {}", adt.name, b.name), &[b.at(adt.span)]);
    }
}

/// Two functions with one name.
struct Pair<'p> {
    a: Side<'p>,
    b: Side<'p>,
    name: String,
    /// The numbered form of each.
    from: Function<'p>,
    to: Function<'p>,
    /// The positions of parameters that correspond.
    params: Vec<(usize, usize)>,
}

impl<'p> Pair<'p> {
    /// `names` are the functions of the second side that the first calls by another name.
    fn new(a: Side<'p>, b: Side<'p>, (this, that): (GlobalId, GlobalId), names: &'p Renamed, nodes: &mut Nodes) -> Pair<'p> {
        let (this, that) = (&a.module().globals[this], &b.module().globals[that]);
        let params = params(a.module(), b.module(), this.func, that.func);
        let labels = |of: fn(&(usize, usize)) -> usize| -> FxHashMap<usize, u32> {
            params.iter().enumerate().map(|(i, pair)| (of(pair), i as u32)).collect()
        };
        let from = Function::new(a.module(), this.func, &labels(|pair| pair.0), none_renamed(), nodes);
        let to = Function::new(b.module(), that.func, &labels(|pair| pair.1), names, nodes);
        Pair { a, b, name: this.name.to_string(), from, to, params }
    }

    fn compare(&self, nodes: &mut Nodes, lines: &mut Lines) {
        let before = lines.len();
        self.heads(lines);
        if self.from.id == self.to.id {
            return;
        }
        self.bodies(nodes, lines);
        if lines.len() == before {
            // What was lined up agrees, but not as a whole: a result made of the same calls in another way.
            lines.push(&format!("@{}: another result", self.name), &[self.at_a(self.from.body), self.at_b(self.to.body)]);
        }
    }

    fn at_a(&self, expr: ExprId) -> SidePlace<'p> {
        self.a.at(self.a.module().exprs[expr].span)
    }

    fn at_b(&self, expr: ExprId) -> SidePlace<'p> {
        self.b.at(self.b.module().exprs[expr].span)
    }

    /// Compares parameters, results and attributes.
    fn heads(&self, lines: &mut Lines) {
        let name = &self.name;
        let (a, b) = (self.a.module(), self.b.module());
        let (this, that) = (&a.funcs[self.from.func], &b.funcs[self.to.func]);
        let of = |module: &Module, ty: Option<Ty>| ty.map_or("?".to_owned(), |ty| module.types.text(ty));
        for &(i, j) in &self.params {
            let (x, y) = (&a.vars[this.params[i]], &b.vars[that.params[j]]);
            let (ty, other) = (of(a, x.checked_ty.or(x.ty)), of(b, y.checked_ty.or(y.ty)));
            if ty != other {
                let words = format!("@{name}: parameter %{}: {ty} became {other}", x.name);
                lines.push(&words, &[self.a.at(x.span), self.b.at(y.span)]);
            }
        }
        let paired_a: FxHashSet<usize> = self.params.iter().map(|pair| pair.0).collect();
        let paired_b: FxHashSet<usize> = self.params.iter().map(|pair| pair.1).collect();
        for (side, params, paired) in [(self.a, &this.params, paired_a), (self.b, &that.params, paired_b)] {
            for (_, &var) in params.iter().enumerate().filter(|(i, _)| !paired.contains(i)) {
                let var = &side.module().vars[var];
                lines.push(&format!("@{name}: parameter %{}: only in {}", var.name, side.name), &[side.at(var.span)]);
            }
        }
        // Types of results follow from what is inside, unless nothing inside differs.
        let (ty, other) = (of(a, this.ret), of(b, that.ret));
        if self.from.id == self.to.id && ty != other && self.params.is_empty() {
            lines.push(&format!("@{name}: gives {ty}, then {other}"), &[self.a.at(this.span), self.b.at(that.span)]);
        }
        if self.from.attrs() != self.to.attrs() {
            let words = format!("@{name}: {} became {}", self.from.attrs(), self.to.attrs());
            lines.push(&words, &[self.a.at(this.span), self.b.at(that.span)]);
        }
    }

    fn bodies(&self, nodes: &mut Nodes, lines: &mut Lines) {
        let (from, to) = (self.from.events(nodes), self.to.events(nodes));
        let labels = |events: &[(ExprId, u32)]| events.iter().map(|event| event.1).collect::<Vec<u32>>();
        let mut partner: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        let (mut alone_a, mut alone_b): (FxHashSet<ExprId>, FxHashSet<ExprId>) = Default::default();
        let mut changes = Vec::new();
        let mut equal = (0, 0);
        for change in diff::changes(&labels(&from), &labels(&to)) {
            let between = from[equal.0..change.old.start].iter().zip(&to[equal.1..]);
            partner.extend(between.map(|(this, that)| (this.0, that.0)));
            equal = (change.old.end, change.new.end);
            let (pairs, left, right) = self.pair_up(&from[change.old], &to[change.new]);
            partner.extend(pairs.iter().copied());
            alone_a.extend(&left);
            alone_b.extend(&right);
            changes.extend(pairs.into_iter().map(|(this, that)| (Some(this), Some(that))));
            changes.extend(left.into_iter().map(|this| (Some(this), None)));
            changes.extend(right.into_iter().map(|that| (None, Some(that))));
        }
        partner.extend(from[equal.0..].iter().zip(&to[equal.1..]).map(|(this, that)| (this.0, that.0)));
        let name = &self.name;
        for change in changes {
            match change {
                (Some(this), Some(that)) => {
                    let words = format!("@{name}: {}", self.from.change(this, &self.to, that));
                    lines.push(&words, &[self.at_a(this), self.at_b(that)]);
                }
                (Some(this), None) => {
                    let words = format!("@{name}: {}: only in {}", self.from.label(this), self.a.name);
                    lines.push(&words, &[self.at_a(this)]);
                }
                (None, Some(that)) => {
                    let words = format!("@{name}: {}: only in {}", self.to.label(that), self.b.name);
                    lines.push(&words, &[self.at_b(that)]);
                }
                (None, None) => {}
            }
        }
        // Operands of calls that stand for each other.
        let given = Given { partner: &partner, alone_a: &alone_a, alone_b: &alone_b };
        for &(this, _) in &from {
            let Some(&that) = partner.get(&this) else { continue };
            let operands = self.from.operands(this).into_iter().zip(self.to.operands(that)).enumerate();
            for (i, (x, y)) in operands.filter(|(_, (x, y))| !self.agree(*x, *y, &given)) {
                let words = format!("@{name}: {}: operand {i} is {}", self.from.label(this), self.another(x, y));
                lines.push(&words, &[self.at_a(this), self.at_b(that)]);
            }
        }
        let (x, y) = (self.from.value(self.from.body), self.to.value(self.to.body));
        if !self.agree(x, y, &given) {
            let words = format!("@{name}: the result is {}", self.another(x, y));
            lines.push(&words, &[self.at_a(x), self.at_b(y)]);
        }
    }

    /// Pairs calls of the same callee with other attributes, in order; also returns the unpaired calls of both.
    fn pair_up(&self, old: &[(ExprId, u32)], new: &[(ExprId, u32)]) -> (Vec<(ExprId, ExprId)>, Vec<ExprId>, Vec<ExprId>) {
        let (mut pairs, mut left) = (Vec::new(), Vec::new());
        // Those that are taken are near the front.
        let mut rest: VecDeque<ExprId> = new.iter().map(|event| event.0).collect();
        for &(this, _) in old {
            match rest.iter().take(RENAMED).position(|&that| self.from.head(this) == self.to.head(that)) {
                Some(at) => pairs.extend(rest.remove(at).map(|that| (this, that))),
                None => left.push(this),
            }
        }
        (pairs, left, rest.into())
    }

    /// `another: exp became tanh`, `another exp`.
    fn another(&self, x: ExprId, y: ExprId) -> String {
        let (x, y) = (self.from.label(x), self.to.label(y));
        if x == y { format!("another {x}") } else { format!("another: {x} became {y}") }
    }

    /// Whether operands are equal, apart from differences already shown.
    fn agree(&self, x: ExprId, y: ExprId, given: &Given) -> bool {
        if given.alone_a.contains(&x) || given.alone_b.contains(&y) {
            return true;
        }
        match given.partner.get(&x) {
            Some(&partner) => partner == y || self.from.id_of(x) == self.to.id_of(y),
            None => self.from.id_of(x) == self.to.id_of(y),
        }
    }
}

/// The alignment so far.
struct Given<'g> {
    partner: &'g FxHashMap<ExprId, ExprId>,
    alone_a: &'g FxHashSet<ExprId>,
    alone_b: &'g FxHashSet<ExprId>,
}

/// The parameters that correspond: by position if there are as many, else by name.
fn params(a: &Module, b: &Module, this: relayc_ir::FuncId, that: relayc_ir::FuncId) -> Vec<(usize, usize)> {
    let (this, that) = (&a.funcs[this].params, &b.funcs[that].params);
    if this.len() == that.len() {
        return (0..this.len()).map(|i| (i, i)).collect();
    }
    let places: FxHashMap<&str, usize> = that.iter().enumerate().map(|(j, &var)| (&*b.vars[var].name, j)).collect();
    let pair = |(i, &var): (usize, &relayc_ir::VarId)| Some((i, *places.get(&*a.vars[var].name)?));
    this.iter().enumerate().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Phase, check_text};

    fn same(a: &str, b: &str) -> bool {
        let program = |body: &str| {
            let program =
                check_text("x", &format!("type L {{ N, C(int32) }} def @main(%x: int32, %l: L) {{ {body} }}"), Phase::Infer);
            assert!(!program.has_errors(), "{body}");
            program
        };
        compute_same(&program(a), &program(b))
    }

    #[test]
    fn it_does_not_count_how_values_are_bound() {
        let written = "multiply(add(%x, 1), 2)";
        assert!(same("let %y = add(%x, 1); multiply(%y, 2)", written));
        assert!(same("%0 = add(%x, 1); multiply(%0, 2)", written));
        assert!(same("let %y = add(%x, 1); let %z = %y; multiply(%z, 2)", written));
        assert!(!same("let %y = add(%x, 2); multiply(%y, 2)", written));
    }

    #[test]
    fn a_name_that_means_another_value_counts() {
        let outside = "let %y = add(%x, 1); match (%l) { N => 0, C(%x) => multiply(%y, %x) }";
        assert!(!same(outside, "match (%l) { N => 0, C(%x) => multiply(add(%x, 1), %x) }"));
        assert!(same(outside, "match (%l) { N => 0, C(%z) => multiply(add(%x, 1), %z) }"));
    }

    #[test]
    fn effects_stay_in_order() {
        let first = "let %r = ref(%x); let %y = ref_read(%r); let %u = ref_write(%r, 1); %y";
        assert!(same(first, "let %r = ref(%x); let %a = ref_read(%r); let %b = ref_write(%r, 1); %a"));
        assert!(!same(first, "let %r = ref(%x); let %u = ref_write(%r, 1); ref_read(%r)"));
    }
}
