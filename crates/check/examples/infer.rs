//! Infers the types of a program: `cargo run -p relayc-check --example infer`.
//!
//! ```text
//! @main returns Tensor[(8, 4), float32]
//! ```

use relayc_base::FileId;
use relayc_check::{infer, resolve};
use relayc_syntax::parse;

const TEXT: &str = r#"#[version = "0.0.5"]
def @main(%x: Tensor[(8, 16), float32], %w: Tensor[(4, 16), float32]) {
  nn.softmax(nn.dense(%x, %w, units=4))
}"#;

fn main() {
    let ops = relayc_ops::table();
    // Each step returns what it understood, and a list of what is wrong.
    let (tree, mut reports) = parse(FileId(0), TEXT.into());
    let (mut module, unresolved) = resolve::resolve(&tree, ops);
    reports.extend(unresolved);
    reports.extend(infer::infer(&mut module, ops));
    for report in &reports {
        println!("{} at byte {}: {}", report.code.id(), report.span().start, report.message);
    }
    for global in module.globals.iter() {
        let ret = module.funcs[global.func].ret.map_or("not inferred".to_owned(), |ty| module.types.text(ty));
        println!("@{} returns {ret}", global.name);
    }
}
