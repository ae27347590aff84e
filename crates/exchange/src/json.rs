//! Parses JSON lazily, level by level: unread values are never built.
//!
//! A value is a piece of the text until it is read as a type, so nesting costs nothing. The keys of an object must differ.
//! Brackets, commas and colons are counted before anything is built, so memory stays proportional to the file.

use relayc_base::diag::Diagnostic;
use relayc_base::text::{escape_control, nearest};
use relayc_weights::{errors, repeated};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt::{Display, Formatter};

/// Maximum number of items of all lists and objects together; each takes 16 bytes while its list is read.
const MAX_ITEMS: usize = 1 << 22;

/// Memory of an object's field, relative to a list's item, because of its key.
const FIELD: usize = 4;

/// A piece of a file's text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Json<'a> {
    /// Name of the file, for messages.
    name: &'a str,
    whole: &'a str,
    text: &'a str,
}

/// The items of a list, in order.
#[derive(Debug)]
pub(super) struct List<'a> {
    of: Json<'a>,
    items: Vec<&'a RawValue>,
}

impl<'a> List<'a> {
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Json<'a>> {
        self.items.iter().map(|value| self.of.part(value))
    }
}

/// The fields of an object, in order. Objects have few keys here, so these are not hashed.
#[derive(Debug)]
pub(super) struct Object<'a> {
    of: Json<'a>,
    fields: Vec<Field<'a>>,
}

/// A key, borrowed if it has no escapes, and its value.
type Field<'a> = (Cow<'a, str>, &'a RawValue);

/// The fields in file order.
struct Fields<'a>(Vec<Field<'a>>);

/// A text, borrowed if it has no escapes.
#[derive(serde::Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Fields<'de>, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Fields<'de>;
            fn expecting(&self, out: &mut Formatter<'_>) -> std::fmt::Result {
                out.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some((Key(key), value)) = map.next_entry::<Key, &RawValue>()? {
                    fields.push((key, value));
                }
                Ok(Fields(fields))
            }
        }
        from.deserialize_map(Each)
    }
}

impl<'a> Json<'a> {
    /// The whole of a file. Errors: E0703 for invalid JSON, E0804 for too much of it.
    pub(crate) fn new(name: &'a str, bytes: &'a [u8]) -> Result<Json<'a>, Diagnostic> {
        let text = str::from_utf8(bytes).map_err(|error| errors::malformed(name, error.valid_up_to(), "it is not UTF-8"))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let weight = |byte| match byte {
            b'[' | b'{' | b',' => 1,
            b':' => FIELD.saturating_sub(1),
            _ => 0,
        };
        let n_items = text.bytes().map(weight).fold(0, usize::saturating_add);
        if n_items > MAX_ITEMS {
            return Err(errors::entry_limit(name, 0, format_args!("{n_items} items, the limit is {MAX_ITEMS}")));
        }
        let json = Json { name, whole: text, text };
        json.read::<&RawValue>("JSON").map(|value| json.part(value))
    }

    fn part(&self, value: &'a RawValue) -> Json<'a> {
        Json { text: value.get(), ..*self }
    }

    /// Its offset in the file.
    fn offset(&self) -> usize {
        self.text.as_ptr().addr().saturating_sub(self.whole.as_ptr().addr())
    }

    /// An error about it.
    pub(crate) fn error(&self, words: impl Display) -> Diagnostic {
        errors::malformed(self.name, self.offset(), words)
    }

    /// A limit error (E0804) about it.
    pub(crate) fn limit(&self, words: impl Display) -> Diagnostic {
        errors::entry_limit(self.name, self.offset(), words)
    }

    /// Reads it as a value of a type, called `what` in messages.
    pub(crate) fn read<T: Deserialize<'a>>(&self, what: &str) -> Result<T, Diagnostic> {
        serde_json::from_str(self.text).map_err(|error| {
            // The parser counts lines and columns from 1 within the piece.
            let line = self.text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
            let at = self.offset().saturating_add(line).saturating_add(error.column().saturating_sub(1));
            let words = error.to_string();
            let words = words.split(" at line ").next().unwrap_or_default();
            errors::malformed(self.name, at, format_args!("no {what}: {words}"))
        })
    }

    pub(crate) fn object(&self, what: &str) -> Result<Object<'a>, Diagnostic> {
        let Fields(fields) = self.read(what)?;
        let twice = repeated(fields.iter().map(|(key, _)| &**key)).and_then(|at| fields.get(at));
        match twice {
            Some((key, value)) => Err(self.part(value).error(format_args!("a second key `{}`", escape_control(key)))),
            None => Ok(Object { of: *self, fields }),
        }
    }

    pub(crate) fn list(&self, what: &str) -> Result<List<'a>, Diagnostic> {
        Ok(List { of: *self, items: self.read(what)? })
    }
}

impl<'a> Object<'a> {
    /// The field of a key.
    pub(crate) fn get(&self, key: &str) -> Option<Json<'a>> {
        self.iter().find(|(found, _)| *found == key).map(|(_, value)| value)
    }

    /// The field of a required key.
    pub(crate) fn need(&self, key: &str) -> Result<Json<'a>, Diagnostic> {
        self.get(key).ok_or_else(|| self.of.error(format_args!("an object without `{key}`")))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, Json<'a>)> {
        self.fields.iter().map(|(key, value)| (&**key, self.of.part(value)))
    }

    /// Refuses keys other than these.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), Diagnostic> {
        let Some((key, value)) = self.iter().find(|(key, _)| !known.contains(key)) else { return Ok(()) };
        let error = value.error(format_args!("a key `{}` that means nothing here", escape_control(key)));
        Err(match nearest(key, known.iter().copied()) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use relayc_base::diag::codes;

    fn json(text: &str) -> Result<Json<'_>, Diagnostic> {
        Json::new("x.json", text.as_bytes())
    }

    #[test]
    fn pieces_know_where_they_stand() {
        let text = "{\n  \"a\": [1, 2],\n  \"b\": {\"c\": \"x\"}\n}";
        let object = json(text).and_then(|json| json.object("object")).expect("an object");
        assert_eq!(object.need("a").and_then(|a| a.read::<Vec<u32>>("list")), Ok(vec![1, 2]));
        let b = object.need("b").and_then(|b| b.object("object")).expect("an object");
        assert_eq!(b.need("c").expect("there").offset(), text.find("\"x\"").expect("there"));
        let error = object.need("a").and_then(|a| a.read::<Vec<String>>("list of names")).expect_err("numbers");
        assert!(error.message.contains("byte 10") && error.message.contains("no list of names"), "{}", error.message);
        assert!(object.only(&["a", "b"]).is_ok());
        assert!(object.only(&["a"]).expect_err("b").message.contains("`b`"));
    }

    #[test]
    fn what_is_no_sound_json_is_refused() {
        for text in ["", "{", "[1,]", "{\"a\": 1} x", "\u{1}", "{\"a\": 1, \"a\": 2}"] {
            let read = json(text).and_then(|json| json.object("object"));
            assert_eq!(read.expect_err(text).code, codes::E0703, "{text}");
        }
        assert_eq!(Json::new("x", b"\"\xff\"").expect_err("no UTF-8").code, codes::E0703);
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert_eq!(json(&deep).and_then(|json| json.list("list")).map(|items| items.len()), Ok(1));
        let many = ",".repeat(MAX_ITEMS + 1);
        assert_eq!(json(&many).expect_err("too much").code, codes::E0804);
    }
}
