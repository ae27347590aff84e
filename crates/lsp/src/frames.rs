//! The transport: messages over standard input and output.
//!
//! Promises to go on after any bytes: the client is told of lines that are no header and of a text that is no message, and a length that
//! no message has is skipped without being held in memory. Only the end of the input ends the reading.

use crate::server::{self, serve_over};
use crate::wire;
use lsp_server::{Connection, ErrorCode, Message};
use lsp_types::MessageType;
use lsp_types::notification::{Exit, Notification as _};
use relayc_base::diag::Diagnostic;
use relayc_base::text::shortened;
use relayc_sys as sys;
use serde_json::Value;
use std::io::{self, BufRead, Read};

/// The longest message that is read: a text may be 64 MiB, and JSON writes a byte in up to six.
const MAX_FRAME: u64 = 400 << 20;

/// The longest line of a header.
const MAX_HEADER: u64 = 4096;

/// Serves the editor at standard input and output until it says goodbye. True if it did so as the protocol wants: `shutdown`, then
/// `exit`. Errors: E0702 if its answers cannot be written.
pub fn serve() -> Result<bool, Diagnostic> {
    let (editor, server) = Connection::memory();
    let Connection { sender: to_server, receiver: from_server } = editor;
    let answers = server.sender.clone();
    let read = move || {
        let mut frames = Frames::of(io::stdin().lock());
        while let Ok(Some(frame)) = frames.next() {
            let frame = frame.and_then(|text| wire::read(&text));
            // Nothing comes after it: a reader that waited would keep the process.
            let is_last = matches!(&frame, Ok(Message::Notification(told)) if told.method == Exit::METHOD);
            let sent = match frame {
                Ok(message) => to_server.send(message).is_ok(),
                Err(answer) => answers.send(answer).is_ok(),
            };
            if is_last || !sent {
                break;
            }
        }
    };
    let write =
        move || from_server.iter().try_for_each(|message| sys::stdout_with(|| wire::write(message, &mut io::stdout().lock())));
    let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
    let (Ok(_), Ok(writer)) = (thread("reader").spawn(read), thread("writer").spawn(write)) else { return Ok(false) };
    let fine = serve_over(server);
    // What has been answered is still written.
    writer.join().unwrap_or(Ok(())).map(|()| fine)
}

/// The frames of an input.
struct Frames<R> {
    input: R,
    /// The length that the header at hand has said.
    length: Option<u64>,
    /// Whether the client has been told of lines that are no header, since the last frame.
    told: bool,
}

impl<R: BufRead> Frames<R> {
    fn of(input: R) -> Frames<R> {
        Frames { input, length: None, told: false }
    }

    /// The text of the next frame; `Err` inside is what to say of one that is too long, or of lines that are no header. `None` at the
    /// end of the input.
    fn next(&mut self) -> io::Result<Option<Result<Vec<u8>, Message>>> {
        loop {
            let mut line = vec![];
            if self.input.by_ref().take(MAX_HEADER).read_until(b'\n', &mut line)? == 0 {
                return Ok(None);
            }
            let line = line.trim_ascii();
            if line.is_empty() {
                // Without a length it was the end of no header.
                let Some(length) = self.length.take() else { continue };
                self.told = false;
                return body(&mut self.input, length).map(Some);
            }
            match header(line) {
                Some((name, value)) if name.eq_ignore_ascii_case("Content-Length") => {
                    self.length = value.parse().ok().or(self.length)
                }
                Some(_) => {}
                None if self.told => {}
                None => {
                    self.told = true;
                    let line = shortened(&String::from_utf8_lossy(line), 60);
                    let why = format!("expected the header of a message, found `{line}`");
                    return Ok(Some(Err(server::log(MessageType::ERROR, &why))));
                }
            }
        }
    }
}

/// The name and the value of a line of a header.
fn header(line: &[u8]) -> Option<(&str, &str)> {
    let (name, value) = std::str::from_utf8(line).ok()?.split_once(':')?;
    let name = name.trim_end();
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    is_name.then(|| (name, value.trim()))
}

fn body(input: &mut impl BufRead, length: u64) -> io::Result<Result<Vec<u8>, Message>> {
    if length > MAX_FRAME {
        io::copy(&mut input.by_ref().take(length), &mut io::sink())?;
        let why = format!("a message of {length} bytes is too long");
        return Ok(Err(wire::refused(&Value::Null, ErrorCode::InvalidRequest, why)));
    }
    let mut text = vec![];
    // Grows with what comes, whatever the header claims.
    input.by_ref().take(length).read_to_end(&mut text)?;
    Ok(Ok(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(bytes: &[u8]) -> Vec<String> {
        let mut frames = Frames::of(bytes);
        let mut found = vec![];
        while let Ok(Some(frame)) = frames.next() {
            found.push(match frame.and_then(|text| wire::read(&text)) {
                Ok(Message::Request(request)) => request.method,
                Ok(Message::Notification(notification)) => notification.method,
                Ok(Message::Response(_)) => "answered".to_owned(),
                Err(Message::Response(_)) => "refused".to_owned(),
                Err(_) => "unread".to_owned(),
            });
        }
        found
    }

    fn frame(text: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{text}", text.len())
    }

    #[test]
    fn what_is_no_message_is_passed_over() {
        let good = frame(r#"{"jsonrpc":"2.0","id":1,"method":"shutdown"}"#);
        let wrong = [
            frame("{"),
            frame("[]"),
            frame("\"é\""),
            frame(r#"{"id":7,"method":3}"#),
            "nonsense\r\n\r\n\r\n".to_owned(),
            "Content-Length: -1\r\nContent-Length: x\r\n\r\n".to_owned(),
            "Content-Type: a; charset=b\r\ncontent-length :2\r\n\r\n{}".to_owned(),
        ];
        let bytes: String = wrong.iter().map(|wrong| format!("{wrong}{good}")).collect();
        let found = frames(bytes.as_bytes());
        assert_eq!(found.iter().filter(|found| *found == "shutdown").count(), wrong.len(), "{found:?}");
        assert_eq!(found.iter().filter(|found| *found == "refused").count(), 5, "{found:?}");
    }

    #[test]
    fn a_length_is_no_reason_to_take_memory() {
        let huge = format!("Content-Length: {}\r\n\r\n{{}}", u64::MAX);
        assert_eq!(frames(huge.as_bytes()), ["refused"]);
        let large = format!("Content-Length: {}\r\n\r\n{{}}", MAX_FRAME);
        assert_eq!(frames(large.as_bytes()), ["refused"]);
    }
}
