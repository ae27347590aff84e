//! Checks whether a `match` covers every case (language 7.8; `src/relay/analysis/match_exhaustion.cc`).
//!
//! A candidate is a pattern with wildcards for the values not examined yet. A candidate is expanded if a clause must know more of
//! it: a wildcard into every constructor, the fields of a constructor or tuple into their product. The order is TVM's, last in,
//! first out, so missing cases are listed as TVM lists them. The work is limited: there may be as many cases as the product of
//! all types.

use relayc_base::IndexVec;
use relayc_base::index_type;
use relayc_base::limits::MATCH_STEPS;
use relayc_ir::{CtorId, Module, PatId, PatKind};

index_type! {
    /// A candidate.
    pub(crate) struct CandId;
}

/// A set of values.
#[derive(Clone, Debug)]
enum Cand {
    Any,
    Ctor(CtorId, Vec<CandId>),
    Tuple(Vec<CandId>),
}

enum Covers {
    Yes,
    No,
    /// Some of its values.
    Some,
}

/// The cases that no pattern covers, as text; `None` if there are too many to enumerate. The patterns are well typed.
pub(super) fn unmatched(module: &Module, patterns: &[PatId]) -> Option<Vec<String>> {
    let mut cx = Checker { module, cands: IndexVec::new(), n_steps: 0, max_steps: MATCH_STEPS.count() };
    let any = cx.cands.push(Cand::Any);
    let (mut candidates, mut missed) = (vec![any], Vec::new());
    while let Some(candidate) = candidates.pop() {
        let mut clauses = patterns.iter().map(|&pat| (pat, cx.covers(pat, candidate)));
        let Some((pat, covers)) = clauses.find(|(_, covers)| !matches!(covers, Covers::No)) else {
            missed.push(cx.text(candidate));
            continue;
        };
        if matches!(covers, Covers::Some) {
            candidates.extend(cx.expand(pat, candidate)?);
        }
        if cx.n_steps > cx.max_steps {
            return None;
        }
    }
    Some(missed)
}

struct Checker<'a> {
    module: &'a Module,
    cands: IndexVec<CandId, Cand>,
    n_steps: usize,
    /// More pairs of pattern and candidate are not looked at.
    max_steps: usize,
}

impl Checker<'_> {
    /// The fields of a pattern beside those of a candidate of the same make; `None` if they have none.
    fn fields(&self, pat: PatId, cand: CandId) -> Option<(&[PatId], &[CandId])> {
        match (self.module.pats[pat].kind, &self.cands[cand]) {
            (PatKind::Ctor(_, pats), Cand::Ctor(_, cands)) | (PatKind::Tuple(pats), Cand::Tuple(cands)) => {
                Some((self.module.sub_pats(pats), cands))
            }
            _ => None,
        }
    }

    fn covers(&mut self, pat: PatId, cand: CandId) -> Covers {
        let (mut pairs, mut all) = (vec![(pat, cand)], true);
        while let Some((pat, cand)) = pairs.pop() {
            self.n_steps += 1;
            match (self.module.pats[pat].kind, &self.cands[cand]) {
                (PatKind::Ctor(..) | PatKind::Tuple(_), Cand::Any) => all = false,
                (PatKind::Ctor(wanted, _), Cand::Ctor(ctor, _)) if wanted != *ctor => return Covers::No,
                _ => {}
            }
            if let Some((pats, cands)) = self.fields(pat, cand) {
                pairs.extend(pats.iter().copied().zip(cands.iter().copied()));
            }
        }
        if all { Covers::Yes } else { Covers::Some }
    }

    /// The candidate in parts, as fine as the pattern looks.
    fn expand(&mut self, pat: PatId, cand: CandId) -> Option<Vec<CandId>> {
        let mut steps = vec![(pat, cand, false)];
        let mut results: Vec<Vec<CandId>> = Vec::new();
        while let Some((pat, cand, done)) = steps.pop() {
            let Some((pats, cands)) = self.fields(pat, cand) else {
                let parts = self.split(pat, cand);
                results.push(parts);
                continue;
            };
            if done {
                let parts = results.split_off(results.len() - cands.len());
                let parts = self.product(cand, &parts)?;
                results.push(parts);
            } else {
                let inner: Vec<_> = pats.iter().copied().zip(cands.iter().copied()).collect();
                steps.push((pat, cand, true));
                steps.extend(inner.into_iter().rev().map(|(pat, cand)| (pat, cand, false)));
            }
        }
        results.pop()
    }

    /// A wildcard where the pattern wants a constructor: every constructor. Where it wants a tuple: a tuple.
    fn split(&mut self, pat: PatId, cand: CandId) -> Vec<CandId> {
        match self.module.pats[pat].kind {
            PatKind::Error | PatKind::Wildcard | PatKind::Var(_) => vec![cand],
            PatKind::Ctor(ctor, _) => {
                let module = self.module;
                let ctors = &module.adts[module.ctors[ctor].adt].ctors;
                ctors.iter().map(|&ctor| self.cands.push(Cand::Ctor(ctor, vec![cand; module.ctors[ctor].inputs.len()]))).collect()
            }
            PatKind::Tuple(fields) => vec![self.cands.push(Cand::Tuple(vec![cand; fields.len()]))],
        }
    }

    /// The candidate with every choice of parts for its fields, the last field changing fastest.
    fn product(&mut self, cand: CandId, parts: &[Vec<CandId>]) -> Option<Vec<CandId>> {
        let mut choices: Vec<Vec<CandId>> = vec![vec![]];
        for field in parts {
            self.n_steps += choices.len() * field.len() * parts.len();
            if self.n_steps > self.max_steps {
                return None;
            }
            let longer = choices.iter().flat_map(|choice| field.iter().map(|&part| [choice, &[part][..]].concat()));
            choices = longer.collect();
        }
        let make = |fields| match &self.cands[cand] {
            Cand::Ctor(ctor, _) => Cand::Ctor(*ctor, fields),
            Cand::Tuple(_) | Cand::Any => Cand::Tuple(fields),
        };
        let made: Vec<Cand> = choices.into_iter().map(make).collect();
        Some(made.into_iter().map(|cand| self.cands.push(cand)).collect())
    }

    /// `S(Z)`, `(_, Nil)`.
    fn text(&self, cand: CandId) -> String {
        enum Piece {
            Cand(CandId),
            Text(&'static str),
        }
        let mut out = String::new();
        let mut stack = vec![Piece::Cand(cand)];
        while let Some(piece) = stack.pop() {
            let fields = match piece {
                Piece::Text(text) => {
                    out.push_str(text);
                    continue;
                }
                Piece::Cand(cand) => match &self.cands[cand] {
                    Cand::Any => {
                        out.push('_');
                        continue;
                    }
                    Cand::Ctor(ctor, fields) => {
                        out.push_str(&self.module.ctors[*ctor].name);
                        if fields.is_empty() {
                            continue;
                        }
                        fields
                    }
                    Cand::Tuple(fields) => fields,
                },
            };
            out.push('(');
            stack.push(Piece::Text(")"));
            for (i, &field) in fields.iter().enumerate().rev() {
                stack.push(Piece::Cand(field));
                if i > 0 {
                    stack.push(Piece::Text(", "));
                }
            }
        }
        out
    }
}
