//! Strategies that a caller asks for in place of the models' choice: at places of a program, or by the shapes in a tuning file.
//!
//! Rules win over the tuning file, and of several rules the last one that is possible. A rule that fits nothing is an error; an
//! entry of the file that does not apply any more is a warning. Absent: which strategies there are (`relayc-codegen`).

use super::tuning::{Tuning, processor};
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::{Sources, Span};
use relayc_codegen::asm::Isa;
use relayc_driver::emit::{bound_name, origin};
use relayc_exec::assemble::Assembled;
use relayc_exec::launch::Wish;
use relayc_exec::plan::{self, Plan, Step};
use relayc_ir::kernel::{Reason, Rejection};
use relayc_ir::{ExprId, ExprKind, Module};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// `PLACE=NAME`: the strategy of all steps at a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    text: String,
    place: Place,
    strategy: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Place {
    Everywhere,
    /// The variable to which the text binds a call.
    Variable(String),
    /// A line, and a column if there is one.
    Line(usize, Option<usize>),
    Operator(String),
}

impl Rule {
    /// Reads `PLACE=NAME`; `None` for other text.
    pub fn parse(text: &str) -> Option<Rule> {
        let (place, strategy) = text.split_once('=')?;
        let (place, strategy) = (place.trim(), strategy.split_whitespace().collect::<Vec<_>>().join(" "));
        let number = |text: &str| text.parse::<usize>().ok().filter(|&n| n > 0);
        let place = match place {
            "*" => Place::Everywhere,
            _ if place.is_empty() || strategy.is_empty() => return None,
            _ if place.starts_with('%') => Place::Variable(place.to_owned()),
            _ if place.starts_with(|c: char| c.is_ascii_digit()) => match place.split_once(':') {
                Some((line, column)) => Place::Line(number(line)?, Some(number(column)?)),
                None => Place::Line(number(place)?, None),
            },
            _ => Place::Operator(place.to_owned()),
        };
        Some(Rule { text: text.trim().to_owned(), place, strategy })
    }

    fn place_text(&self) -> &str {
        self.text.split('=').next().unwrap_or_default().trim()
    }

    fn words(&self) -> String {
        format!("by `--strategy '{}'`", self.text)
    }

    /// Whether it is about a step that computes the calls at these places of the text.
    fn covers(&self, step: &Step, spans: &[Span], sources: &Sources) -> bool {
        match &self.place {
            Place::Everywhere => true,
            Place::Operator(name) => step.ops.contains(&name.as_str()),
            Place::Variable(name) => spans.iter().any(|&span| bound_name(sources, span) == Some(name)),
            Place::Line(line, column) => {
                let at = |span: &Span| sources.line_col(*span).filter(|_| !span.is_none());
                spans.iter().filter_map(at).any(|(own, place)| own == *line && column.is_none_or(|column| column == place))
            }
        }
    }
}

/// The strategies asked for in a compilation. Its clones share their warnings.
#[derive(Clone, Debug, Default)]
pub struct Choices {
    of: Option<Arc<Asked>>,
    /// Whether a rule may fit nothing: the program is compiled part by part.
    lenient: bool,
}

#[derive(Debug)]
struct Asked {
    rules: Vec<Rule>,
    tuning: Option<Tuning>,
    sources: Sources,
    seen: Mutex<Seen>,
}

/// What compilations found.
#[derive(Debug, Default)]
struct Seen {
    /// Entries of the tuning file that do not apply.
    warnings: BTreeSet<String>,
    /// Whether parts of a program were compiled, and the rules that fitted one.
    parts: bool,
    fitted: BTreeSet<usize>,
}

impl Choices {
    /// The rules in the order of the command line, and a tuning file, for a program with this text.
    pub fn new(rules: Vec<Rule>, tuning: Option<Tuning>, sources: &Sources) -> Choices {
        let none = rules.is_empty() && tuning.is_none();
        let asked = || Asked { rules, tuning, sources: sources.clone(), seen: Mutex::default() };
        Choices { of: (!none).then(|| Arc::new(asked())), lenient: false }
    }

    /// The same for a part of the program, in which a rule may fit nothing.
    pub(crate) fn of_part(&self) -> Choices {
        Choices { lenient: true, ..self.clone() }
    }

    /// What was not used by now, once each: entries of the tuning file, and rules of a program that is compiled part by part.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        let Some(asked) = &self.of else { return vec![] };
        let seen = asked.seen();
        let idle = asked.rules.iter().enumerate().filter(|(at, _)| seen.parts && !seen.fitted.contains(at));
        let idle = idle.map(|(_, rule)| format!("`--strategy '{}'` fits no compiled part of the program", rule.text));
        idle.chain(seen.warnings.iter().cloned()).map(|words| Diagnostic::new(codes::W0016, words)).collect()
    }

    /// The strategies asked for at each step of a plan, in the order of their precedence.
    pub(crate) fn wishes(&self, module: &Module, plan: &Plan, isa: Isa, share: bool) -> Vec<Vec<Wish>> {
        let Some(asked) = &self.of else { return vec![] };
        let mut spans: FxHashMap<ExprId, Vec<Span>> = FxHashMap::default();
        let entries = asked.tuning.as_ref().and_then(|tuning| tuning.of(&processor(isa)));
        let of = |step: &Step| {
            let spans = spans.entry(step.origin).or_insert_with(|| spans_of(module, step.origin));
            let rules = asked.rules.iter().rev().filter(|rule| rule.covers(step, spans, &asked.sources));
            let rules = rules.map(|rule| Wish { name: rule.strategy.clone(), why: rule.words() });
            let tuned = entries.and_then(|entries| entries.get(&plan::signature(plan, step, share)));
            rules.chain(tuned.map(|entry| Wish { name: entry.strategy.clone(), why: TUNED.into() })).collect()
        };
        plan.steps.iter().map(of).collect()
    }

    /// Checks that each rule fits a step, and notes entries of the tuning file that do not apply. Errors: E0604 for a place without
    /// steps, E0605 for a strategy that none of them has.
    pub(crate) fn check(&self, module: &Module, all: &Assembled, isa: Isa, share: bool) -> Result<(), Box<Diagnostic>> {
        let Some(asked) = &self.of else { return Ok(()) };
        asked.check_tuning(all, isa, share);
        asked.seen().parts |= self.lenient;
        let steps: Vec<(&Step, &Reason, Vec<Span>)> = all
            .plan
            .steps
            .iter()
            .zip(&all.reasons)
            .map(|(step, reason)| (step, &**reason, spans_of(module, step.origin)))
            .collect();
        for (at, rule) in asked.rules.iter().enumerate() {
            let covered: Vec<(&Step, &Reason)> = steps
                .iter()
                .filter(|(step, _, spans)| rule.covers(step, spans, &asked.sources))
                .map(|&(step, reason, _)| (step, reason))
                .collect();
            match covered.iter().any(|(_, reason)| reason.forced && reason.find(&rule.strategy).is_some()) {
                true => _ = asked.seen().fitted.insert(at),
                false if self.lenient => {}
                false if covered.is_empty() => return Err(Box::new(asked.no_step(rule, module, all))),
                false => return Err(Box::new(asked.no_strategy(rule, module, &covered))),
            }
        }
        Ok(())
    }
}

/// Who asks for the strategies of a tuning file, in words.
const TUNED: &str = "by the tuning file";

/// Most lines of a list in a message.
const LISTED: usize = 8;

impl Asked {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_tuning(&self, all: &Assembled, isa: Isa, share: bool) {
        let Some(tuning) = &self.tuning else { return };
        let warn = |words: String| _ = self.seen().warnings.insert(words);
        let own = processor(isa);
        let Some(entries) = tuning.of(&own) else {
            let others: Vec<String> = tuning.processors().map(|name| format!("`{name}`")).collect();
            let others = if others.is_empty() { "none".to_owned() } else { others.join(" and ") };
            return warn(format!("{} has no entries for `{own}`, only for {others}: the models choose", tuning.name));
        };
        for (step, reason) in all.plan.steps.iter().zip(&all.reasons) {
            let entry = entries.get(&plan::signature(&all.plan, step, share));
            if let Some(entry) = entry.filter(|entry| reason.find(&entry.strategy).is_none()) {
                let (name, line, strategy) = (&tuning.name, entry.line, &entry.strategy);
                warn(format!("{name}:{line}: `{strategy}` does not apply to the step any more: the model chooses"));
            }
        }
    }

    fn no_step(&self, rule: &Rule, module: &Module, all: &Assembled) -> Diagnostic {
        let mut places: Vec<String> = vec![];
        let chosen = all.plan.steps.iter().zip(&all.reasons).filter(|(_, reason)| reason.possible().nth(1).is_some());
        for (step, _) in chosen {
            let place = format!("{}, {}", origin(&self.sources, module, step.origin), plan::ops_text(step));
            if !places.contains(&place) {
                places.push(place);
            }
        }
        let message = format!("no step of the compiled program is at `{}`", rule.place_text());
        let found = Diagnostic::new(codes::E0604, message).help("`--emit plan` shows all steps; `*` means all of them");
        listed(found, "there is a choice at", places)
    }

    fn no_strategy(&self, rule: &Rule, module: &Module, covered: &[(&Step, &Reason)]) -> Diagnostic {
        let asked = &rule.strategy;
        let message = format!("`{asked}` is no strategy of the steps at `{}`", rule.place_text());
        let mut lines: Vec<String> = vec![];
        let mut add = |line: String| {
            if !lines.contains(&line) {
                lines.push(line)
            }
        };
        for (step, reason) in covered {
            let refused = reason.alternatives.iter().find_map(|other| match other.rejection {
                Rejection::No(why) if other.name.starts_with(asked.as_str()) || asked.starts_with(&other.name) => Some(why),
                _ => None,
            });
            let names: Vec<&str> = reason.possible().collect();
            let place = format!("{}, {}", origin(&self.sources, module, step.origin), plan::ops_text(step));
            match (refused, reason.find(asked)) {
                (Some(why), _) => add(format!("{place}: not possible, {why}")),
                (None, Some(name)) => add(format!("{place}: there is no code for `{name}`")),
                (None, None) => {}
            }
            match &names[..] {
                [] => {}
                names => add(format!("{place}: {}", names.join("; "))),
            }
        }
        if lines.is_empty() {
            lines.push("they have no choice".into());
        }
        listed(Diagnostic::new(codes::E0605, message), "", lines)
    }
}

/// Adds lines as notes, as many as one reads.
fn listed(mut diagnostic: Diagnostic, what: &str, lines: Vec<String>) -> Diagnostic {
    let rest = lines.len().saturating_sub(LISTED);
    for line in lines.into_iter().take(LISTED) {
        diagnostic = diagnostic.note(format!("{what} {line}").trim_start().to_owned());
    }
    if rest > 0 { diagnostic.note(format!("and at {rest} more")) } else { diagnostic }
}

/// The places of the calls that a step's group computes.
fn spans_of(module: &Module, origin: ExprId) -> Vec<Span> {
    let mut spans = vec![module.exprs[origin].span];
    if let ExprKind::Call { callee, .. } = module.exprs[origin].kind
        && let ExprKind::Fn(func) = module.exprs[callee].kind
    {
        let calls = module.post_order(&[module.funcs[func].body]).into_iter();
        spans.extend(calls.filter(|&call| module.called_op(call).is_some()).map(|call| module.exprs[call].span));
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_have_a_place_and_a_name() {
        let rule = |text: &str| Rule::parse(text).map(|rule| (rule.place, rule.strategy));
        assert_eq!(rule("%12=winograd"), Some((Place::Variable("%12".into()), "winograd".into())));
        assert_eq!(rule("23:8 = direct  6x2"), Some((Place::Line(23, Some(8)), "direct 6x2".into())));
        assert_eq!(rule("23=nest"), Some((Place::Line(23, None), "nest".into())));
        assert_eq!(rule("*=nest"), Some((Place::Everywhere, "nest".into())));
        assert_eq!(rule("nn.conv2d=direct"), Some((Place::Operator("nn.conv2d".into()), "direct".into())));
        for text in ["", "%1", "=nest", "%1=", "0=nest", "3:x=nest", "3x=nest"] {
            assert_eq!(rule(text), None, "{text}");
        }
    }
}
