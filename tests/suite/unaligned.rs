//! Inputs and outputs of a compiled program may be unaligned bytes.

use crate::compare::isas;
use relayc_base::diag::Diagnostic;
use relayc_driver::check_text;
use relayc_driver::optimise::UNTIL;
use relayc_driver::run::Limits;
use relayc_engine::compile::{Machine, Policy, Settings, compile};
use relayc_exec::plan::CallId;
use relayc_exec::program::Fallback;
use relayc_ir::tensor::Tensor;

/// Weights that are inputs are packed in each run: side by side, apart, and as tiles.
const PROGRAMS: [&str; 4] = [
    "def @main(%x: Tensor[(9, 12), float32], %w: Tensor[(21, 12), float32]) { nn.dense(%x, %w, units=21) }",
    "def @main(%x: Tensor[(9, 12), float32], %w: Tensor[(12, 21), float32]) { nn.matmul(%x, %w, units=21) }",
    "def @main(%x: Tensor[(1, 16, 24, 24), float32], %w: Tensor[(32, 16, 3, 3), float32]) {
       nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3])
     }",
    "def @main(%x: Tensor[(5, 7), float32], %m: Tensor[(5, 7), bool]) { (where(%m, %x, negative(%x)), logical_not(%m)) }",
];

/// For programs all of whose operators have kernels.
struct NoFallback;

impl Fallback for NoFallback {
    fn call(&self, _: CallId, _: Vec<(bool, Vec<Tensor>)>) -> Result<Vec<Tensor>, Box<Diagnostic>> {
        unreachable!("every operator has a kernel")
    }

    fn outside(&self, _: CallId, _: i128, _: u64) -> Box<Diagnostic> {
        unreachable!("no operator has indices")
    }
}

/// So many bytes from the `at`-th on of memory that has room for them.
fn shifted(at: usize, bytes: &[u8]) -> Vec<u8> {
    // Vectors of bytes may begin anywhere too, so the first multiple of eight in one is counted from.
    let mut memory = vec![0; bytes.len() + 16];
    let begin = begin(&memory, at);
    memory[begin..][..bytes.len()].copy_from_slice(bytes);
    memory
}

fn begin(memory: &[u8], at: usize) -> usize {
    memory.as_ptr().align_offset(8) + at
}

#[test]
fn memory_of_callers_may_begin_anywhere() {
    for (text, isa) in PROGRAMS.iter().flat_map(|text| isas().into_iter().map(move |isa| (text, isa))) {
        let program = check_text("x", text, UNTIL);
        let settings = Settings {
            level: 3,
            isa,
            threads: 2,
            accuracy: Policy::Fast,
            machine: Machine::Native,
            choices: Default::default(),
            fault: None,
        };
        let compiled = compile(&program, "main", &settings, Limits::default()).unwrap_or_else(|_| panic!("{text} is compiled"));
        let mut session = compiled.session().expect("there is memory");
        let plan = &session.program().plan;
        let mut rng = fastrand::Rng::with_seed(5);
        let inputs = plan.inputs.iter().map(|&id| match plan.buffers[id].dtype.bits {
            32 => (0..plan.buffers[id].elements).flat_map(|_| (rng.f32() - 0.5).to_le_bytes()).collect(),
            _ => (0..plan.buffers[id].elements).map(|_| rng.u8(..2)).collect(),
        });
        let inputs: Vec<Vec<u8>> = inputs.collect();
        let mut first = None;
        for at in 0..8 {
            let own: Vec<Vec<u8>> = inputs.iter().map(|bytes| shifted(at, bytes)).collect();
            let own: Vec<&[u8]> = own.iter().zip(&inputs).map(|(own, input)| &own[begin(own, at)..][..input.len()]).collect();
            let mut outputs: Vec<Vec<u8>> = compiled.outputs().iter().map(|bytes| shifted(at, bytes)).collect();
            let lengths: Vec<usize> = compiled.outputs().iter().map(Vec::len).collect();
            let rows = outputs.iter_mut().zip(&lengths).map(|(own, &n)| {
                let begin = begin(own, at);
                &mut own[begin..][..n]
            });
            let mut rows: Vec<&mut [u8]> = rows.collect();
            session.run(&own, &mut rows, &NoFallback, |_| Ok(())).expect("it runs");
            let found: Vec<Vec<u8>> = rows.iter().map(|row| row.to_vec()).collect();
            assert_eq!(first.get_or_insert_with(|| found.clone()), &found, "{text} on {isa:?}, {at} bytes on");
        }
    }
}
