//! The layouts of the operands and results of a call, given those of what computes the operands: TVM's `FInferCorrectLayout`.
//!
//! A layout is its letters, `NHWC`: layouts with blocks are absent here. A call is asked twice: with the layouts in which the program has
//! its operands, and again with those in which they are at hand now. The second answer may change the attributes, such as an axis, so
//! that the call works there; or it says another layout for an operand, which the caller transforms.

mod of_conv;
mod of_shape;

pub use of_conv::desired;

use super::{Fuse, OpDef};
use relayc_ir::AttrValue;

/// A question about a call.
pub struct Asked<'a> {
    pub def: &'static OpDef,
    pub attrs: &'a [AttrValue],
    /// The layouts in the program, one for each tensor among the operands; `None` where nothing is known.
    pub old: &'a [Option<String>],
    /// The layouts at hand, for the second question.
    pub new: Option<&'a [String]>,
    /// The shapes in the program, one for each tensor among the operands; `None` where a dimension is unknown.
    pub shapes: &'a [Option<Vec<i64>>],
    /// The ranks in the program.
    pub ranks: &'a [usize],
}

/// The answer.
pub struct Layouts {
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
    pub attrs: Vec<AttrValue>,
}

/// The layouts of a call; `None` if nothing is known of the operator, or of its operands.
pub fn layouts_of(asked: &Asked) -> Option<Layouts> {
    let (def, name) = (asked.def, asked.def.name);
    let is_binary = matches!(def.args, [first, second] if first.name == "lhs" && second.name == "rhs");
    if let Some(rule) = of_conv::RULES.iter().chain(of_shape::RULES).find(|(known, _)| *known == name) {
        return (rule.1)(asked);
    }
    match def.fuse {
        Some(Fuse::ElemWise) if def.args.len() == 1 => elementwise(asked),
        Some(Fuse::ElemWise | Fuse::Broadcast) if is_binary => binary(asked),
        Some(Fuse::CommReduce) if asked.position("axis").is_some() => of_shape::reduce(asked),
        _ => None,
    }
}

type Rule = fn(&Asked) -> Option<Layouts>;

impl Asked<'_> {
    fn position(&self, name: &str) -> Option<usize> {
        self.def.attrs?.position(name)
    }

    fn attr(&self, name: &str) -> Option<&AttrValue> {
        self.attrs.get(self.position(name)?)
    }

    fn text(&self, name: &str) -> Option<String> {
        match self.attr(name)? {
            AttrValue::Str(text) => Some(text.to_string()),
            _ => None,
        }
    }

    fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.attr(name)?.as_list()?.iter().map(AttrValue::as_int).collect()
    }

    /// An axis attribute, counted from the front.
    fn axis(&self, name: &str) -> Option<usize> {
        let axis = self.attr(name)?.as_int()?;
        usize::try_from(if axis < 0 { axis + *self.ranks.first()? as i64 } else { axis }).ok()
    }

    /// The layout of the first operand at hand, or in the program.
    fn first(&self) -> Option<String> {
        self.new.and_then(|new| new.first().cloned()).or_else(|| self.old.first().cloned().flatten())
    }

    /// Where an axis of the first operand is at hand.
    fn moved(&self, axis: usize) -> Option<i64> {
        let letter = self.old.first()?.as_ref()?.chars().nth(axis)?;
        self.new?.first()?.find(letter).map(|at| at as i64)
    }

    /// The attributes with some changed.
    fn with(&self, changes: &[(&str, AttrValue)]) -> Option<Vec<AttrValue>> {
        let mut attrs = self.attrs.to_vec();
        for (name, value) in changes {
            attrs[self.position(name)?] = value.clone();
        }
        Some(attrs)
    }

    /// The attributes, with `axis` where it is at hand.
    fn with_axis(&self) -> Option<Vec<AttrValue>> {
        if self.new.is_none() {
            return Some(self.attrs.to_vec());
        }
        let axis = self.moved(self.axis("axis")?)?;
        self.with(&[("axis", AttrValue::int(axis))])
    }

    fn answer(&self, inputs: Vec<String>, outputs: Vec<String>) -> Option<Layouts> {
        Some(Layouts { inputs, outputs, attrs: self.attrs.to_vec() })
    }
}

fn elementwise(asked: &Asked) -> Option<Layouts> {
    let known = asked.old.iter().flatten().next().cloned();
    let layout = asked.new.and_then(|new| new.first().cloned()).or(known)?;
    asked.answer(vec![layout.clone(); asked.old.len()], vec![layout])
}

/// Operands that broadcast: the smaller follows the larger.
fn binary(asked: &Asked) -> Option<Layouts> {
    let [left, right] = asked.ranks.get(..2)? else { return None };
    let old = match (asked.old.first()?, asked.old.get(1)?) {
        (None, None) => return None,
        (Some(a), Some(b)) => [a.clone(), b.clone()],
        (Some(a), None) if left >= right => [a.clone(), a.get(a.len().checked_sub(*right)?..)?.to_owned()],
        (None, Some(b)) if right >= left => [b.get(b.len().checked_sub(*left)?..)?.to_owned(), b.clone()],
        _ => return None,
    };
    let old_large = usize::from(left < right);
    let Some(new) = asked.new else { return asked.answer(old.to_vec(), vec![old[old_large].clone()]) };
    let large = usize::from(new.first()?.len() < new.get(1)?.len());
    let small = 1 - large;
    let mut now = [new[0].clone(), new[1].clone()];
    now[small] = like(&old[small], &old[large], &new[large])?;
    asked.answer(now.to_vec(), vec![new[old_large].clone()])
}

/// The layout that is to `old` as `new_like` is to `old_like`; axes that `old` lacks stay in front.
fn like(old: &str, old_like: &str, new_like: &str) -> Option<String> {
    if old.is_empty() {
        return Some(String::new());
    }
    let mut letters: Vec<(char, char)> = old_like.chars().rev().zip(old.chars().rev()).collect();
    for letter in old_like.chars().rev().skip(old.len()) {
        let is_used = |letter: char, letters: &[(char, char)]| letters.iter().any(|(_, used)| *used == letter);
        let own = if is_used(letter, &letters) { ('A'..='Z').find(|&other| !is_used(other, &letters))? } else { letter };
        letters.push((letter, own));
    }
    new_like.chars().map(|letter| letters.iter().find(|(from, _)| *from == letter).map(|(_, to)| *to)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;

    #[test]
    fn rules_are_of_operators() {
        let names = of_conv::RULES.iter().chain(of_shape::RULES).map(|(name, _)| *name);
        let unknown = names.filter(|name| table().defs().iter().all(|def| def.name != *name));
        assert_eq!(unknown.collect::<Vec<_>>(), Vec::<&str>::new());
    }

    #[test]
    fn a_bias_follows_its_data() {
        assert_eq!(like("C", "NHWC", "NCHW").as_deref(), Some("NCHW"));
        assert_eq!(like("", "NHWC", "NCHW").as_deref(), Some(""));
        assert_eq!(like("CHW", "NCHW", "NHWC").as_deref(), Some("NHWC"));
    }
}
