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
    weighted(text, &WEIGHTS)
}

fn weighted(text: &str, weights: &[(&str, &[usize])]) -> Network {
    let file = tempfile::Builder::new().suffix(".params").tempfile().expect("a file");
    let number = |at: usize| ((at * 7919) % 251) as f32 * 0.002 - 0.25;
    let weights: Vec<(String, Tensor)> =
        weights.iter().map(|(name, shape)| ((*name).to_owned(), Tensor::from_fn(shape, number))).collect();
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

#[test]
fn a_run_that_evaluates_an_operator_does_it_for_its_size() {
    let text = "def @main(%x: Tensor[(n), int32], %y: Tensor[(n), int32]) { floor_divide(add(%x, %x), %y) }";
    let open =
        Network::parse("divide", text).and_then(|network| network.compile_open(&Options::default())).expect("it is compiled");
    let mut session = open.session();
    let run = |session: &mut relayc::Session, x: &[i32], y: &[i32]| {
        let mut out = vec![0i32; x.len()];
        let done = session.run(&[bytes_of(x), bytes_of(y)], &mut [bytes_of_mut(&mut out)]);
        done.map(|()| out).map_err(|error| error.code())
    };
    for n in [3, 5, 1, 3, 5, 40] {
        let fixed = Network::parse("divide", &text.replace("(n)", &format!("({n})"))).expect("it is right");
        let fixed = fixed.compile(&Options::default()).expect("it is compiled");
        let x: Vec<i32> = (0..n).map(|at| 7 * at - 20).collect();
        for zero in [None, Some(n as usize - 1)] {
            let y: Vec<i32> = (0..n as usize).map(|at| if Some(at) == zero { 0 } else { at as i32 - 50 }).collect();
            let found = run(session.at(&[&[n as u64], &[n as u64]]).expect("it is compiled"), &x, &y);
            assert_eq!(found.is_err(), zero.is_some(), "{n}");
            assert_eq!(found, run(&mut fixed.session().expect("there is memory"), &x, &y), "{n}");
        }
    }
}

/// Tokens at their places, attention over those that a mask leaves and over what was seen before, and a norm: no size is in an
/// operator's choice of kernels, so all sizes have the same groups.
const TOKENS: &str = r#"
def @main(%tokens: Tensor[(rows, len), int32], %mask: Tensor[(rows, len), float32], %seen: Tensor[(rows, 4, past, 16), float32],
          %words: Tensor[(50, 64), float32], %places: Tensor[(40, 64), float32], %q: Tensor[(64, 64), float32],
          %f: Tensor[(160, 64), float32], %o: Tensor[(64, 160), float32], %scale: Tensor[(64), float32]) {
  %0 = strided_slice(%places, begin=[0], end=[len], strides=[1], axes=[0]);
  %1 = add(take(%words, %tokens, axis=0, mode="wrap"), %0);
  %2 = reshape(nn.dense(%1, %q, units=64), newshape=[0, 0, 4, 16]);
  %3 = transpose(%2, axes=[0, 2, 1, 3]);
  %4 = concatenate((%seen, %3), axis=2);
  %5 = reshape(%3, newshape=[-3, 0, 16]);
  %6 = reshape(%4, newshape=[-3, 0, 16]);
  %7 = reshape(nn.batch_matmul(%5, %6, transpose_b=True), newshape=[-4, -1, 4, 0, 0]);
  %8 = multiply(subtract(1f, expand_dims(expand_dims(%mask, axis=1), axis=3)), -10000f);
  %9 = nn.softmax(add(divide(%7, 4f), %8));
  %10 = nn.batch_matmul(reshape(%9, newshape=[-3, 0, 0]), %6, transpose_b=False);
  %11 = transpose(reshape(%10, newshape=[-4, -1, 4, 0, 16]), axes=[0, 2, 1, 3]);
  %12 = add(reshape(%11, newshape=[0, 0, 64]), %1);
  %13 = subtract(%12, mean(%12, axis=[-1], keepdims=True));
  %14 = multiply(divide(%13, sqrt(add(mean(power(%13, 2f), axis=[-1], keepdims=True), 1e-6f))), %scale);
  (add(nn.dense(nn.relu(nn.dense(%14, %f, units=160)), %o, units=64), %14), %4)
}
"#;

const TOKEN_WEIGHTS: [(&str, &[usize]); 6] =
    [("words", &[50, 64]), ("places", &[40, 64]), ("q", &[64, 64]), ("f", &[160, 64]), ("o", &[64, 160]), ("scale", &[64])];

/// The sizes of a call: rows, length and past.
type Sizes = [u64; 3];

fn shapes([rows, len, past]: Sizes) -> [Vec<u64>; 3] {
    [vec![rows, len], vec![rows, len], vec![rows, 4, past, 16]]
}

/// The outputs for random inputs, which the sizes determine.
fn read(session: &mut relayc::Session, sizes: Sizes) -> Vec<Vec<u32>> {
    let mut random = fastrand::Rng::with_seed(sizes.iter().fold(1, |seed, size| 1000 * seed + size));
    let [tokens, mask, seen] = shapes(sizes).map(|shape| shape.iter().product::<u64>());
    let tokens: Vec<i32> = (0..tokens).map(|_| random.i32(0..50)).collect();
    let mask: Vec<f32> = (0..mask).map(|_| f32::from(random.bool())).collect();
    let seen: Vec<f32> = (0..seen).map(|_| random.f32() - 0.5).collect();
    let mut outputs: Vec<Vec<f32>> = session.outputs().iter().map(|port| vec![f32::NAN; port.bytes / 4]).collect();
    let mut room: Vec<&mut [u8]> = outputs.iter_mut().map(|numbers| bytes_of_mut(numbers)).collect();
    session.run(&[bytes_of(&tokens), bytes_of(&mask), bytes_of(&seen)], &mut room).expect("nothing fails");
    outputs.iter().map(|numbers| numbers.iter().map(|number| number.to_bits()).collect()).collect()
}

#[test]
fn random_sizes_of_one_grouping_give_the_bytes_of_their_programs() {
    let mut random = fastrand::Rng::with_seed(17);
    let mut drawn: Vec<Sizes> = (0..30).map(|_| [random.u64(1..4), random.u64(1..41), random.u64(0..20)]).collect();
    // Sizes that are 1, and some that equal each other or a dimension that is known.
    drawn.extend([[1, 1, 0], [1, 1, 1], [4, 4, 4], [1, 16, 16], [2, 40, 1], [64, 1, 3], [1, 0, 2], [0, 3, 1]]);
    for options in [Options::default(), Options { level: 1, accuracy: Policy::Strict, threads: 2, ..Options::default() }] {
        let open = weighted(TOKENS, &TOKEN_WEIGHTS).compile_open(&options).expect("it is compiled");
        let mut session = open.session();
        for &sizes in &drawn {
            let shapes = shapes(sizes);
            let found = read(session.at(&shapes.each_ref().map(Vec::as_slice)).expect("it is compiled"), sizes);
            let names = ["rows", "len", "past"];
            let text =
                names.iter().zip(sizes).fold(TOKENS.to_owned(), |text, (name, size)| text.replace(name, &size.to_string()));
            let fixed = weighted(&text, &TOKEN_WEIGHTS).compile(&options).expect("it is compiled");
            assert!(fixed.is_whole());
            assert!(found == read(&mut fixed.session().expect("there is memory"), sizes), "{sizes:?}, level {}", options.level);
        }
    }
}

#[test]
fn a_length_past_a_table_is_refused_and_leaves_nothing_behind() {
    let open = weighted(TOKENS, &TOKEN_WEIGHTS).compile_open(&Options::default()).expect("it is compiled");
    let mut session = open.session();
    let [ok, long] = [shapes([1, 40, 2]), shapes([1, 41, 2])];
    let code = session.at(&long.each_ref().map(Vec::as_slice)).err().map(|error| error.code());
    assert_eq!(code, Some("E0304"));
    assert_eq!(open.n_sizes(), 0);
    assert!(session.at(&ok.each_ref().map(Vec::as_slice)).is_ok());
}

#[test]
fn a_size_that_is_foreseen_has_its_code() {
    let options = Options::default();
    let open = open(&options);
    let mut session = open.session();
    for seq in [4, 5, 6] {
        assert!(answer(&mut session, 1, seq) == expected(&options, 1, seq), "{seq}");
    }
    // Nobody called with 7 yet; what is under way ends with the session.
    drop(session);
    assert_eq!(open.n_sizes(), 4);
    let mut session = open.session();
    assert!(answer(&mut session, 1, 7) == expected(&options, 1, 7));
    assert_eq!(open.n_sizes(), 4);
}
