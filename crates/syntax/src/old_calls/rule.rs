//! What a rule of the list is made of.

/// A call as TVM 0.`until` and some before it printed it, and what it is today.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) operator: &'static str,
    /// The last version with this form: 7 for 0.7.
    pub(crate) until: u8,
    /// What distinguishes the form: all of these hold.
    pub(crate) when: &'static [When],
    /// The steps to today's form.
    pub(crate) then: &'static [Then],
    /// An example.
    pub(crate) old: &'static str,
    /// The example today; empty if there is no such form.
    pub(crate) today: &'static str,
}

impl Rule {
    /// The advice, if no form of today says the same.
    pub(crate) fn gone(&self) -> Option<&'static str> {
        match self.then {
            [Then::Gone(advice)] => Some(advice),
            _ => None,
        }
    }

    /// The operator of the result.
    pub(super) fn operator_today(&self) -> &'static str {
        let mut names = self.then.iter().filter_map(|then| if let Then::Name(name) = then { Some(*name) } else { None });
        names.next_back().unwrap_or(self.operator)
    }

    /// Whether the form is recognised by an attribute, or a step is about it.
    pub(super) fn knows(&self, attr: &str) -> bool {
        let distinguishes = |when: &When| matches!(*when, When::Has(name) | When::Is(name, _) if name == attr);
        let changes = |then: &Then| match *then {
            Then::Drop(name) | Then::Rename(name, _) | Then::Value(name, _) | Then::Swap(name, _) | Then::Set(name, _) => {
                name == attr
            }
            Then::Operand(_, name, ..) => name == attr,
            Then::Fields(fields) => fields.iter().any(|(name, _)| *name == attr),
            Then::Name(_) | Then::Insert(..) | Then::Projected(_) | Then::Gone(_) => false,
        };
        self.when.iter().any(distinguishes) || self.then.iter().any(changes)
    }

    /// Whether calls of this form are right today, and mean something else.
    pub(super) fn is_ambiguous(&self) -> bool {
        self.when.iter().any(|when| matches!(when, When::OtherwiseToday))
    }

    /// Whether the result has more attributes, and nothing else is different.
    pub(super) fn only_adds(&self) -> bool {
        self.then.iter().all(|then| matches!(then, Then::Set(..)))
    }

    /// Whether the result is a call of the old form too.
    pub(super) fn is_swap(&self) -> bool {
        self.then.iter().any(|then| matches!(then, Then::Swap(..)))
    }
}

/// A sign of the old form.
#[derive(Debug)]
pub(crate) enum When {
    /// So many operands.
    Operands(usize),
    /// The attribute is given.
    Has(&'static str),
    Lacks(&'static str),
    /// The attribute is given as one of these.
    Is(&'static str, &'static [&'static str]),
    /// The attributes are an entry of this type in the metadata section.
    Meta(&'static str),
    /// The call means something else today, so the text must be known to be as old as the rule.
    OtherwiseToday,
}

/// A step to today's form.
#[derive(Debug)]
pub(crate) enum Then {
    Name(&'static str),
    /// Leaves an attribute out.
    Drop(&'static str),
    /// Renames an attribute.
    Rename(&'static str, &'static str),
    /// Replaces the value of an attribute, here named as today.
    Value(&'static str, &'static [(&'static str, &'static str)]),
    /// As `Value`, with values that stand on both sides.
    Swap(&'static str, &'static [(&'static str, &'static str)]),
    /// Gives an attribute a value, whether it has one or not.
    Set(&'static str, &'static str),
    /// Makes the attribute an operand at this position; the last is its default, empty if it must be given.
    Operand(usize, &'static str, Kind, &'static str),
    /// A new operand at this position; `{0}` stands for the first one.
    Insert(usize, &'static str),
    /// Writes those of the attributes that stand in the metadata section; the others of that entry are left out.
    Fields(&'static [(&'static str, Kind)]),
    /// Takes this field of the result.
    Projected(usize),
    /// No operator does it today; advice.
    Gone(&'static str),
}

/// How the value of an attribute is written as an operand, and how an entry of the metadata section is written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Plain,
    Float,
    Bool,
    /// A list, which is a tuple as an operand.
    Tuple,
}

impl Kind {
    pub(super) fn written(self, value: &str) -> String {
        match self {
            Kind::Plain => value.to_owned(),
            Kind::Float if value.ends_with('f') || value.contains("f1") || value.contains("f6") => value.to_owned(),
            Kind::Float => format!("{value}f"),
            Kind::Bool => match value {
                "0" => "False".to_owned(),
                "1" => "True".to_owned(),
                other => other.to_owned(),
            },
            Kind::Tuple => {
                let inner = value.trim_start_matches('[').trim_end_matches(']');
                let comma = if inner.contains(',') || inner.trim().is_empty() { "" } else { "," };
                format!("({inner}{comma})")
            }
        }
    }
}
