//! Compiles a loop nest and calls its machine code: `cargo run -p relayc-codegen --example kernel`.
//!
//! ```text
//! 2·x + 1 is [1.0, 3.0, 5.0, 7.0, 9.0, 11.0]
//! ```

#![allow(unsafe_code, reason = "machine code is called through a pointer")]

use relayc_codegen::asm::Asm;
use relayc_codegen::cpu::Cpu;
use relayc_codegen::memory::Code;
use relayc_codegen::nest;
use relayc_ir::kernel::{Access, Body, Nest, Stage, Store};
use relayc_ir::types::DType;

fn main() {
    let Some(isa) = Cpu::get().best() else { return println!("this processor has no AVX2") };
    // Argument 0 is read and argument 1 written, element by element along the only dimension.
    let access = |arg| Access { arg, dtype: DType::F32, offset: 0, kept: vec![1], reduced: vec![] };
    let mut body = Body::new();
    let (x, two, one) = (body.read(0), body.f32(2.0), body.f32(1.0));
    let val = body.fma(x, two, one);
    let stage = Stage { each: false, body, reductions: vec![], stores: vec![Store { val, write: 0 }] };
    let nest = Nest { dims: vec![6], reduce: vec![], reads: vec![access(0)], writes: vec![access(1)], stages: vec![stage] };

    let mut asm = Asm::new(isa);
    let compiled = nest::compile(&mut asm, &nest, None).expect("a nest of float32 is compiled");
    let code = Code::new(asm).expect("the system gives executable pages");

    type Items = unsafe extern "sysv64" fn(args: *const *mut u8, begin: usize, end: usize);
    let (mut x, mut out) = ([0f32, 1., 2., 3., 4., 5.], [0f32; 6]);
    let args = [x.as_mut_ptr().cast::<u8>(), out.as_mut_ptr().cast()];
    // SAFETY: the function at `entry` has this type, and the arguments have as many elements as the nest accesses.
    unsafe {
        let function = code.function::<Items>(compiled.entry).expect("there is code");
        function.get()(args.as_ptr(), 0, compiled.n_items);
    }
    println!("2·x + 1 is {out:?}");
}
