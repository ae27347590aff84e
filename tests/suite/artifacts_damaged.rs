//! Damaged artifacts are refused: each rule of the file and of the image has an artifact that keeps it and one that breaks it.

use relayc_driver::check_text;
use relayc_driver::optimise::UNTIL;
use relayc_driver::run::Limits;
use relayc_engine::artifact;
use relayc_engine::build::{Request, THREADS, build};
use relayc_engine::compile::{Isa, Machine, Policy, Settings};
use relayc_exchange::artifact::read;
use relayc_exec::aot::describe::{Unsound, describe};
use relayc_runtime::layout::{head, instr, part, place, port, program, size, target};
use std::ops::Range;

/// A small artifact for both targets and two sizes.
fn file() -> Vec<u8> {
    let text = "def @main(%x: Tensor[(n, 3), float32], %y: Tensor[(3), float32]) { (nn.softmax(add(%x, %y)), %y) }";
    let request = Request {
        entry: "main".into(),
        settings: [Isa::Avx2, Isa::Avx512]
            .map(|isa| Settings {
                level: 3,
                isa,
                threads: THREADS,
                accuracy: Policy::Fast,
                machine: Machine::Common(isa),
                choices: Default::default(),
                fault: None,
            })
            .to_vec(),
        sizes: vec!["n=2,5".into()],
        limits: Limits::default(),
        asm: false,
        object: false,
        name: "net".into(),
    };
    build(&check_text("net.relay", text, UNTIL), &request).unwrap_or_else(|errors| panic!("{errors:?}")).so
}

fn image(file: &[u8]) -> (Vec<u8>, Range<usize>) {
    let found = read("net.so", file).expect("it is as it was written");
    (file[found.image.clone()].to_vec(), found.image)
}

/// The code that a file is refused with.
fn code(file: &[u8]) -> &'static str {
    read("net.so", file).expect_err("it is damaged").code.id()
}

#[test]
fn a_file_is_read_as_it_was_written_or_not_at_all() {
    let whole = file();
    assert!(read("net.so", &whole).is_ok());
    for end in [0, 4, 19] {
        assert_eq!(code(&whole[..end]), "E0710", "{end} bytes");
    }
    for end in [20, 64, 100, 5000, whole.len() / 2, whole.len() - 4096, whole.len() - 1] {
        assert_eq!(code(&whole[..end]), "E0711", "{end} bytes");
    }
    let longer: Vec<u8> = whole.iter().copied().chain([0]).collect();
    assert_eq!(code(&longer), "E0711");
    // Every byte counts, wherever it is; some of the headers say what kind of file it is.
    for at in (0..whole.len()).step_by(whole.len() / 997) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        assert!(["E0710", "E0711", "E0712", "E0713"].contains(&code(&damaged)), "byte {at}");
    }
}

/// The image with a word changed.
fn with(image: &[u8], byte: usize, word: u64) -> Vec<u8> {
    let mut image = image.to_vec();
    image[byte..byte + 8].copy_from_slice(&word.to_le_bytes());
    image
}

fn word(image: &[u8], byte: usize) -> usize {
    u64::from_le_bytes(image[byte..byte + 8].try_into().expect("a word")) as usize
}

#[test]
fn an_image_says_what_is_inside() {
    let (image, _) = image(&file());
    let found = describe(&image).expect("it is sound");
    for (size, expected) in found.sizes.iter().zip(["n=2", "n=5"]) {
        let names: Vec<&str> = size.inputs.iter().chain(&size.outputs).map(|port| port.name.as_str()).collect();
        assert_eq!((names, size.name.as_str()), (vec!["x", "y", "out.0", "out.1"], expected));
    }
    assert_eq!((found.entry.as_str(), found.sizes.len()), ("main", 2));
    assert_eq!(found.sizes[1].inputs[0].shape, [5, 3]);
    assert_eq!(found.targets.iter().map(|target| target.level).collect::<Vec<_>>(), [3, 4]);
    let programs: Vec<_> = found.targets.iter().flat_map(|target| &target.programs).collect();
    assert!(programs.len() == 4 && programs.iter().all(|program| program.n_steps > 0 && program.code_bytes > 0));
    assert!(found.source.starts_with("def @main"));
}

#[test]
fn each_place_is_held_to_the_image() {
    let (image, _) = image(&file());
    let size = image.len() as u64;
    let ports = word(&image, 8 * head::PORTS);
    let targets = word(&image, 8 * head::TARGETS);
    assert_eq!(describe(&with(&image, 8, 99)), Err(Unsound::Version(99)));
    let in_head = [0, head::BYTES, head::CODE, head::CODE_BYTES, head::ENTRY, head::SOURCE + 1, head::GRAPH + 1, head::PORTS];
    let in_head = in_head.into_iter().chain([head::N_INPUTS, head::N_OUTPUTS, head::TARGETS, head::N_TARGETS]);
    let in_head = in_head.chain([head::SIZES, head::N_SIZES]);
    let in_port = [port::NAME, port::NAME + 1, port::DTYPE, port::RANK, port::DIMS].map(|field| ports + 8 * field);
    let in_size = [size::NAME, size::NAME + 1].map(|field| word(&image, 8 * head::SIZES) + 8 * (size::WORDS + field));
    let in_target = [target::LEVEL, target::PACKINGS, target::PROGRAMS].map(|field| targets + 8 * field);
    let second = word(&image, targets + 8 * target::PROGRAMS) + 8 * program::WORDS;
    let in_program = [program::LISTING + 1, program::PARTS, program::N_PARTS, program::INSTRS, program::N_INSTRS];
    let in_program = in_program.map(|field| second + 8 * field);
    let first_part = word(&image, second + 8 * program::PARTS);
    let in_part = [part::CODE, part::CODE_BYTES, part::BUFFERS, part::N_BUFFERS, part::STEPS].map(|field| first_part + 8 * field);
    let first_instr = word(&image, second + 8 * program::INSTRS);
    let in_instr = [instr::KIND, instr::WHAT].map(|field| first_instr + 8 * field);
    let places = in_head.map(|field| 8 * field).chain(in_port).chain(in_size).chain(in_target).chain(in_program);
    let places = places.chain(in_part).chain(in_instr);
    let places: Vec<usize> = places.collect();
    for place in places {
        for wrong in [size - 1, size + 1, size * 8, u64::MAX - 7, u64::MAX] {
            let said = describe(&with(&image, place, wrong));
            // Of a text it is the word of its start, of places in lists the words of the list that say it.
            let Err(Unsound::At(byte, _)) = said else { panic!("{wrong} at byte {place}: {said:?}") };
            assert!((0..image.len()).contains(&byte) && (byte > 0 || place == 0), "{wrong} at byte {place}: {said:?}");
        }
    }
}

#[test]
fn names_are_different_and_buffers_in_their_places() {
    let (image, _) = image(&file());
    let ports = word(&image, 8 * head::PORTS);
    // In both sizes, each of which has four ports.
    let twice = [0, 4].iter().fold(image.clone(), |image, at| {
        let [first, second] = [0, 1].map(|port| ports + 8 * (at + port) * port::WORDS);
        let name = [port::NAME, port::NAME + 1].map(|field| word(&image, first + 8 * field) as u64);
        with(&with(&image, second, name[0]), second + 8, name[1])
    });
    let said = describe(&twice).expect_err("two of one name");
    assert!(matches!(&said, Unsound::At(_, words) if words.contains("two tensors are named `x`")), "{said:?}");
    let unlike = with(&image, ports + 8 * (4 * port::WORDS + port::RANK), 1);
    let said = describe(&unlike).expect_err("a size of another rank");
    assert!(matches!(&said, Unsound::At(_, words) if words.contains("other inputs or outputs")), "{said:?}");
    let targets = word(&image, 8 * head::TARGETS);
    let first = word(&image, targets + 8 * target::PROGRAMS);
    let first_part = word(&image, first + 8 * program::PARTS);
    let buffers = word(&image, first_part + 8 * part::BUFFERS);
    for wrong in [4, u64::MAX] {
        assert!(describe(&with(&image, buffers, wrong)).is_err(), "a place of kind {wrong}");
        assert!(describe(&with(&image, buffers + 8, wrong)).is_err(), "number {wrong} of its kind");
    }
    let mut kinds = (0..word(&image, first_part + 8 * part::N_BUFFERS)).map(|at| word(&image, buffers + 16 * at) as u64);
    assert!(kinds.any(|kind| kind == place::ARENA), "a buffer is in the arena");
    let endless = with(&image, first + 8 * program::ARENA, u64::MAX);
    assert!(describe(&endless).is_ok(), "that there is no such memory is seen when it is asked for");
    let steps = word(&image, first_part + 8 * part::STEPS);
    assert!(describe(&with(&image, steps + 8, image.len() as u64)).is_err(), "a step outside");
}

#[test]
fn jumps_stay_in_the_program() {
    let (image, _) = image(&file());
    let target = word(&image, 8 * head::TARGETS);
    let first = word(&image, target + 8 * target::PROGRAMS);
    let (instrs, n) = (word(&image, first + 8 * program::INSTRS), word(&image, first + 8 * program::N_INSTRS) as u64);
    // The first instruction as another one.
    let forged = |kind: u64, what: [u64; 2], to: u64| {
        let words = [(instr::KIND, kind), (instr::WHAT, what[0]), (instr::WHAT + 1, what[1]), (instr::TO, to)];
        words.into_iter().fold(image.clone(), |image, (field, value)| with(&image, instrs + 8 * field, value))
    };
    assert!(describe(&forged(instr::JUMP, [0, 0], n)).is_ok(), "to the end");
    assert!(describe(&forged(instr::UNLESS, [place::INPUT, 0], 0)).is_ok());
    for wrong in [forged(instr::JUMP, [0, 0], n + 1), forged(instr::UNLESS, [place::INPUT, 0], n + 1)] {
        assert!(matches!(describe(&wrong), Err(Unsound::At(_, words)) if words == "a jump out of the program"));
    }
    for wrong in [forged(instr::UNLESS, [4, 0], 0), forged(instr::UNLESS, [place::INPUT, 2], 0), forged(3, [0, 0], 0)] {
        assert!(describe(&wrong).is_err(), "a place that is none, an input that is none, an instruction that is none");
    }
}

#[test]
fn what_is_said_again_and_again_is_not_copied_each_time() {
    // A thousand inputs whose dtype is one text of 100 KB, with a name each.
    const N: usize = 1000;
    let (sound, _) = image(&file());
    let code = sound.len() - word(&sound, 8 * head::CODE_BYTES);
    let mut forged = sound[..code].to_vec();
    let mut put = |bytes: &[u8]| {
        forged.resize(forged.len().next_multiple_of(8), 0);
        forged.extend_from_slice(bytes);
        (forged.len() - bytes.len()) as u64
    };
    let dtype = put(&[vec![b'x'; 100_000], vec![0]].concat());
    let mut ports = vec![];
    for at in 0..N {
        let name = put(format!("{:04}\0", at % (N / 2)).as_bytes());
        ports.extend([name, 4, dtype, 100_000, 0, 0, 0, 0].map(u64::to_le_bytes));
    }
    let ports = put(&ports.concat());
    forged.resize(forged.len().next_multiple_of(4096), 0);
    let moved = (forged.len() - code) as u64;
    forged.extend_from_slice(&sound[code..]);
    let words = [
        (8 * head::BYTES, forged.len() as u64),
        (8 * head::CODE, code as u64 + moved),
        (8 * head::PORTS, ports),
        (8 * head::N_INPUTS, N as u64 / 2 - 2),
    ];
    let targets = [0, 1].map(|at| word(&sound, 8 * head::TARGETS) + 8 * at * target::WORDS);
    let programs = targets.map(|at| word(&sound, at + 8 * target::PROGRAMS));
    let programs = programs.into_iter().flat_map(|at| [0, 1].map(|size| at + 8 * size * program::WORDS));
    let programs = programs.map(|at| word(&sound, at + 8 * program::PARTS) + 8 * part::CODE);
    let words = words.into_iter().chain(programs.map(|at| (at, word(&sound, at) as u64 + moved)));
    let forged = words.fold(forged, |image, (at, value)| with(&image, at, value));
    let said = describe(&forged).expect_err("100 MB out of 200 KB");
    assert!(matches!(&said, Unsound::At(_, words) if words.contains("would be said twice")), "{said:?}");
    // With texts of their own they are as good as any.
    let sound = (0..N).fold(forged, |image, at| with(&image, ports as usize + 8 * (at * port::WORDS + port::DTYPE + 1), 0));
    let sound = (0..N).fold(sound, |image, at| with(&image, ports as usize + 8 * (at * port::WORDS + port::DTYPE), ports + 7));
    assert_eq!(describe(&sound).map(|found| found.sizes[0].inputs.len()), Ok(N / 2 - 2));
}

#[test]
fn what_contradicts_itself_is_not_run() {
    let whole = file();
    let (found, range) = image(&whole);
    let ports = word(&found, 8 * head::PORTS);
    // With the checksum made right again, as somebody would who means it.
    let mut forged = whole;
    let at = range.start + ports + 8 * port::BYTES;
    forged[at..at + 8].copy_from_slice(&23u64.to_le_bytes());
    let sum_at = forged.windows(12).position(|bytes| bytes == b"relayc\0\0\0\0\0\0").expect("the note") + 12 + 40;
    forged[sum_at..sum_at + 8].fill(0);
    let mut crc = flate2::Crc::new();
    crc.update(&forged);
    forged[sum_at..sum_at + 8].copy_from_slice(&u64::from(crc.sum()).to_le_bytes());
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("net.so");
    std::fs::write(&path, forged).expect("written");
    let artifact = artifact::open(&path).unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(artifact.bind(&Default::default()).expect_err("23 bytes are no 6 floats")[0].code.id(), "E0714");
}
