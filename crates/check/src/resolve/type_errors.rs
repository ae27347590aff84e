//! The messages of names of types, and the fix that declares a type parameter.

use relayc_base::Span;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::count;

/// `near` is a type of nearly this name, `letters` are the types of one letter, `generic` is the definition it stands in.
pub(super) fn unknown_type(
    text: &str,
    span: Span,
    near: Option<&str>,
    letters: &[&str],
    generic: Option<&Generic>,
) -> Diagnostic {
    let diagnostic = Diagnostic::new(codes::E0313, format!("there is no type `{text}`")).at(span, "not a type");
    match (near, generic) {
        (Some(near), _) => diagnostic.fix(format!("there is `{near}`"), span, near),
        // A letter is no misspelling of another, but one of few may be meant.
        (None, Some(generic)) if text.len() == 1 => {
            let letters = letters.iter().take(3);
            let near = |d: Diagnostic, name: &&str| d.fix(format!("there is the type parameter `{name}`"), span, *name);
            let (at, edit, written) = generic.with(text);
            letters.fold(diagnostic, near).fix(format!("declare it as a type parameter: `{written}`"), at, edit)
        }
        _ => diagnostic.help("a tensor type is `Tensor[(1, 16), float32]`, a type of one number `float32`"),
    }
}

/// A definition that may have type parameters: the place of its name, and its parameters with their places.
pub(super) struct Generic<'a> {
    pub name: (&'a str, Span),
    pub params: Vec<(&'a str, Span)>,
}

impl Generic<'_> {
    /// With one more parameter: the place to change, what to write there, and how it looks.
    fn with(&self, param: &str) -> (Span, String, String) {
        let params: Vec<&str> = self.params.iter().map(|(name, _)| *name).chain([param]).collect();
        let written = format!("{}[{}]", self.name.0, params.join(", "));
        match self.params.last() {
            Some((_, last)) => (last.end_point(), format!(", {param}"), written),
            None => (self.name.1.end_point(), format!("[{param}]"), written),
        }
    }
}

/// `defined` is where a data type is defined; a type parameter or a scalar has no arguments.
pub(super) fn type_arguments(name: &str, span: Span, expected: usize, found: usize, defined: Option<Span>) -> Diagnostic {
    let message = format!("`{name}` takes {}, found {found}", count(expected, "type argument"));
    let diagnostic = Diagnostic::new(codes::E0312, message).at(span, "written here");
    match defined {
        Some(defined) => diagnostic.also(defined, "defined here"),
        None => diagnostic.note("only data types have arguments"),
    }
}
