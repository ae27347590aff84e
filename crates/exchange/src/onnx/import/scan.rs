//! Bounds the memory of decoding: scans the bytes of a model before they are decoded.
//!
//! A message of two bytes becomes a struct of hundreds, so a hostile file could grow a hundredfold. The scan walks the bytes
//! with a stack, field by field, and charges every allocation of the decoder to a budget. Nothing is kept.

use super::super::proto::{Field, Fields, ModelProto};
use super::errors;
use relayc_base::diag::Diagnostic;
use relayc_base::text::thousands;

/// Budget for decoded messages: this many times the file's bytes, plus a fixed number.
const TIMES: u64 = 4;
const MORE: u64 = 64 << 20;

/// Maximum nesting of messages: the limit of the decoder.
const MAX_DEPTH: usize = 100;

/// A message being scanned.
struct Open {
    field: fn(u64) -> Field,
    end: usize,
    /// Number of items of its lists, by field number: no growing field has a greater one.
    items: [usize; 26],
}

impl Open {
    fn new(field: fn(u64) -> Field, end: usize) -> Open {
        Open { field, end, items: [0; 26] }
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
    let mut open = vec![Open::new(ModelProto::field, bytes.len())];
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
        let more = match (tag & 7, (message.field)(number)) {
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
                    Field::One(layout) => {
                        inner = Some((layout.field, inside));
                        at = after;
                        bytes_of(layout.size)
                    }
                    Field::Many(layout) => {
                        inner = Some((layout.field, inside));
                        at = after;
                        message.grow(number, 1, layout.size)
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
        if let Some((field, end)) = inner {
            if open.len() > MAX_DEPTH {
                return Ok(());
            }
            open.push(Open::new(field, end));
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
