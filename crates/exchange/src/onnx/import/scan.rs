//! Bounds the memory of decoding: scans the bytes of a model before they are decoded.
//!
//! A message of two bytes becomes a struct of hundreds, so a hostile file could grow a hundredfold. The scan walks the bytes
//! with a stack, field by field, and charges every allocation of the decoder to a budget. Nothing is kept.

use super::super::proto::{
    AttributeProto, DimensionProto, FunctionProto, GraphProto, NodeProto, OperatorSetIdProto, SparseTensorProto,
    StringStringEntryProto, TensorProto, ValueInfoProto,
};
use super::errors;
use relayc_base::diag::Diagnostic;
use relayc_base::text::thousands;

/// Budget for decoded messages: this many times the file's bytes, plus a fixed number.
const TIMES: u64 = 4;
const MORE: u64 = 64 << 20;

/// Maximum nesting of messages: the limit of the decoder.
const MAX_DEPTH: usize = 100;

/// A kind of message, identified by its fields that are messages or that grow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Model,
    OperatorSet,
    Function,
    Graph,
    Node,
    Attribute,
    Tensor,
    Entry,
    Sparse,
    ValueInfo,
    Type,
    TensorType,
    Shape,
    Dimension,
}

impl Kind {
    /// Bytes of an allocated message, in a list or by itself.
    fn size(self) -> usize {
        match self {
            Kind::OperatorSet => size_of::<OperatorSetIdProto>(),
            Kind::Function => size_of::<FunctionProto>(),
            Kind::Graph => size_of::<GraphProto>(),
            Kind::Node => size_of::<NodeProto>(),
            Kind::Attribute => size_of::<AttributeProto>(),
            Kind::Tensor => size_of::<TensorProto>(),
            Kind::Entry => size_of::<StringStringEntryProto>(),
            Kind::Sparse => size_of::<SparseTensorProto>(),
            Kind::ValueInfo => size_of::<ValueInfoProto>(),
            Kind::Dimension => size_of::<DimensionProto>(),
            // Parts of the structs that they are in.
            Kind::Model | Kind::Type | Kind::TensorType | Kind::Shape => 0,
        }
    }
}

/// How the decoder treats a field.
enum Field {
    /// One message, allocated by itself or inlined in its struct.
    One(Kind),
    /// A list of messages.
    Many(Kind),
    /// A string or bytes.
    Text,
    /// A list of strings or bytes.
    Texts,
    /// A list of fixed-size numbers, with their size in the file and in memory.
    Fixed(usize),
    /// A list of variable-length numbers, with their size in memory.
    Varints(usize),
    /// A field that stays in place, or that is not read.
    Nothing,
}

fn field(kind: Kind, number: u64) -> Field {
    use Field::{Fixed, Many, Nothing, One, Text, Texts, Varints};
    match (kind, number) {
        (Kind::Model, 7) => One(Kind::Graph),
        (Kind::Model, 8) | (Kind::Function, 9) => Many(Kind::OperatorSet),
        (Kind::Model, 25) => Many(Kind::Function),
        (Kind::Model, 2 | 3) | (Kind::OperatorSet, 1) | (Kind::Function, 1 | 10 | 13) | (Kind::Graph, 2) => Text,
        (Kind::Function, 4..=6) | (Kind::Node, 1 | 2) | (Kind::Attribute, 9) | (Kind::Tensor, 6) => Texts,
        (Kind::Function, 7) | (Kind::Graph, 1) => Many(Kind::Node),
        (Kind::Function, 11) | (Kind::Node, 5) => Many(Kind::Attribute),
        (Kind::Graph, 5) => Many(Kind::Tensor),
        (Kind::Graph, 11..=13) => Many(Kind::ValueInfo),
        (Kind::Graph, 15) => Many(Kind::Sparse),
        (Kind::Node, 3 | 4 | 7 | 8) | (Kind::Attribute, 1 | 4 | 21) | (Kind::Tensor, 8) => Text,
        (Kind::Attribute, 5) | (Kind::Sparse, 1 | 2) => One(Kind::Tensor),
        (Kind::Attribute, 6) => One(Kind::Graph),
        (Kind::Attribute, 22) => One(Kind::Sparse),
        (Kind::Attribute, 7) | (Kind::Tensor, 4) => Fixed(4),
        (Kind::Tensor, 10) => Fixed(8),
        (Kind::Tensor, 5) => Varints(4),
        (Kind::Attribute, 8) | (Kind::Tensor, 1 | 7 | 11) | (Kind::Sparse, 3) => Varints(8),
        (Kind::Tensor, 13) => Many(Kind::Entry),
        (Kind::Entry, 1 | 2) | (Kind::ValueInfo, 1) | (Kind::Dimension, 2) => Text,
        (Kind::ValueInfo, 2) => One(Kind::Type),
        (Kind::Type, 1) => One(Kind::TensorType),
        (Kind::TensorType, 2) => One(Kind::Shape),
        (Kind::Shape, 1) => Many(Kind::Dimension),
        _ => Nothing,
    }
}

/// A message being scanned.
struct Open {
    kind: Kind,
    end: usize,
    /// Number of items of its lists, by field number: no growing field has a greater one.
    items: [usize; 26],
}

impl Open {
    fn new(kind: Kind, end: usize) -> Open {
        Open { kind, end, items: [0; 26] }
    }

    /// Growth of a list by `more` items of a size: to the next power of two, from four on.
    fn grow(&mut self, number: u64, more: usize, size: usize) -> u64 {
        let Some(items) = usize::try_from(number).ok().and_then(|number| self.items.get_mut(number)) else { return 0 };
        let capacity = |n: usize| if n == 0 { 0 } else { n.max(4).checked_next_power_of_two().unwrap_or(usize::MAX) };
        let before = capacity(*items);
        *items = items.saturating_add(more);
        bytes_of(capacity(*items).saturating_sub(before).saturating_mul(size))
    }
}

fn bytes_of(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// Scans the bytes. Errors: E0804 if decoding would take too much memory, with the byte.
///
/// Malformed bytes are left to the decoder, which fails at the same place, except in fields that it skips.
pub(crate) fn scan(model: &str, bytes: &[u8]) -> Result<(), Diagnostic> {
    let budget = bytes_of(bytes.len()).saturating_mul(TIMES).saturating_add(MORE);
    let mut taken = 0u64;
    let mut open = vec![Open::new(Kind::Model, bytes.len())];
    let mut at = 0;
    while let Some(message) = open.last_mut() {
        let end = message.end;
        if at >= end {
            open.pop();
            continue;
        }
        let Some((tag, after)) = varint(bytes, at, end) else { return Ok(()) };
        at = after;
        let number = tag >> 3;
        let mut inner = None;
        let more = match (tag & 7, field(message.kind, number)) {
            // One number of a list that is not packed, or no list.
            (0, of) => {
                let Some((_, after)) = varint(bytes, at, end) else { return Ok(()) };
                at = after;
                if let Field::Varints(size) = of { message.grow(number, 1, size) } else { 0 }
            }
            (wire @ (1 | 5), of) => {
                at = at.saturating_add(if wire == 1 { 8 } else { 4 });
                if let Field::Fixed(size) = of { message.grow(number, 1, size) } else { 0 }
            }
            (2, of) => {
                let Some((length, after)) = varint(bytes, at, end) else { return Ok(()) };
                let room = end.saturating_sub(after);
                let Some(length) = usize::try_from(length).ok().filter(|&length| length <= room) else { return Ok(()) };
                let inside = after.saturating_add(length);
                let text = bytes_of(length.max(8));
                at = inside;
                match of {
                    Field::One(kind) => {
                        inner = Some((kind, inside));
                        at = after;
                        bytes_of(kind.size())
                    }
                    Field::Many(kind) => {
                        inner = Some((kind, inside));
                        at = after;
                        message.grow(number, 1, kind.size())
                    }
                    Field::Text => text,
                    Field::Texts => message.grow(number, 1, size_of::<String>()).saturating_add(text),
                    Field::Fixed(size) => message.grow(number, length.checked_div(size).unwrap_or(0), size),
                    Field::Varints(size) => {
                        let last = |byte: &&u8| **byte & 0x80 == 0;
                        let n = bytes.get(after..inside).unwrap_or_default().iter().filter(last).count();
                        message.grow(number, n, size)
                    }
                    Field::Nothing => 0,
                }
            }
            // Groups, which no message of ONNX has, and which the decoder would step over.
            _ => {
                return Err(errors::structure(
                    model,
                    format_args!("not a model of ONNX: a group of fields before byte {at}, which its messages have none of"),
                ));
            }
        };
        taken = taken.saturating_add(more);
        if taken > budget {
            let words = format!("more messages than fit into {} bytes of memory", thousands(budget));
            return Err(errors::too_many(model, at, words));
        }
        if let Some((kind, end)) = inner {
            if open.len() > MAX_DEPTH {
                return Ok(());
            }
            open.push(Open::new(kind, end));
        }
    }
    Ok(())
}

/// A variable-length number of seven bits a byte, and its end.
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
    use relayc_base::diag::codes;

    /// A message with one bytes field.
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
        let refused = scan("m", &nodes(1_000_000)).expect_err("176 MB of messages");
        assert_eq!(refused.code, codes::E0804);
    }

    /// The first item of a list allocates room for four.
    #[test]
    fn a_flood_of_lists_of_one_is_refused() {
        let node = field_of(1, &field_of(5, &[]));
        let refused = scan("m", &field_of(7, &node.repeat(100_000))).expect_err("100 MB of messages");
        assert_eq!(refused.code, codes::E0804);
    }

    #[test]
    fn numbers_cost_what_they_take() {
        let doubles = |n: usize| field_of(7, &field_of(5, &field_of(10, &vec![0; n * 8])));
        assert_eq!(scan("m", &doubles(2_300_000)), Ok(()));
        // A byte is a number of eight.
        let ints = |n: usize| field_of(7, &field_of(5, &field_of(7, &vec![0; n])));
        assert_eq!(scan("m", &ints(8_000_000)), Ok(()));
        assert!(scan("m", &ints(17_000_000)).is_err());
        // As many, one by one.
        let apart = |n: usize| field_of(7, &field_of(5, &[0x38, 0].repeat(n)));
        assert_eq!(scan("m", &apart(8_000_000)), Ok(()));
        assert!(scan("m", &apart(17_000_000)).is_err());
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
