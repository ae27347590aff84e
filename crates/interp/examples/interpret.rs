//! Runs a program on the reference interpreter: `cargo run -p relayc-interp --example interpret`.
//!
//! ```text
//! @main([1, 2, 3]) is [2.0, 4.0, 6.0]
//! ```

use relayc_base::FileId;
use relayc_check::{infer, resolve};
use relayc_interp::{Interp, Limits, Value, lower};
use relayc_ir::tensor::Tensor;

const TEXT: &str = r#"#[version = "0.0.5"]
def @twice(%x: Tensor[(3), float32]) { add(%x, %x) }
def @main(%x: Tensor[(3), float32]) { @twice(%x) }"#;

fn main() {
    let ops = relayc_ops::table();
    let (tree, _) = relayc_syntax::parse(FileId(0), TEXT.into());
    let (mut module, _) = resolve::resolve(&tree, ops);
    // The interpreter takes programs without errors only.
    assert!(infer::infer(&mut module, ops).is_empty(), "the program is right");

    let program = lower(&module);
    let mut interp = Interp::new(&module, ops, &program, Limits::default());
    let main = module.find_global("main").expect("it is defined");
    let x = Tensor::from_vec(&[3], vec![1f32, 2., 3.]);
    match interp.call_global(main, vec![Value::Tensor(x)]) {
        Ok(Value::Tensor(out)) => println!("@main([1, 2, 3]) is {:?}", out.to_f64s()),
        Ok(_) => println!("no tensor"),
        Err(failure) => println!("{}: {}", failure.code.id(), failure.message),
    }
}
