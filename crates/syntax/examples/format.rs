//! Formats a text: `cargo run -p relayc-syntax --example format`.
//!
//! ```text
//! #[version = "0.0.5"]
//! def @main(%x: Tensor[(2, 3), float32]) {
//!   // Twice the input.
//!   add(%x, %x)
//! }
//!
//! E0102 at byte 49: expected an expression, found `}`
//! ```

use relayc_base::FileId;
use relayc_syntax::fmt::format;

const TEXT: &str = r#"#[version = "0.0.5"]
def @main( %x:Tensor[(2,3),float32] ) {  // Twice the input.
add(%x,%x) }"#;

fn main() {
    match format(FileId(0), TEXT) {
        Ok(formatted) => println!("{formatted}"),
        Err(reports) => println!("{reports:#?}"),
    }
    // A text with syntax errors is not formatted; all of them are reported.
    for report in format(FileId(0), "#[version = \"0.0.5\"]\ndef @main(%x: float32) { }").err().unwrap_or_default() {
        println!("{} at byte {}: {}", report.code.id(), report.span().start, report.message);
    }
}
