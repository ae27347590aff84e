//! Executables of programs with open dimensions: the bytes of the program with its sizes in the text, for every size, beside other
//! callers, and after calls that fail; weights are packed once, and what is kept is bounded.

use relayc::{Network, OpenExecutable, OpenSession, Options, Policy, Tensor, bytes_of, bytes_of_mut};
use relayc_weights::params;

/// An encoder's layer twice, whose kernels are equal: products of constant weights, attention, a norm; and a convolution, whose
/// rows are open as well.
const ENCODER: &str = r#"
def @main(%x: Tensor[(batch, seq, 64), float32], %image: Tensor[(batch, 16, seq, 12), float32],
          %q: Tensor[(64, 64), float32], %f: Tensor[(160, 64), float32], %o: Tensor[(64, 160), float32], %k: Tensor[(32, 16, 3, 3), float32]) {
  %0 = nn.dense(%x, %q, units=64);
  %1 = nn.batch_matmul(nn.softmax(nn.batch_matmul(%0, %x, transpose_b=True)), %0, transpose_b=False);
  %2 = add(nn.dense(nn.relu(nn.dense(%1, %f, units=160)), %o, units=64), %x);
  %3 = nn.dense(%2, %q, units=64);
  %4 = nn.batch_matmul(nn.softmax(nn.batch_matmul(%3, %2, transpose_b=True)), %3, transpose_b=False);
  %5 = add(nn.dense(nn.relu(nn.dense(%4, %f, units=160)), %o, units=64), %2);
  (%5, nn.relu(nn.conv2d(%image, %k, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3])), mean(%5, axis=[1]))
}
"#;

const WEIGHTS: [(&str, &[usize]); 4] = [("q", &[64, 64]), ("f", &[160, 64]), ("o", &[64, 160]), ("k", &[32, 16, 3, 3])];

fn network(text: &str) -> Network {
    let file = tempfile::Builder::new().suffix(".params").tempfile().expect("a file");
    let number = |at: usize| ((at * 7919) % 251) as f32 * 0.002 - 0.25;
    let weights: Vec<(String, Tensor)> =
        WEIGHTS.iter().map(|(name, shape)| ((*name).to_owned(), Tensor::from_fn(shape, number))).collect();
    std::fs::write(file.path(), params::write(&weights)).expect("it can be written");
    let mut network = Network::parse("encoder", text).expect("it is right");
    network.bind_weights("main", file.path()).expect("they fit");
    network
}

fn open(options: &Options) -> OpenExecutable {
    network(ENCODER).compile_open(options).expect("it is compiled")
}

/// The program with its sizes in the text.
fn fixed(batch: u64, seq: u64) -> Network {
    let sized = |text: &str| text.replace("batch,", &format!("{batch},")).replace("seq,", &format!("{seq},"));
    let lines = ENCODER.lines().map(|line| if line.contains("Tensor[(batch") { sized(line) } else { line.to_owned() });
    network(&lines.collect::<Vec<_>>().join("\n"))
}

fn inputs(batch: u64, seq: u64) -> [Vec<f32>; 2] {
    let mut random = fastrand::Rng::with_seed(1000 * batch + seq);
    [64, 16 * 12].map(|n| (0..n * batch * seq).map(|_| random.f32() - 0.5).collect())
}

fn run(session: &mut relayc::Session, batch: u64, seq: u64) -> Vec<Vec<u32>> {
    let inputs = inputs(batch, seq);
    let mut outputs: Vec<Vec<f32>> = session.outputs().iter().map(|port| vec![f32::NAN; port.bytes / 4]).collect();
    let mut room: Vec<&mut [u8]> = outputs.iter_mut().map(|numbers| bytes_of_mut(numbers)).collect();
    session.run(&inputs.each_ref().map(|numbers| bytes_of(numbers)), &mut room).expect("nothing fails");
    outputs.iter().map(|numbers| numbers.iter().map(|number| number.to_bits()).collect()).collect()
}

fn answer(session: &mut OpenSession, batch: u64, seq: u64) -> Vec<Vec<u32>> {
    let session = session.at(&[&[batch, seq, 64], &[batch, 16, seq, 12]]).expect("it is compiled");
    run(session, batch, seq)
}

fn expected(options: &Options, batch: u64, seq: u64) -> Vec<Vec<u32>> {
    let executable = fixed(batch, seq).compile(options).expect("it is compiled");
    assert!(executable.is_whole(), "the first run of what is compiled by subgraphs is interpreted");
    run(&mut executable.session().expect("there is memory"), batch, seq)
}

const SIZES: [(u64, u64); 10] = [(1, 1), (1, 2), (2, 7), (1, 16), (1, 17), (3, 16), (1, 63), (2, 64), (1, 200), (5, 3)];

#[test]
fn every_size_gives_the_bytes_of_the_program_of_that_size() {
    for (level, accuracy, threads) in [(3, Policy::Fast, 1), (3, Policy::Strict, 2), (0, Policy::Strict, 1), (1, Policy::Fast, 2)]
    {
        let options = Options { level, accuracy, threads, ..Options::default() };
        let open = open(&options);
        let mut session = open.session();
        for (batch, seq) in SIZES.into_iter().chain(SIZES.into_iter().rev()) {
            assert!(answer(&mut session, batch, seq) == expected(&options, batch, seq), "{batch} {seq}, level {level}");
        }
        assert_eq!(open.n_sizes(), SIZES.len());
    }
}

#[test]
fn callers_share_what_is_kept() {
    let options = Options::default();
    let expected: Vec<_> = SIZES.iter().map(|&(batch, seq)| expected(&options, batch, seq)).collect();
    // Fewer are kept than are used, so that some are made again while others run.
    let open = open(&Options { sizes: 4, ..options });
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (open, expected) = (&open, &expected);
            scope.spawn(move || {
                let mut session = open.session();
                for round in 0..30 {
                    let at = (7 * thread + round * (thread + 1)) % SIZES.len();
                    let (batch, seq) = SIZES[at];
                    assert!(answer(&mut session, batch, seq) == expected[at], "thread {thread}, round {round}");
                }
            });
        }
    });
    assert!(open.n_sizes() <= 4);
}

#[test]
fn weights_are_packed_once() {
    let open = open(&Options::default());
    let mut session = open.session();
    answer(&mut session, 1, 64);
    let (bytes, memory) = (open.weight_bytes(), session.bytes());
    for seq in (2..64).rev() {
        answer(&mut session, 1, seq);
    }
    // Those of the convolution depend on its tiles of outputs.
    let tiles = 4 * 36 * 16 * 32;
    assert!(open.weight_bytes() <= bytes + 2 * tiles, "{bytes} at first, {} then", open.weight_bytes());
    assert_eq!(session.bytes(), memory, "smaller sizes need no more");
    answer(&mut session, 2, 64);
    assert!(session.bytes() > memory);
}

#[test]
fn calls_that_fail_leave_nothing_behind() {
    let open = open(&Options::default());
    let mut session = open.session();
    let right = answer(&mut session, 2, 7);
    let code =
        |session: &mut OpenSession, shapes: &[&[u64]]| session.at(shapes).err().map(|error| (error.code(), error.to_string()));
    let said = code(&mut session, &[&[2, 7, 64], &[2, 16, 8, 12]]).expect("two lengths");
    assert_eq!(said.0, "E0705");
    assert!(said.1.contains("`x`") && said.1.contains("`image`") && said.1.contains("`seq`"), "{}", said.1);
    for shapes in [&[&[2u64, 7, 64][..]][..], &[&[2, 7, 63], &[2, 16, 7, 12]], &[&[2, 7], &[2, 16, 7, 12]], &[]] {
        assert_eq!(code(&mut session, shapes).expect("it does not fit").0, "E0705", "{shapes:?}");
    }
    let long = 1 << 20;
    assert_eq!(code(&mut session, &[&[1, long, 64], &[1, 16, long, 12]]).expect("too large").0, "E0803");
    assert_eq!(open.n_sizes(), 1);
    assert!(answer(&mut session, 2, 7) == right);
}

#[test]
fn a_size_whose_run_fails_runs_again() {
    let text = "def @main(%x: Tensor[(n), float32], %i: Tensor[(n), int32]) { take(%x, %i, axis=0, mode=\"fast\") }";
    let open =
        Network::parse("take", text).and_then(|network| network.compile_open(&Options::default())).expect("it is compiled");
    let mut session = open.session();
    let mut run = |indices: &[i32]| {
        let (x, mut out) = (vec![0.5f32; indices.len()], vec![0f32; indices.len()]);
        let n = indices.len() as u64;
        let session = session.at(&[&[n], &[n]]).expect("it is compiled");
        session.run(&[bytes_of(&x), bytes_of(indices)], &mut [bytes_of_mut(&mut out)]).map(|()| out)
    };
    assert_eq!(run(&[0, 1, 2]).expect("in range"), [0.5; 3]);
    assert!(run(&[0, 1, 3]).is_err());
    assert_eq!(run(&[0]).expect("in range"), [0.5]);
    assert_eq!(run(&[2, 1, 0]).expect("in range"), [0.5; 3]);
}
