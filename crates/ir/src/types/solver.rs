//! Unifies types with holes.
//!
//! Holes form a union-find forest. Binding a hole wakes its watchers, so that a type relation is retried exactly when one of its
//! operands has changed. `?` unifies with every dimension and never replaces a number (language 7.4).

use super::{Dim, HoleId, Ty, TyData, Types};
use rustc_hash::FxHashMap;
use std::cell::Cell;

/// Two types that cannot be made one, innermost pair, with the way there from the outer types.
#[derive(Clone, PartialEq, Debug)]
pub struct Mismatch {
    pub expected: Ty,
    pub found: Ty,
    pub path: Vec<StepKind>,
    /// Whether the hole would have to contain itself.
    pub infinite: bool,
}

/// A step into a type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepKind {
    Field(usize),
    Param(usize),
    Ret,
    Arg(usize),
    Cell,
}

#[derive(Clone, Default, Debug)]
struct Hole {
    /// In a cell: looking a hole up shortens the way for the next time.
    bound: Cell<Option<Ty>>,
    watchers: Vec<u32>,
}

/// The holes of one inference run.
#[derive(Clone, Debug)]
pub struct Solver {
    holes: Vec<Hole>,
    /// How many more parts of types may be visited.
    visits_left: u64,
    /// Types whose holes are all bound, with their resolved types.
    resolved: FxHashMap<Ty, Ty>,
    woken: Vec<u32>,
}

impl Default for Solver {
    fn default() -> Solver {
        Solver { holes: vec![], visits_left: u64::MAX, resolved: FxHashMap::default(), woken: vec![] }
    }
}

impl Solver {
    /// A solver with the holes that are written in annotations.
    pub fn with_written(types: &Types) -> Solver {
        let holes = vec![Hole::default(); types.n_written_holes() as usize];
        Solver { holes, ..Solver::default() }
    }

    /// Limits the work: past this number of visited parts of types, [`Solver::is_exhausted`] holds and unifying leaves types as they are.
    pub fn limit_visits(&mut self, n: u64) {
        self.visits_left = n;
    }

    pub fn is_exhausted(&self) -> bool {
        self.visits_left == 0
    }

    /// Counts a visit of a part of a type.
    pub fn visited(&mut self) {
        self.visits_left = self.visits_left.saturating_sub(1);
    }

    pub fn fresh(&mut self, types: &mut Types) -> Ty {
        let id = HoleId(u32::try_from(self.holes.len()).expect("fewer than 2^32 holes"));
        self.holes.push(Hole::default());
        types.hole(id)
    }

    /// Follows bound holes at the top; the result may still contain bound holes inside.
    pub fn shallow(&self, types: &Types, ty: Ty) -> Ty {
        let bound = |ty: Ty| match types.data(ty) {
            TyData::Hole(id) => Some(&self.holes[id.0 as usize].bound),
            _ => None,
        };
        let mut last = ty;
        while let Some(next) = bound(last).and_then(Cell::get) {
            last = next;
        }
        // Holes bound to each other in a chain would cost its length each time.
        let mut at = ty;
        while at != last
            && let Some(next) = bound(at).and_then(|bound| bound.replace(Some(last)))
        {
            at = next;
        }
        last
    }

    /// Replaces all bound holes in a type.
    pub fn resolve(&mut self, types: &mut Types, ty: Ty) -> Ty {
        if !types.has_hole(ty) {
            return ty;
        }
        let top = self.shallow(types, ty);
        if !types.has_hole(top) || matches!(types.data(top), TyData::Hole(_)) {
            return top;
        }
        // Children before parents, through bound holes. What turns out to have no hole stays so and is remembered, so that a
        // deep type made level by level costs each level once.
        let mut open: FxHashMap<Ty, Ty> = FxHashMap::default();
        let mut stack = vec![(top, false)];
        let mut children = Vec::new();
        while let Some((ty, visited)) = stack.pop() {
            self.visited();
            if self.resolved.contains_key(&ty) || open.contains_key(&ty) {
                continue;
            }
            children.clear();
            types.children(ty, &mut children);
            children.iter_mut().for_each(|child| *child = self.shallow(types, *child));
            if !visited {
                stack.push((ty, true));
                let inner = |child: &Ty| types.has_hole(*child) && !matches!(types.data(*child), TyData::Hole(_));
                stack.extend(children.iter().copied().filter(inner).map(|child| (child, false)));
                continue;
            }
            let done = |child: &Ty| self.resolved.get(child).or(open.get(child)).copied().unwrap_or(*child);
            let new: Vec<Ty> = children.iter().map(done).collect();
            let new = types.with_children(ty, &new);
            if types.has_hole(new) {
                open.insert(ty, new)
            } else {
                self.resolved.insert(ty, new)
            };
        }
        self.resolved.get(&top).or(open.get(&top)).copied().unwrap_or(top)
    }

    /// The unbound holes in a type, each once.
    pub fn open_holes(&mut self, types: &mut Types, ty: Ty) -> Vec<HoleId> {
        if !types.has_hole(ty) {
            return vec![];
        }
        let mut stack = vec![self.resolve(types, ty)];
        let mut seen = rustc_hash::FxHashSet::default();
        let mut holes = Vec::new();
        while let Some(ty) = stack.pop() {
            self.visited();
            if !types.has_hole(ty) || !seen.insert(ty) {
                continue;
            }
            match types.data(ty) {
                TyData::Hole(id) => holes.push(*id),
                _ => types.children(ty, &mut stack),
            }
        }
        holes
    }

    /// Registers `watcher` to be woken when the hole is bound.
    pub fn watch(&mut self, hole: HoleId, watcher: u32) {
        self.holes[hole.0 as usize].watchers.push(watcher);
    }

    /// Binds every unbound hole in the type to the error type, which suppresses further errors.
    pub fn poison(&mut self, types: &mut Types, ty: Ty) {
        for hole in self.open_holes(types, ty) {
            self.bind(hole, Ty::ERROR);
        }
    }

    /// The watchers woken since the last call.
    pub fn take_woken(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.woken)
    }

    fn bind(&mut self, id: HoleId, ty: Ty) {
        let hole = &mut self.holes[id.0 as usize];
        hole.bound.set(Some(ty));
        self.woken.append(&mut hole.watchers);
    }

    /// Unifies two types, or reports where they disagree. Bindings made before a disagreement stay.
    pub fn unify(&mut self, types: &mut Types, expected: Ty, found: Ty) -> Result<(), Mismatch> {
        if expected == found {
            return Ok(());
        }
        // (expected, found, index of the pair it lies in, the step from there)
        let mut pairs: Vec<(Ty, Ty, usize, Option<StepKind>)> = vec![(expected, found, 0, None)];
        let mut seen: FxHashMap<(Ty, Ty), ()> = Default::default();
        let mut next = 0;
        while next < pairs.len() && !self.is_exhausted() {
            self.visited();
            let (a, b, _, _) = pairs[next];
            let (a, b) = (self.shallow(types, a), self.shallow(types, b));
            if a == b || seen.insert((a, b), ()).is_some() {
                next += 1;
                continue;
            }
            let here = next;
            let mismatch = |infinite| Mismatch { expected: a, found: b, path: path(&pairs, here), infinite };
            match (types.data(a), types.data(b)) {
                (TyData::Hole(hole), _) | (_, TyData::Hole(hole)) => {
                    let hole = *hole;
                    let other = if matches!(types.data(a), TyData::Hole(_)) { b } else { a };
                    let other = self.resolve(types, other);
                    if self.occurs(types, hole, other) {
                        return Err(mismatch(true));
                    }
                    if let TyData::Hole(root) = types.data(other) {
                        let moved = std::mem::take(&mut self.holes[hole.0 as usize].watchers);
                        self.holes[root.0 as usize].watchers.extend(moved);
                    }
                    self.bind(hole, other);
                }
                (TyData::Error, _) => self.poison(types, b),
                (_, TyData::Error) => self.poison(types, a),
                (TyData::Tensor { shape: s, dtype: d }, TyData::Tensor { shape: t, dtype: e }) => {
                    let same = d == e && s.len() == t.len() && s.iter().zip(t).all(|(a, b)| a.compatible(*b));
                    if !same {
                        return Err(mismatch(false));
                    }
                    let symbols: Vec<_> = s.iter().zip(t).filter_map(|(a, b)| a.symbol().zip(b.symbol())).collect();
                    symbols.into_iter().for_each(|(a, b)| types.symbols.merge(a, b));
                }
                (TyData::Tuple(s), TyData::Tuple(t)) if s.len() == t.len() => {
                    let inner: Vec<_> =
                        s.iter().zip(t).enumerate().map(|(i, (&a, &b))| (a, b, here, Some(StepKind::Field(i)))).collect();
                    pairs.extend(inner);
                }
                (TyData::Adt { name: m, args: s }, TyData::Adt { name: n, args: t }) if m == n && s.len() == t.len() => {
                    let inner: Vec<_> =
                        s.iter().zip(t).enumerate().map(|(i, (&a, &b))| (a, b, here, Some(StepKind::Arg(i)))).collect();
                    pairs.extend(inner);
                }
                (TyData::Ref(s), TyData::Ref(t)) => {
                    let pair = (*s, *t, here, Some(StepKind::Cell));
                    pairs.push(pair);
                }
                (TyData::Fn { params: s, .. }, TyData::Fn { params: t, .. }) if s.len() == t.len() => {
                    let (a, b) = self.align_type_params(types, a, b);
                    let (mut s, mut t) = (Vec::new(), Vec::new());
                    types.children(a, &mut s);
                    types.children(b, &mut t);
                    let ret = s.len() - 1;
                    let step = |i| if i == ret { StepKind::Ret } else { StepKind::Param(i) };
                    pairs.extend(s.iter().zip(&t).enumerate().map(|(i, (&a, &b))| (a, b, here, Some(step(i)))));
                }
                _ => return Err(mismatch(false)),
            }
            next += 1;
        }
        Ok(())
    }

    /// The common type of two branches: `?` where their dimensions differ, inside tuples and data types too. `None` if they
    /// differ in anything else. Functions and cells have the type of the first.
    pub fn join(&mut self, types: &mut Types, first: Ty, second: Ty) -> Option<Ty> {
        let (first, second) = (self.resolve(types, first), self.resolve(types, second));
        let mut joined: FxHashMap<(Ty, Ty), Ty> = FxHashMap::default();
        let mut stack = vec![((first, second), false)];
        while let Some((pair, visited)) = stack.pop() {
            let (a, b) = pair;
            if joined.contains_key(&pair) {
                continue;
            }
            let ty = match (types.data(a), types.data(b)) {
                _ if a == b => a,
                (TyData::Hole(_), _) => b,
                (TyData::Tensor { shape: s, dtype: d }, TyData::Tensor { shape: t, dtype: e }) => {
                    if d != e || s.len() != t.len() {
                        return None;
                    }
                    let dim = |(&a, &b): (&Dim, &Dim)| if b != Dim::Any && a.compatible(b) { a } else { Dim::Any };
                    let (shape, dtype): (Vec<Dim>, _) = (s.iter().zip(t).map(dim).collect(), *d);
                    types.tensor(&shape, dtype)
                }
                (TyData::Tuple(_), TyData::Tuple(_)) | (TyData::Adt { .. }, TyData::Adt { .. }) => {
                    let (mut s, mut t) = (vec![], vec![]);
                    types.children(a, &mut s);
                    types.children(b, &mut t);
                    let same_name = match (types.data(a), types.data(b)) {
                        (TyData::Adt { name: m, .. }, TyData::Adt { name: n, .. }) => m == n,
                        _ => true,
                    };
                    if s.len() != t.len() || !same_name {
                        return None;
                    }
                    let pairs = s.into_iter().zip(t);
                    if !visited {
                        stack.push((pair, true));
                        stack.extend(pairs.map(|pair| (pair, false)));
                        continue;
                    }
                    let inside: Vec<Ty> = pairs.map(|pair| joined[&pair]).collect();
                    types.with_children(a, &inside)
                }
                _ => {
                    self.unify(types, a, b).ok()?;
                    a
                }
            };
            joined.insert(pair, ty);
        }
        joined.get(&(first, second)).copied()
    }

    /// Two function types with the type parameters of one renamed to those of the other; where one has more, the rest
    /// become holes (language 7.4; `FuncTypeNode` in `src/relay/analysis/type_solver.cc`).
    fn align_type_params(&mut self, types: &mut Types, a: Ty, b: Ty) -> (Ty, Ty) {
        let type_params = |ty: Ty| match types.data(ty) {
            TyData::Fn { type_params, .. } => type_params.clone(),
            _ => Box::default(),
        };
        let (v, w) = (type_params(a), type_params(b));
        if v == w {
            return (a, b);
        }
        let swap = v.len() > w.len();
        let (kept, more, few, many) = if swap { (b, a, w, v) } else { (a, b, v, w) };
        let mut renamed: FxHashMap<Ty, Ty> = many.iter().copied().zip(few.iter().copied()).collect();
        for &param in &many[few.len()..] {
            renamed.insert(param, self.fresh(types));
        }
        let more = self.resolve(types, more);
        let more = types.rewrite(more, |_, ty| renamed.get(&ty).copied());
        if swap { (more, kept) } else { (kept, more) }
    }

    /// Whether `hole` lies inside `ty`, which is not the hole itself.
    fn occurs(&mut self, types: &Types, hole: HoleId, ty: Ty) -> bool {
        let mut stack = vec![ty];
        let mut seen = rustc_hash::FxHashSet::default();
        while let Some(ty) = stack.pop() {
            self.visited();
            if !types.has_hole(ty) || !seen.insert(ty) {
                continue;
            }
            match types.data(ty) {
                TyData::Hole(id) if *id == hole => return true,
                TyData::Hole(id) => stack.extend(self.holes[id.0 as usize].bound.get()),
                _ => types.children(ty, &mut stack),
            }
        }
        false
    }
}

/// The steps from the outermost pair to pair `at`.
fn path(pairs: &[(Ty, Ty, usize, Option<StepKind>)], mut at: usize) -> Vec<StepKind> {
    let mut steps = Vec::new();
    while let (_, _, outer, Some(step)) = pairs[at] {
        steps.push(step);
        at = outer;
    }
    steps.reverse();
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::DType;

    #[test]
    fn holes_learn_and_wake() {
        let mut types = Types::new();
        let mut solver = Solver::default();
        let (a, b) = (solver.fresh(&mut types), solver.fresh(&mut types));
        let f32 = types.tensor_of(&[2, 3], DType::F32);
        let outer = types.tuple(&[a, f32]);
        solver.watch(HoleId(0), 7);
        let other = types.tuple(&[b, b]);
        solver.unify(&mut types, outer, other).expect("they unify");
        assert_eq!(solver.resolve(&mut types, a), f32);
        assert_eq!(solver.take_woken(), vec![7]);
    }

    #[test]
    fn unified_symbols_are_one_node() {
        use crate::types::{SymbolOp, VarRef};
        let mut types = Types::new();
        let var = |types: &mut Types, index| {
            let id = types.symbols.var("n", DType::I32, VarRef::Entry { is_size: true, index });
            types.symbols.dim(id)
        };
        let (n, m) = (var(&mut types, 0), var(&mut types, 1));
        let vector = |types: &mut Types, dim| types.tensor(&[dim], DType::F32);
        let rest = |types: &mut Types| types.symbols.arith(SymbolOp::Sub, n, Dim::known(7));
        let (a, b) = (rest(&mut types), rest(&mut types));
        let (x, y) = (vector(&mut types, a), vector(&mut types, b));
        Solver::default().unify(&mut types, x, y).expect("both are n - 7");
        let id = |dim: Dim| dim.symbol().expect("a symbol").id;
        assert_eq!(types.symbols.find(id(b)), id(a));
        let (n, m, four) = (vector(&mut types, n), vector(&mut types, m), vector(&mut types, Dim::known(4)));
        assert!(Solver::default().unify(&mut types, n, m).is_err());
        assert!(Solver::default().unify(&mut types, n, four).is_ok());
        assert!(Solver::default().unify(&mut types, x, m).is_ok());
    }

    #[test]
    fn a_hole_cannot_hold_itself() {
        let mut types = Types::new();
        let mut solver = Solver::default();
        let a = solver.fresh(&mut types);
        let outer = types.tuple(&[a]);
        assert!(solver.unify(&mut types, a, outer).is_err_and(|m| m.infinite));
    }

    #[test]
    fn branches_join_where_they_differ() {
        let mut types = Types::new();
        let mut solver = Solver::default();
        let (known, wide) = (Dim::known(3), Dim::Known { value: 3, wide: true });
        let vector = |types: &mut Types, dim| types.tensor(&[dim], DType::F32);
        let [three, wide, any, five] = [known, wide, Dim::Any, Dim::known(5)].map(|dim| vector(&mut types, dim));
        for (a, b, both) in [(three, any, any), (any, three, any), (three, five, any), (three, wide, three), (wide, three, wide)]
        {
            assert_eq!(solver.join(&mut types, a, b), Some(both));
            let (s, t, expected) = (types.tuple(&[five, a]), types.tuple(&[five, b]), types.tuple(&[five, both]));
            assert_eq!(solver.join(&mut types, s, t), Some(expected));
        }
        let hole = solver.fresh(&mut types);
        assert_eq!(solver.join(&mut types, hole, three), Some(three));
        let (matrix, pair) = (types.tensor_of(&[3, 3], DType::F32), types.tuple(&[three, three]));
        for other in [matrix, pair] {
            assert_eq!(solver.join(&mut types, three, other), None);
        }
        let cell = |types: &mut Types, of| types.intern(TyData::Ref(of));
        let (three, five) = (cell(&mut types, three), cell(&mut types, five));
        assert_eq!(solver.join(&mut types, three, five), None);
    }

    #[test]
    fn a_mismatch_names_the_way() {
        let mut types = Types::new();
        let mut solver = Solver::default();
        let (x, y) = (types.tensor_of(&[2], DType::F32), types.tensor_of(&[3], DType::F32));
        let (s, t) = (types.tuple(&[x, x]), types.tuple(&[x, y]));
        let mismatch = solver.unify(&mut types, s, t).expect_err("2 is not 3");
        assert_eq!(mismatch.path, [StepKind::Field(1)]);
    }

    #[test]
    fn type_parameters_beyond_the_other_side_are_holes() {
        let mut types = Types::new();
        let mut solver = Solver::default();
        let f32 = types.tensor_of(&[2], DType::F32);
        let a = types.intern(TyData::Param { id: 0, name: "A".into() });
        let generic = types.intern(TyData::Fn { type_params: [a].into(), params: [a].into(), ret: a });
        let (param, ret) = (solver.fresh(&mut types), solver.fresh(&mut types));
        let plain = types.func(&[param], ret);
        solver.unify(&mut types, plain, generic).expect("they unify");
        solver.unify(&mut types, param, f32).expect("the instance is open");
        assert_eq!(solver.resolve(&mut types, ret), f32);
    }
}
