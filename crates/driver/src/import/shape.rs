//! `--shape NAME=1,3,h,w`: reads the option, and asks whether a program follows the sizes that a model did not leave open.

use crate::sizes::solve;
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::{Sources, Span};
use relayc_check::infer;
use relayc_exchange::onnx::import::{Imported, Text, WantedDim, WantedShape, Widened};
use relayc_ir::sizes::is_size_name;
use relayc_ir::tensor::size::checked_size;
use relayc_ir::types::{DType, Dim};
use relayc_ops as ops;

/// The name of the option, where messages point into it.
const OPTION: &str = "--shape";

/// Dimensions by the names of inputs; `None` is a dynamic one.
type Numbers = Vec<(String, Vec<Option<i64>>)>;

/// Parses all options; each becomes a source, into which messages point. Errors: E0707.
pub(super) fn parse_all(texts: &[String], sources: &mut Sources) -> Result<Vec<WantedShape>, Diagnostic> {
    let mut shapes: Vec<WantedShape> = vec![];
    for text in texts {
        let (name, dims) = parse(text)?;
        if shapes.iter().any(|known| known.name == name) {
            return Err(bad(text, "another `--shape` names this input"));
        }
        let file = sources.add(OPTION, text.as_str());
        let mut start = name.len() + 1;
        let mut places = vec![];
        for piece in text[start..].split(',') {
            let before = piece.len() - piece.trim_start().len();
            places.push(Span::new(file, start + before, start + before + piece.trim().len()));
            start += piece.len() + 1;
        }
        shapes.push(WantedShape { name, dims, places });
    }
    Ok(shapes)
}

/// As [`parse_all`], for networks of other formats, whose sizes are numbers or open. Two shapes of one input are the network's matter.
pub(super) fn numbers(texts: &[String]) -> Result<Numbers, Diagnostic> {
    let one = |text: &String| {
        let (name, dims) = parse(text)?;
        let number = |dim| match dim {
            WantedDim::Size(size) => Ok(Some(size)),
            WantedDim::Open => Ok(None),
            WantedDim::Name(_) => Err(bad(text, "only sizes of ONNX models get names")),
        };
        Ok((name, dims.into_iter().map(number).collect::<Result<_, _>>()?))
    };
    texts.iter().map(one).collect()
}

/// Parses `NAME=1,3,h,w`. The name may contain `=`.
fn parse(text: &str) -> Result<(String, Vec<WantedDim>), Diagnostic> {
    let parsed = text.rsplit_once('=').and_then(|(name, dims)| {
        let dim = |dim: &str| match dim.trim() {
            "?" => Some(WantedDim::Open),
            dim if dim.starts_with(|c: char| c.is_ascii_alphabetic()) && is_size_name(dim) => {
                Some(WantedDim::Name(dim.to_owned()))
            }
            dim => dim.parse::<i64>().ok().filter(|&dim| dim >= 0).map(WantedDim::Size),
        };
        let dims = dims.trim();
        let dims = if dims.is_empty() { Some(vec![]) } else { dims.split(',').map(dim).collect::<Option<Vec<_>>>() };
        Some((name.to_owned(), dims?)).filter(|(name, _)| !name.is_empty())
    });
    let size = |dim: &WantedDim| if let WantedDim::Size(size) = dim { Some(*size) } else { None };
    let known: Vec<i64> = parsed.iter().flat_map(|(_, dims)| dims.iter().filter_map(size)).collect();
    if parsed.is_some() && checked_size(&known, DType::I8).is_err() {
        return Err(bad(text, "no tensor is that large"));
    }
    parsed.ok_or_else(|| bad(text, "it is not NAME=1,3,224,224"))
}

fn bad(text: &str, why: &str) -> Diagnostic {
    Diagnostic::new(codes::E0707, format!("`--shape {text}`: {why}")).help(
        "write the input's name and its dimensions, each a number, a name for a size, or `?` for one that is open: \
         `--shape data=batch,3,224,224`",
    )
}

/// The errors of a program at other sizes, if the model fixed some that are open now: twice as large, and half as large. One of
/// the two is enough, since a model may have a largest size.
pub(super) fn followed(made: &Imported, listing: &Text) -> Vec<Diagnostic> {
    let twice = errors_at(made, listing.widened(), |from| Some(from.max(1).saturating_mul(2)));
    match twice {
        Some(wrong) if !wrong.is_empty() => {
            let half = errors_at(made, listing.widened(), |from| (from > 1 && from % 2 == 0).then_some(from / 2));
            if half.is_some_and(|half| half.is_empty()) { vec![] } else { wrong }
        }
        _ => vec![],
    }
}

/// The errors of a program at sizes made of those that the model had; `None` if none is made.
fn errors_at(made: &Imported, widened: &[Widened], size: impl Fn(i64) -> Option<i64>) -> Option<Vec<Diagnostic>> {
    let module = &made.module;
    let params = &module.funcs[module.globals[module.find_global("main")?].func].params;
    let mut facts: Vec<(Dim, i64)> = vec![];
    for one in widened.iter().filter(|one| !matches!(one.to, WantedDim::Size(_))) {
        let (ours, _) = made.inputs.iter().find(|(_, theirs)| *theirs == one.input)?;
        let var = params.iter().map(|&var| &module.vars[var]).find(|var| *var.name == **ours)?;
        let dim = *module.types.as_tensor(var.ty?)?.0.get(one.axis)?;
        // A name for two dimensions of different numbers has the first.
        if !facts.iter().any(|(known, _)| known.same(dim)) {
            facts.push((dim, size(one.from)?));
        }
    }
    let values = solve(&module.types.symbols, &facts).ok().filter(|values| !values.is_empty())?;
    let mut module = module.clone();
    module.substitute_sizes(&values).ok()?;
    let found = infer::infer(&mut module, ops::table());
    Some(found.into_iter().filter(Diagnostic::is_error).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_read() {
        let sizes = |dims: &[i64]| dims.iter().map(|&dim| if dim < 0 { WantedDim::Open } else { WantedDim::Size(dim) }).collect();
        assert_eq!(parse("data=1,3, 224,?"), Ok(("data".into(), sizes(&[1, 3, 224, -1]))));
        assert_eq!(parse("x=batch,2"), Ok(("x".into(), vec![WantedDim::Name("batch".into()), WantedDim::Size(2)])));
        assert_eq!(parse("a=b="), Ok(("a=b".into(), vec![])));
        for wrong in ["data", "=1", "x=1,,2", "x=-1", "x=1.5", "x=let", "x=a+b", "x=9223372036854775807,9223372036854775807"] {
            assert_eq!(parse(wrong).expect_err(wrong).code, codes::E0707);
        }
        assert!(numbers(&["x=batch".to_owned()]).is_err());
    }

    #[test]
    fn each_dimension_has_its_place() {
        let mut sources = Sources::new();
        let shapes = parse_all(&["x=n, 3".to_owned()], &mut sources).expect("a shape");
        let places: Vec<&str> = shapes[0].places.iter().map(|&place| sources.slice(place)).collect();
        assert_eq!(places, ["n", "3"]);
        assert!(parse_all(&["x=1".to_owned(), "x=2".to_owned()], &mut sources).is_err());
    }
}
