//! Types and values in words, in pieces where a piece leads somewhere.

use crate::checked::Checked;
use relayc_base::text::shortened;
use relayc_ir::types::{DType, Ty, TyData, checked_bytes, dims_of};

/// A type as text of at most `max` characters.
pub(crate) fn short(checked: &Checked, ty: Ty, max: usize) -> String {
    // A character has up to 4 bytes.
    shortened(&checked.module().types.text_within(ty, 4 * max), max)
}

/// A piece of a type's text; a dimension knows its axis.
pub(crate) struct Piece {
    pub(crate) text: String,
    pub(crate) axis: Option<usize>,
}

/// The text of a type in pieces: those of a tensor are its dimensions and what stands between them.
pub(crate) fn pieces(checked: &Checked, ty: Ty) -> Vec<Piece> {
    let types = &checked.module().types;
    let plain = |text: &str| Piece { text: text.to_owned(), axis: None };
    match types.data(ty) {
        TyData::Tensor { shape, dtype } if !shape.is_empty() => {
            let mut pieces = vec![plain("Tensor[(")];
            for (axis, &dim) in shape.iter().enumerate() {
                if axis > 0 {
                    pieces.push(plain(", "));
                }
                pieces.push(Piece { text: types.symbols.text_of(dim), axis: Some(axis) });
            }
            pieces.push(plain(&format!("), {dtype}]")));
            // What is shown is what the type is called elsewhere.
            let whole = types.text(ty);
            let together: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
            if whole == together { pieces } else { vec![plain(&whole)] }
        }
        _ => vec![plain(&types.text(ty))],
    }
}

/// The bytes of a value of a type, where all its sizes are known.
pub(crate) fn bytes(checked: &Checked, ty: Ty) -> Option<u64> {
    let types = &checked.module().types;
    if !types.is_shallow(ty) {
        return None;
    }
    let (mut total, mut left) = (0u64, vec![ty]);
    while let Some(ty) = left.pop() {
        match types.data(ty) {
            TyData::Tensor { shape, dtype } => total = total.checked_add(tensor_bytes(shape, *dtype)?)?,
            TyData::Tuple(fields) => left.extend(fields.iter()),
            _ => return None,
        }
    }
    Some(total)
}

fn tensor_bytes(shape: &[relayc_ir::types::Dim], dtype: DType) -> Option<u64> {
    checked_bytes(&dims_of(shape)?, dtype)
}

/// A count for people: `1.2 M`.
pub(crate) fn count_text(n: u128) -> String {
    const UNITS: [(u128, &str); 3] = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    match UNITS.iter().find(|(size, _)| n >= 10 * size) {
        Some((size, unit)) => format!("{:.1} {unit}", n as f64 / *size as f64),
        None => n.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_for_people() {
        assert_eq!([count_text(999), count_text(118_013_952)], ["999", "118.0 M"]);
    }
}
