//! Prints values of data types in the language's syntax: `Cons([1.0, 2.0], Nil)`, tuples in parentheses. The text is for reading
//! only, since tensors are shown by their first and last elements.

use relayc_interp::Value;
use relayc_ir::Module;

/// The maximum length of the text in bytes: a list may fill the memory.
const MAX_BYTES: usize = 64 << 10;

enum Piece<'a> {
    Value(&'a Value),
    Text(&'static str),
}

/// A value as text, if it contains a value of a data type and, within the printed part, neither a function nor a reference.
pub(crate) fn of_data_type(module: &Module, value: &Value) -> Option<String> {
    let (mut out, mut is_found) = (String::new(), false);
    let mut stack = vec![Piece::Value(value)];
    while let Some(piece) = stack.pop() {
        if out.len() > MAX_BYTES {
            out.push('…');
            break;
        }
        let (fields, last) = match piece {
            Piece::Text(text) => {
                out.push_str(text);
                continue;
            }
            Piece::Value(Value::Tensor(tensor)) => {
                // A row a line is for a tensor alone.
                out.push_str(&tensor.preview().replace('\n', ""));
                continue;
            }
            Piece::Value(Value::Closure(_) | Value::Cell(_)) => return None,
            Piece::Value(Value::Tuple(fields)) => (&**fields, if fields.len() == 1 { ",)" } else { ")" }),
            Piece::Value(Value::Adt(ctor, fields)) => {
                is_found = true;
                out.push_str(&module.ctors[*ctor].name);
                if fields.is_empty() {
                    continue;
                }
                (&**fields, ")")
            }
        };
        out.push('(');
        stack.push(Piece::Text(last));
        for (at, field) in fields.iter().enumerate().rev() {
            stack.push(Piece::Value(field));
            if at > 0 {
                stack.push(Piece::Text(", "));
            }
        }
    }
    is_found.then_some(out)
}
