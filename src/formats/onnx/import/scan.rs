//! A look at the bytes of a model before they are decoded: how much memory the messages will take.
//!
//! A message of two bytes becomes a struct of hundreds, so a hostile file could grow a hundredfold. Here the bytes are walked
//! with a stack, field by field, and what decoding would allocate is counted against a budget. Nothing is kept.

use super::errors;
use crate::base::text::thousands;
use crate::diag::Diagnostic;

/// What the messages of a file may take: so many times its bytes, and so many more.
const TIMES: u64 = 4;
const MORE: u64 = 64 << 20;

/// What the largest of our messages takes, an attribute: a bound for all.
const MESSAGE: u64 = 448;

/// Messages nest no deeper: the limit of the decoder.
const MAX_DEPTH: usize = 100;

/// A kind of message, by the fields in it that are messages or grow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Model,
    Function,
    Graph,
    Node,
    Attribute,
    Tensor,
    Sparse,
    ValueInfo,
    Type,
    TensorType,
    Shape,
    /// Small ones, which are not looked into.
    Leaf,
}

/// What a field with bytes is.
enum Field {
    Message(Kind),
    /// One string or list of bytes, which is allocated for itself.
    Text,
    /// Numbers that take so many bytes each, packed.
    Numbers(u64),
    /// Bytes that stay where they are, or are not read.
    Nothing,
}

fn field(kind: Kind, number: u64) -> Field {
    use Field::{Message, Nothing, Numbers, Text};
    match (kind, number) {
        (Kind::Model, 7) => Message(Kind::Graph),
        (Kind::Model, 25) => Message(Kind::Function),
        (Kind::Model, 8) | (Kind::Function, 9) => Message(Kind::Leaf),
        (Kind::Function, 7) | (Kind::Graph, 1) => Message(Kind::Node),
        (Kind::Function, 11) | (Kind::Node, 5) => Message(Kind::Attribute),
        (Kind::Function | Kind::Node | Kind::Model, _) => Text,
        (Kind::Graph, 5) | (Kind::Attribute, 5 | 10) | (Kind::Sparse, 1 | 2) => Message(Kind::Tensor),
        (Kind::Graph, 11..=13) => Message(Kind::ValueInfo),
        (Kind::Graph, 15) | (Kind::Attribute, 22 | 23) => Message(Kind::Sparse),
        (Kind::Attribute, 6 | 11) => Message(Kind::Graph),
        (Kind::Attribute, 7) | (Kind::Tensor, 4) => Numbers(4),
        (Kind::Attribute, 8) | (Kind::Tensor, 1 | 5 | 7 | 10 | 11) | (Kind::Sparse, 3) => Numbers(8),
        (Kind::Tensor, 9) => Nothing,
        (Kind::Tensor, 3 | 13) => Message(Kind::Leaf),
        (Kind::ValueInfo, 2) => Message(Kind::Type),
        (Kind::Type, 1) => Message(Kind::TensorType),
        (Kind::TensorType, 2) => Message(Kind::Shape),
        (Kind::Shape, 1) | (Kind::Type, _) => Message(Kind::Leaf),
        _ => Text,
    }
}

/// Walks over the bytes. Errors: E0804 where decoding would take too much memory, with the byte; what is malformed is left to
/// the decoder, which fails at the same place, but for what it would step over.
pub fn scan(model: &str, bytes: &[u8]) -> Result<(), Diagnostic> {
    let n = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let budget = n.saturating_mul(TIMES).saturating_add(MORE);
    let mut taken = 0u64;
    let mut ends = vec![(Kind::Model, bytes.len())];
    let mut at = 0;
    while let Some(&(kind, end)) = ends.last() {
        if at >= end {
            ends.pop();
            continue;
        }
        let Some((tag, after)) = varint(bytes, at, end) else { return Ok(()) };
        at = after;
        match tag & 7 {
            0 => match varint(bytes, at, end) {
                Some((_, after)) => {
                    at = after;
                    // One number of a list that is not packed.
                    taken = taken.saturating_add(16);
                }
                None => return Ok(()),
            },
            1 => at = at.saturating_add(8),
            5 => {
                at = at.saturating_add(4);
                taken = taken.saturating_add(8);
            }
            2 => {
                let Some((length, after)) = varint(bytes, at, end) else { return Ok(()) };
                let room = u64::try_from(end.saturating_sub(after)).unwrap_or(0);
                if length > room {
                    return Ok(());
                }
                let inside = after.saturating_add(usize::try_from(length).unwrap_or(usize::MAX));
                at = inside;
                match field(kind, tag >> 3) {
                    Field::Message(Kind::Leaf) => taken = taken.saturating_add(length).saturating_add(MESSAGE),
                    Field::Message(inner) => {
                        taken = taken.saturating_add(MESSAGE);
                        if ends.len() > MAX_DEPTH {
                            return Ok(());
                        }
                        ends.push((inner, inside));
                        at = after;
                    }
                    Field::Text => taken = taken.saturating_add(length).saturating_add(64),
                    Field::Numbers(size) => taken = taken.saturating_add(length.saturating_mul(size)),
                    Field::Nothing => {}
                }
            }
            // Groups, which no message of ONNX has, and which the decoder would step over.
            _ => {
                return Err(errors::structure(
                    model,
                    format_args!("not a model of ONNX: a group of fields before byte {at}, which its messages have none of"),
                ));
            }
        }
        if taken > budget {
            let words = format!("more messages than fit into {} bytes of memory", thousands(budget));
            return Err(errors::too_many(model, at, words));
        }
    }
    Ok(())
}

/// A number of seven bits a byte, and where it ends.
fn varint(bytes: &[u8], start: usize, end: usize) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (i, &byte) in bytes.get(start..end)?.iter().take(10).enumerate() {
        let shift = u32::try_from(i).ok()?.checked_mul(7)?;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some((value, start.checked_add(i)?.checked_add(1)?));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::codes;

    /// A message of one field with bytes.
    fn field_of(number: u8, inside: &[u8]) -> Vec<u8> {
        let mut out = vec![number << 3 | 2];
        let mut n = inside.len();
        while n >= 128 {
            out.push((n & 0x7f) as u8 | 0x80);
            n >>= 7;
        }
        out.push(n as u8);
        out.extend_from_slice(inside);
        out
    }

    #[test]
    fn a_flood_of_empty_messages_is_refused() {
        let nodes = |n: usize| field_of(7, &field_of(1, &[]).repeat(n));
        assert_eq!(scan("m", &nodes(1000)), Ok(()));
        let refused = scan("m", &nodes(1_000_000)).expect_err("448 MB of messages");
        assert_eq!(refused.code, codes::E0804);
    }

    #[test]
    fn bytes_of_tensors_cost_nothing() {
        let tensor = field_of(5, &field_of(9, &vec![0; 1 << 20]));
        assert_eq!(scan("m", &field_of(7, &tensor.repeat(64))), Ok(()));
    }

    #[test]
    fn what_is_malformed_is_left_to_the_decoder() {
        for bytes in [&[0x3a, 0xff][..], &[0x3a, 0x05, 0x00], &[0xff; 12], &[0x39, 0], &[0x3a, 2, 0x0a, 0x7f]] {
            assert_eq!(scan("m", bytes), Ok(()));
        }
        assert!(scan("m", &[0x3b]).is_err());
        // Deeper than the decoder goes.
        let deep = (0..200).fold(vec![], |inside: Vec<u8>, _| field_of(1, &field_of(5, &field_of(6, &inside))));
        assert_eq!(scan("m", &field_of(7, &deep)), Ok(()));
    }
}
