//! Tests the library interface: concurrent sessions, and messages for buffers that do not fit.

use relayc::{Executable, Isa, Machine, Network, Options, Session, bytes_of, bytes_of_mut};

/// A network whose answers differ with its input everywhere.
const NETWORK: &str = r#"
def @main(%x: Tensor[(1, 16, 20, 20), float32], %w: Tensor[(32, 16, 3, 3), float32], %m: Tensor[(10, 32), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]);
  %1 = nn.batch_flatten(nn.global_avg_pool2d(tanh(%0)));
  (nn.softmax(nn.dense(%1, %m, units=10)), sum(%0, axis=[1]))
}
"#;

fn executable(threads: usize) -> Executable {
    let network = Network::parse("network", NETWORK).expect("it is right");
    network.compile(&Options { threads, ..Options::default() }).expect("it is compiled")
}

/// Numbers that differ from seed to seed.
fn numbers(n: usize, seed: u64) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..n).map(|_| random.f32() - 0.5).collect()
}

/// The outputs of a run on the numbers of a seed, as bytes.
fn answer(executable: &Executable, session: &mut Session, seed: u64) -> Vec<Vec<u8>> {
    let inputs = executable.inputs().iter().enumerate();
    let inputs: Vec<Vec<f32>> = inputs.map(|(at, port)| numbers(port.bytes / 4, 100 * seed + at as u64)).collect();
    let mut outputs: Vec<Vec<f32>> = executable.outputs().iter().map(|port| vec![f32::NAN; port.bytes / 4]).collect();
    let bytes: Vec<&[u8]> = inputs.iter().map(|numbers| bytes_of(numbers)).collect();
    let mut room: Vec<&mut [u8]> = outputs.iter_mut().map(|numbers| bytes_of_mut(numbers)).collect();
    session.run(&bytes, &mut room).expect("nothing fails");
    outputs.iter().map(|numbers| bytes_of(numbers).to_vec()).collect()
}

#[test]
fn sessions_run_beside_each_other() {
    fn shared<T: Send + Sync>() {}
    shared::<Executable>();
    shared::<Session>();
    shared::<Network>();
    let alone = executable(1);
    let mut session = alone.session().expect("there is memory");
    let expected: Vec<_> = (0..8).map(|seed| answer(&alone, &mut session, seed)).collect();
    assert!(expected.windows(2).all(|pair| pair[0] != pair[1]), "answers tell seeds apart");
    for threads in [1, 2] {
        let together = executable(threads);
        std::thread::scope(|scope| {
            for (seed, expected) in expected.iter().enumerate() {
                let together = &together;
                scope.spawn(move || {
                    let mut session = together.session().expect("there is memory");
                    for round in 0..20 {
                        let got = answer(together, &mut session, seed as u64);
                        assert!(got == *expected, "session {seed} of {threads} threads, round {round}");
                    }
                });
            }
        });
    }
}

#[test]
fn ports_are_as_the_program_says() {
    let executable = executable(1);
    let names: Vec<&str> = executable.inputs().iter().map(|port| port.name.as_str()).collect();
    assert_eq!(names, ["x", "w", "m"]);
    let outputs: Vec<_> = executable.outputs().iter().map(|port| (port.name.as_str(), port.shape.clone())).collect();
    assert_eq!(outputs, [("out.0", vec![1, 10]), ("out.1", vec![1, 20, 20])]);
}

#[test]
fn buffers_that_do_not_fit_are_refused() {
    let network = Network::parse("network", "def @main(%x: Tensor[(2), float32]) { exp(%x) }").expect("it is right");
    let executable = network.compile(&Options::default()).expect("it is compiled");
    let mut session = executable.session().expect("there is memory");
    let (x, mut out) = ([0.0f32; 4], [0.0f32; 4]);
    let words = |result: Result<(), relayc::Error>| result.expect_err("it does not fit").to_string();
    let said = words(session.run(&[], &mut [bytes_of_mut(&mut out[..2])]));
    assert_eq!(said, "error[E0705]: expected 1 buffers, found 0");
    let said = words(session.run(&[bytes_of(&x)], &mut [bytes_of_mut(&mut out[..2])]));
    assert_eq!(said, "error[E0705]: `x`: expected 8 bytes, found 16");
    let said = words(session.run(&[bytes_of(&x[..2])], &mut [&mut bytes_of_mut(&mut out)[1..9]]));
    assert_eq!(said, "error[E0705]: `out`: the buffer is not aligned to 4 bytes");
    session.run(&[bytes_of(&x[..2])], &mut [bytes_of_mut(&mut out[..2])]).expect("this fits");
    assert_eq!(out, [1.0, 1.0, 0.0, 0.0]);
}

/// A loop whose body is worth compiling.
const LOOP: &str = "
def @loop(%n: int32, %x: Tensor[(8, 16), float32], %w: Tensor[(16, 16), float32]) -> Tensor[(8, 16), float32] {
  if (equal(%n, 0)) { %x } else { @loop(subtract(%n, 1), tanh(nn.dense(%x, %w, units=16)), %w) }
}
def @main(%n: int32, %x: Tensor[(8, 16), float32], %w: Tensor[(16, 16), float32]) { (@loop(%n, %x, %w), %n) }";

#[test]
fn a_program_that_branches_runs_in_parts() {
    let executable = Network::parse("loop", LOOP).expect("it is right").compile(&Options::default()).expect("it has regions");
    assert!(!executable.is_whole());
    let names: Vec<_> = executable.inputs().iter().map(|port| (port.name.as_str(), port.bytes)).collect();
    assert_eq!(names, [("n", 4), ("x", 512), ("w", 1024)]);
    let names: Vec<_> = executable.outputs().iter().map(|port| (port.name.as_str(), port.shape.clone())).collect();
    assert_eq!(names, [("out.0", vec![8, 16]), ("out.1", vec![])]);
    let (x, w) = (numbers(8 * 16, 1), numbers(16 * 16, 2));
    let mut session = executable.session().expect("there is memory");
    let mut run = |n: i32| {
        let (mut y, mut count) = (vec![f32::NAN; 8 * 16], [0i32]);
        let inputs = [bytes_of(std::slice::from_ref(&n)), bytes_of(&x), bytes_of(&w)];
        session.run(&inputs, &mut [bytes_of_mut(&mut y), bytes_of_mut(&mut count)]).expect("it runs");
        assert_eq!(count, [n]);
        y
    };
    assert_eq!(run(0), x);
    // The first call is interpreted; by the last the region is compiled.
    let expected: Vec<f64> = (0..8 * 16)
        .map(|at| (0..16).map(|k| f64::from(x[at / 16 * 16 + k]) * f64::from(w[at % 16 * 16 + k])).sum::<f64>().tanh())
        .collect();
    run(2000);
    let near = run(1).iter().zip(&expected).all(|(&y, expected)| (f64::from(y) - expected).abs() < 1e-5);
    assert!(near, "the product and its tanh");
}

#[test]
fn what_cannot_be_compiled_is_said() {
    let code = |text: &str, options: Options| {
        let network = Network::parse("network", text).expect("it is right");
        network.compile(&options).err().map(|error| error.code())
    };
    let relu = "def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }";
    assert_eq!(code(relu, Options { entry: "mian".into(), ..Options::default() }), Some("E0706"));
    assert_eq!(code(relu, Options { machine: Machine::Common(Isa::Avx2), ..Options::default() }), None);
    let open = Network::parse("network", "def @main(%x: Tensor[(?), float32]) { nn.relu(%x) }").expect("it is right");
    let said = open.compile(&Options::default()).err().expect("its input has no size").to_string();
    assert_eq!(said, "error[E0601]: `@main` is not compiled: a dimension of `x`, Tensor[(?), float32], is not known");
    assert!(Network::read("no such file").is_err_and(|error| error.code() == "E0701"));
}

#[test]
fn dynamic_dimensions_take_numbers() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), "def @main(%x: Tensor[(?), float32]) { nn.relu(%x) }").expect("it can be written");
    let sized = |set: &str| Network::read_with(file.path(), "main", &[set.to_owned()]);
    assert!(sized("x.0=2").expect("the axis is there").compile(&Options::default()).is_ok());
    assert!(sized("y.0=2").is_err());
}
