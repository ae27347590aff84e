//! Messages as texts of JSON-RPC.
//!
//! Promises that a request is answered with the id that it came with: any number, a string or null. A [`RequestId`] holds strings and
//! 32-bit integers only; from [`read`] to [`write()`], the id of a request is therefore the JSON text of what the client sent.

use lsp_server::{ErrorCode, Message, RequestId, Response};
use lsp_types::notification::{Cancel, Notification as _};
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// The message in a text, or the answer to a text that is none.
pub(crate) fn read(text: &[u8]) -> Result<Message, Message> {
    let wrong = |code, why: String| refused(&Value::Null, code, why);
    let value = serde_json::from_slice(text).or_else(|error| serde_json::from_slice(&without_halves(text)).map_err(|_| error));
    let mut value: Value = value.map_err(|error| wrong(ErrorCode::ParseError, format!("a message that is no JSON: {error}")))?;
    let Some(message) = value.as_object_mut() else {
        return Err(wrong(ErrorCode::InvalidRequest, format!("expected one object, found {}", kind(&value))));
    };
    // An answer of the client has an id of the server.
    let is_answer = !message.contains_key("method") && (message.contains_key("result") || message.contains_key("error"));
    let id = message.get_mut("id").filter(|_| !is_answer);
    let given = id.as_deref().cloned().unwrap_or(Value::Null);
    if !matches!(given, Value::Null | Value::Number(_) | Value::String(_)) {
        return Err(wrong(
            ErrorCode::InvalidRequest,
            format!("expected an id that is a number or a string, found {}", kind(&given)),
        ));
    }
    if let Some(id) = id {
        *id = Value::String(id.to_string());
    }
    if message.get("method").is_some_and(|method| method == Cancel::METHOD)
        && let Some(id) = message.get_mut("params").and_then(|params| params.get_mut("id"))
    {
        *id = Value::String(id.to_string());
    }
    serde_json::from_value(value).map_err(|_| match is_answer {
        // An error in return would be answered by an error, without end.
        true => crate::server::log(lsp_types::MessageType::ERROR, "an answer to nothing that the server asked"),
        false => refused(&given, ErrorCode::InvalidRequest, "expected `method`, a string".to_owned()),
    })
}

/// A text of JSON with U+FFFD for each half of a surrogate pair that stands alone. Editors whose strings are UTF-16 send them, and an edit
/// that was not read would leave another text here than there; the character has as many units of UTF-16.
fn without_halves(text: &[u8]) -> Vec<u8> {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix(br"\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut mended = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let (length, is_half) = match (unit(at), unit(at + 6)) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => (12, false),
            (Some(0xd800..0xe000), _) => (6, true),
            _ if text[at] == b'\\' => (2, false),
            _ => (1, false),
        };
        let end = text.len().min(at + length);
        mended.extend_from_slice(if is_half { br"\ufffd" } else { &text[at..end] });
        at = end;
    }
    mended
}

/// The answer to what is no request.
pub(crate) fn refused(id: &Value, code: ErrorCode, why: String) -> Message {
    Response::new_err(RequestId::from(id.to_string()), code as i32, why).into()
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Writes a message with its header.
pub(crate) fn write(message: Message, out: &mut impl Write) -> io::Result<()> {
    let Message::Response(Response { id, response_result }) = message else { return message.write(out) };
    let id = match json!(id) {
        Value::String(text) => serde_json::from_str(&text)?,
        id => id,
    };
    let (key, value) = match response_result {
        Ok(result) => ("result", result),
        Err(error) => ("error", json!(error)),
    };
    let members = [("jsonrpc", json!("2.0")), ("id", id), (key, value)];
    let text = Value::Object(members.map(|(key, value)| (key.to_owned(), value)).into_iter().collect::<Map<_, _>>()).to_string();
    write!(out, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is written for a text, if a request in it is answered with `true`.
    fn answered(text: &str) -> String {
        let message = match read(text.as_bytes()) {
            Ok(Message::Request(request)) => Response::new_ok(request.id, true).into(),
            Ok(other) => return format!("{other:?}"),
            Err(answer) => answer,
        };
        let mut bytes = vec![];
        write(message, &mut bytes).expect("memory can be written");
        let text = String::from_utf8(bytes).expect("JSON is UTF-8");
        text.split_once("\r\n\r\n").expect("a header").1.to_owned()
    }

    #[test]
    fn a_request_is_answered_with_its_id() {
        for id in ["0", "-1", "2147483648", "18446744073709551615", "1.5", "1e300", r#""a""#, r#""1""#, r#""""#, "null"] {
            let answer: Value = serde_json::from_str(&answered(&format!(r#"{{"id":{id},"method":"m"}}"#))).expect("JSON");
            let id: Value = serde_json::from_str(id).expect("JSON");
            assert_eq!(answer, json!({ "jsonrpc": "2.0", "id": id, "result": true }));
        }
    }

    #[test]
    fn a_cancelled_request_is_found_by_its_id() {
        for id in ["7", "2147483648", r#""7""#] {
            let text = format!(r#"{{"method":"$/cancelRequest","params":{{"id":{id}}}}}"#);
            let Ok(Message::Notification(cancel)) = read(text.as_bytes()) else { panic!("{text} is a notification") };
            assert_eq!(cancel.params, json!({ "id": id }));
        }
    }

    #[test]
    fn half_a_surrogate_pair_is_one_character() {
        let text = r#"{"method":"m","params":["\ud800","\udc00\ud800x","\ud801\udc00","\\ud800","é\n"]}"#;
        let Ok(Message::Notification(read)) = read(text.as_bytes()) else { panic!("{text} is a notification") };
        assert_eq!(read.params, json!(["\u{fffd}", "\u{fffd}\u{fffd}x", "\u{10400}", "\\ud800", "é\n"]));
    }

    #[test]
    fn what_is_no_request_is_refused() {
        for (text, code, id) in [
            ("{", -32700, "null"),
            ("[]", -32600, "null"),
            ("\"é\"", -32600, "null"),
            ("{}", -32600, "null"),
            (r#"{"id":true,"method":"m"}"#, -32600, "null"),
            (r#"{"id":4294967296,"method":3}"#, -32600, "4294967296"),
            (r#"{"method":3}"#, -32600, "null"),
        ] {
            let answer: Value = serde_json::from_str(&answered(text)).expect("JSON");
            assert_eq!(answer["error"]["code"], code, "{text}");
            assert_eq!(answer["id"].to_string(), id, "{text}");
        }
    }

    #[test]
    fn an_answer_is_not_refused() {
        for text in
            [r#"{"id":1,"result":null}"#, r#"{"id":4294967296,"result":null}"#, r#"{"id":null,"error":{"code":1,"message":""}}"#]
        {
            let message = read(text.as_bytes()).unwrap_or_else(|message| message);
            assert!(!matches!(&message, Message::Response(response) if response.response_result.is_err()), "{text}: {message:?}");
        }
    }
}
