//! Types and values in words, in pieces where a piece leads somewhere.

use crate::checked::Checked;
use relayc_ir::ExprId;
use relayc_ir::types::{DType, Ty, TyData, checked_bytes, dims_of};

/// A type as text, cut after `max` characters.
pub(crate) fn short(checked: &Checked, ty: Ty, max: usize) -> String {
    let text = checked.module().types.text(ty);
    cut(&text, max)
}

/// At most `max` characters of a text, `…` as the last where more were there.
pub(crate) fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some(_) => text.chars().take(max.saturating_sub(1)).chain(['…']).collect(),
    }
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
            let close = if shape.len() == 1 { ",), " } else { "), " };
            pieces.push(plain(&format!("{close}{dtype}]")));
            // Dimensions have texts of their own here: what is shown is what the type is called elsewhere.
            let whole = types.text(ty);
            let together: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
            if whole == together {
                return pieces;
            }
            let bare = together.replacen(",), ", "), ", 1);
            if whole == bare {
                if let Some(last) = pieces.last_mut() {
                    last.text = format!("), {dtype}]");
                }
                return pieces;
            }
            vec![plain(&whole)]
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

/// A number of bytes for people.
pub(crate) fn bytes_text(n: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let (mut size, mut unit) = (n as f64, None);
    for name in UNITS {
        if size < 1024.0 {
            break;
        }
        (size, unit) = (size / 1024.0, Some(name));
    }
    match unit {
        None if n == 1 => "1 byte".to_owned(),
        None => format!("{n} bytes"),
        Some(unit) => format!("{size:.1} {unit}"),
    }
}

/// A count for people: `1.2 M`.
pub(crate) fn count_text(n: u128) -> String {
    const UNITS: [(u128, &str); 3] = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    match UNITS.iter().find(|(size, _)| n >= 10 * size) {
        Some((size, unit)) => format!("{:.1} {unit}", n as f64 / *size as f64),
        None => n.to_string(),
    }
}

/// The multiply-adds of a call of an operator, where its sizes are known and measure its cost.
pub(crate) fn macs(checked: &Checked, call: ExprId) -> Option<u128> {
    let module = checked.module();
    let relayc_ir::ExprKind::Call { args, attrs, .. } = module.exprs[call].kind else { return None };
    let macs = relayc_ops::table().def(module.called_op(call)?).macs?;
    let shape = |expr: ExprId| -> Option<Vec<i64>> {
        match module.types.data(module.expr_tys.get(expr).copied().flatten()?) {
            TyData::Tensor { shape, .. } => dims_of(shape),
            TyData::Tuple(_) => Some(vec![]),
            _ => None,
        }
    };
    let shapes: Option<Vec<Vec<i64>>> = module.items(args).iter().map(|arg| shape(arg.expr)).collect();
    let out = shape(call)?;
    let attrs = attrs.map_or(&[][..], |attrs| &module.attrs[attrs].values);
    Some(macs(&relayc_ops::Shapes { attrs, args: &shapes?, out: &out }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_for_people() {
        assert_eq!([bytes_text(1), bytes_text(1000), bytes_text(2048)], ["1 byte", "1000 bytes", "2.0 KiB"]);
        assert_eq!([count_text(999), count_text(118_013_952)], ["999", "118.0 M"]);
        assert_eq!([cut("abc", 3), cut("abcd", 3)], ["abc", "ab…"]);
    }
}
