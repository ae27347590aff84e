//! Prints types as TVM does (language 5.9): `Tensor[(2, 3), float32]`, `(T,)`, `fn (T) -> R`, `List[int32]`.
//!
//! The printer uses an explicit stack. A printed type longer than its limit ends in `…`, so that a type of exponential size
//! cannot fill the memory.

use super::{Dim, Symbol, Ty, TyData, Types};

/// A type in a message or a comment is cut after this many bytes (reliability 2).
pub(crate) const MAX_SHOWN: usize = 64 * 1024;

/// Names of holes and symbolic dimensions, which each printer chooses.
pub(crate) trait TypeNames {
    fn hole(&mut self, id: super::HoleId) -> String;
    fn symbol(&mut self, symbol: Symbol) -> String;
}

/// For messages: a hole is `_`.
struct ForMessages<'a>(&'a Types);

impl TypeNames for ForMessages<'_> {
    fn hole(&mut self, _: super::HoleId) -> String {
        "_".into()
    }

    fn symbol(&mut self, symbol: Symbol) -> String {
        self.0.symbols.text(symbol)
    }
}

enum Piece {
    Ty(Ty),
    Text(&'static str),
}

impl Types {
    /// The type for a message.
    pub fn text(&self, ty: Ty) -> String {
        self.text_within(ty, MAX_SHOWN)
    }

    /// As [`Types::text`], cut after `max` bytes.
    pub fn text_within(&self, ty: Ty, max: usize) -> String {
        let mut out = String::new();
        self.print(ty, &mut ForMessages(self), max, &mut out);
        out
    }

    /// Appends the type as TVM prints it, cut after `max` bytes.
    pub(crate) fn print(&self, ty: Ty, names: &mut dyn TypeNames, max: usize, out: &mut String) {
        let start = out.len();
        let mut stack = vec![Piece::Ty(ty)];
        while let Some(piece) = stack.pop() {
            if out.len() - start > max {
                out.push('…');
                return;
            }
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Ty(ty) => self.print_one(ty, names, out, &mut stack),
            }
        }
    }

    /// Writes the text before the inner types, and pushes the rest to the stack.
    fn print_one(&self, ty: Ty, names: &mut dyn TypeNames, out: &mut String, stack: &mut Vec<Piece>) {
        let list = |types: &[Ty], stack: &mut Vec<Piece>| {
            for (i, &ty) in types.iter().enumerate().rev() {
                stack.push(Piece::Ty(ty));
                if i > 0 {
                    stack.push(Piece::Text(", "));
                }
            }
        };
        match self.data(ty) {
            TyData::Error => out.push_str("<error>"),
            TyData::Tensor { shape, dtype } if shape.is_empty() => out.push_str(&dtype.to_string()),
            TyData::Tensor { shape, dtype } => {
                out.push_str("Tensor[(");
                for (i, dim) in shape.iter().enumerate() {
                    if i > 0 {
                        out.push_str(", ");
                    }
                    match dim {
                        Dim::Symbol(symbol) => out.push_str(&names.symbol(*symbol)),
                        dim => out.push_str(&dim.to_string()),
                    }
                }
                out.push_str("), ");
                out.push_str(&dtype.to_string());
                out.push(']');
            }
            TyData::Tuple(fields) => {
                out.push('(');
                stack.push(Piece::Text(if fields.len() == 1 { ",)" } else { ")" }));
                list(fields, stack);
            }
            TyData::Fn { type_params, params, ret } => {
                out.push_str("fn ");
                stack.extend([Piece::Ty(*ret), Piece::Text(") -> ")]);
                list(params, stack);
                stack.push(Piece::Text("("));
                if !type_params.is_empty() {
                    stack.push(Piece::Text("]"));
                    list(type_params, stack);
                    stack.push(Piece::Text("["));
                }
            }
            TyData::Ref(of) => {
                out.push_str("ref(");
                stack.extend([Piece::Text(")"), Piece::Ty(*of)]);
            }
            TyData::Param { name, .. } => out.push_str(name),
            TyData::Adt { name, args } => {
                out.push_str(name);
                out.push('[');
                stack.push(Piece::Text("]"));
                list(args, stack);
            }
            TyData::Hole(id) => out.push_str(&names.hole(*id)),
        }
    }
}
