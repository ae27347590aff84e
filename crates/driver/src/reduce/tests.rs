//! Tests the results of reductions whose test is a function of the text.

use super::*;
use relayc_ir::tensor::Tensor;

/// Holds if the text contains these words; records the candidates.
struct Has<'a> {
    words: &'a [&'a str],
    asked: Vec<Candidate>,
    stop_after: usize,
}

impl Property for Has<'_> {
    fn holds(&mut self, candidate: &Candidate) -> Result<bool, Diagnostic> {
        self.asked.push(candidate.clone());
        Ok(self.words.iter().all(|word| candidate.text.contains(word)))
    }

    fn kept(&mut self, candidate: &Candidate, _: &Counts, _: &Size) -> Result<(), Diagnostic> {
        assert_eq!(self.asked.last().map(|asked| &asked.text), Some(&candidate.text), "what was kept was asked last");
        Ok(())
    }

    fn stopped(&self) -> bool {
        self.asked.len() >= self.stop_after
    }
}

fn program(text: &str) -> Program {
    let program = check_text("x", text, Phase::Main);
    assert!(!program.has_errors(), "{:?}", program.diagnostics);
    program
}

fn bounds(max_runs: usize) -> Bounds {
    Bounds { max_runs, timeout: Duration::from_secs(600) }
}

fn tried(text: &str, values: Option<Named>, words: &[&str], max_runs: usize) -> (Result<Outcome, Diagnostic>, Vec<Candidate>) {
    let mut test = Has { words, asked: vec![], stop_after: usize::MAX };
    (reduce(program(text), "main", values, bounds(max_runs), &mut test), test.asked)
}

/// The reduced text, without its header.
fn left(text: &str, words: &[&str]) -> String {
    let (outcome, asked) = tried(text, None, words, usize::MAX);
    let outcome = outcome.unwrap_or_else(|error| panic!("{error:?}"));
    assert!(outcome.done && outcome.counts.runs == asked.len());
    for candidate in asked {
        assert!(!check_text("x", &candidate.text, Phase::Main).has_errors(), "{}", candidate.text);
    }
    let text = outcome.smallest.text;
    text.strip_prefix(relayc_ir::print::HEADER).unwrap_or(&text).trim().to_owned()
}

/// Convolutions that halve the map and double the channels, with a branch that joins again.
const NETWORK: &str = "def @main(%x: Tensor[(1, 8, 32, 32), float32], %w1: Tensor[(8, 8, 3, 3), float32],
      %w2: Tensor[(16, 8, 3, 3), float32], %w3: Tensor[(16, 8, 1, 1), float32], %b: Tensor[(16), float32]) {
    %0 = nn.relu(nn.conv2d(%x, %w1, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]));
    %1 = nn.conv2d(%0, %w2, strides=[2, 2], padding=[1, 1, 1, 1], channels=16, kernel_size=[3, 3]);
    %2 = nn.conv2d(%0, %w3, strides=[2, 2], padding=[0, 0, 0, 0], channels=16, kernel_size=[1, 1]);
    %3 = nn.relu(add(nn.bias_add(%1, %b), %2));
    %4 = split(%3, indices_or_sections=2, axis=1);
    %5 = concatenate((%4.1, %4.0), axis=1);
    nn.softmax(nn.batch_flatten(nn.global_avg_pool2d(%5)))
  }";

#[test]
fn one_operator_is_left_of_a_network_and_its_tensors_are_small() {
    assert_eq!(left(NETWORK, &["nn.softmax"]), "def @main(%p0: Tensor[(1, 1), float32]) {\n  nn.softmax(%p0)\n}");
    assert_eq!(
        left(NETWORK, &["nn.conv2d", "strides"]),
        "def @main(%w2: Tensor[(1, 1, 1, 1), float32], %p0: Tensor[(1, 1, 1, 1), float32]) {\n  nn.conv2d(%p0, %w2, strides=[2, 2])\n}"
    );
}

#[test]
fn what_belongs_together_stays_together() {
    let left = left(NETWORK, &["nn.bias_add", "nn.relu", "nn.conv2d"]);
    assert_eq!(left.matches("nn.").count(), 3, "{left}");
    assert!(!left.contains("32, 32") && !left.contains("split"), "{left}");
}

#[test]
fn functions_branches_and_matches_go_unless_they_are_looked_for() {
    let text = "type List { Nil, Cons(Tensor[(3), float32], List) }
      def @length(%l: List, %n: int32, %unused: float32) -> int32 {
        match (%l) { Nil => %n, Cons(%h, %t) => @length(%t, add(%n, 1), %unused) }
      }
      def @main(%x: Tensor[(3), float32], %c: bool, %y: float32) {
        %0 = if (%c) { tanh(%x) } else { exp(%x) };
        let %l = Cons(%0, Cons(%x, Nil));
        (@length(%l, 0, %y), nn.relu(%0))
      }";
    // Not even the data type is left.
    assert_eq!(left(text, &["tanh"]), "def @main(%x: Tensor[(1), float32]) {\n  tanh(%x)\n}");
    let matching = left(text, &["match", "@length("]);
    assert!(!matching.contains("%unused") && !matching.contains("tanh") && !matching.contains("exp"), "{matching}");
}

#[test]
fn data_types_go_with_those_that_are_made_of_them() {
    let text = "type Leaf { Number(float32) }
      type Even { Zero, After(Odd) }
      type Odd { Then(Even, Leaf) }
      type Used { Only(Leaf) }
      def @main(%x: float32) { match (Only(Number(%x))) { Only(%l) => match (%l) { Number(%n) => tanh(%n) } } }";
    let kept = left(text, &["Only(%"]);
    assert!(
        kept.contains("type Used") && kept.contains("type Leaf") && !kept.contains("Even") && !kept.contains("Odd"),
        "{kept}"
    );
}

#[test]
fn extents_may_be_as_large_as_they_come() {
    let text = "def @main(%x: Tensor[(1, 1, 4294967296), bool]) { logical_not(%x) }";
    assert_eq!(left(text, &["4294967296"]), "def @main(%x: Tensor[(1, 1, 4294967296i64), bool]) {\n  %x\n}");
}

#[test]
fn types_that_are_too_long_to_be_written_are_left_out() {
    let pairs: String = (1..=20).map(|n| format!("let %a{n} = (%a{}, %a{});", n - 1, n - 1)).collect();
    let text = format!("def @main(%a0: float32) {{ {pairs} tanh(%a0) }}");
    assert_eq!(left(&text, &["tanh"]), "def @main(%a0: float32) {\n  tanh(%a0)\n}");
}

#[test]
fn values_that_take_too_long_are_not_known() {
    let text = "def @endless(%x: float32) -> float32 { @endless(%x) } def @main(%x: float32) { tanh(exp(@endless(%x))) }";
    let mut test = Has { words: &["tanh"], asked: vec![], stop_after: usize::MAX };
    let bounds = Bounds { max_runs: usize::MAX, timeout: Duration::ZERO };
    let outcome = reduce(program(text), "main", Some(vec![("x".into(), Tensor::scalar(1f32))]), bounds, &mut test);
    let Candidate { text, values } = outcome.unwrap_or_else(|error| panic!("{error:?}")).smallest;
    let [(name, value)] = &values.unwrap_or_default()[..] else { panic!("{text}") };
    assert!(text.contains(&format!("tanh(%{name})")) && !text.contains("endless"), "{text}");
    assert_eq!(value, &Tensor::scalar(1f32));
}

#[test]
fn a_value_stays_that_of_its_parameter_whatever_its_name_becomes() {
    // The text of a module has each name once.
    let text = "def @before(%x: float32, %y: (float32, float32)) { add(%x, %y.1) }
      def @main(%y: (float32, float32), %x: float32) { tanh(@before(%x, %y)) }";
    let values = [("y.0", 2f32), ("y.1", 3.0), ("x", 1.0)].map(|(name, value)| (name.to_owned(), Tensor::scalar(value)));
    let (outcome, asked) = tried(text, Some(values.to_vec()), &["add", "def @before"], usize::MAX);
    assert!(outcome.is_ok_and(|outcome| outcome.done));
    for candidate in asked {
        let program = program(&candidate.text);
        let slots = run::entry(&program.module, "main").expect("it has an entry").slots;
        let leaves = slots.iter().flat_map(|slot| leaves::leaves(&slot.name, slot.ty, &program.module.types).expect("data"));
        let names: Vec<String> = leaves.map(|leaf| leaf.name).collect();
        let given: Vec<String> = candidate.values.iter().flatten().map(|(name, _)| name.clone()).collect();
        assert_eq!(given, names, "{}", candidate.text);
    }
}

#[test]
fn a_new_parameter_has_the_value_that_it_stands_for() {
    let text = "def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(3), float32]) { nn.relu(add(exp(%x), %y)) }";
    let x = Tensor::from_vec(&[2, 3], vec![1f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let y = Tensor::from_vec(&[3], vec![10f32, 20.0, 30.0]);
    let (outcome, asked) = tried(text, Some(vec![("x".into(), x), ("y".into(), y)]), &["nn.relu"], usize::MAX);
    let smallest = outcome.unwrap_or_else(|error| panic!("{error:?}")).smallest;
    let values = smallest.values.expect("they were given");
    let [(name, value)] = &values[..] else { panic!("{values:?} of {}", smallest.text) };
    assert!(smallest.text.contains(&format!("nn.relu(%{name})")), "{}", smallest.text);
    assert_eq!(value.to_vec::<f32>(), Some(vec![1f32.exp() + 10.0]), "the first element of what was added");
    // Every candidate had a value for each of its parameters, of its type.
    for candidate in asked {
        let program = program(&candidate.text);
        for slot in run::entry(&program.module, "main").expect("it has an entry").slots {
            let leaves = leaves::leaves(&slot.name, slot.ty, &program.module.types).expect("parameters are data");
            for leaf in leaves {
                let value = candidate.values.iter().flatten().find(|(name, _)| *name == leaf.name);
                assert!(value.is_some_and(|(_, tensor)| leaf.accepts(tensor)), "%{} of {}", leaf.name, candidate.text);
            }
        }
    }
}

#[test]
fn the_same_comes_out_twice_and_no_text_is_tried_twice() {
    let words = ["nn.conv2d", "nn.bias_add"];
    let (one, asked) = tried(NETWORK, None, &words, usize::MAX);
    let (two, again) = tried(NETWORK, None, &words, usize::MAX);
    let texts = |asked: &[Candidate]| asked.iter().map(|candidate| candidate.text.clone()).collect::<Vec<_>>();
    assert_eq!(texts(&asked), texts(&again));
    let text = |outcome: Result<Outcome, Diagnostic>| outcome.map(|outcome| outcome.smallest.text).ok();
    assert_eq!(text(one), text(two));
    let distinct: FxHashSet<String> = texts(&asked).into_iter().collect();
    assert_eq!(distinct.len(), asked.len());
}

#[test]
fn a_reduction_that_is_stopped_has_the_smallest_so_far() {
    let (outcome, asked) = tried(NETWORK, None, &["nn.softmax"], 4);
    let outcome = outcome.unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!((outcome.done, outcome.counts.runs, asked.len()), (false, 4, 4));
    let whole = Size::of(&program(NETWORK).module, NETWORK);
    assert!(outcome.size < whole && outcome.counts.kept > 0 && outcome.smallest.text.contains("nn.softmax"));
    let mut test = Has { words: &["nn.softmax"], asked: vec![], stop_after: 3 };
    let outcome =
        reduce(program(NETWORK), "main", None, bounds(usize::MAX), &mut test).unwrap_or_else(|error| panic!("{error:?}"));
    assert!(!outcome.done && test.asked.len() == 3);
}

#[test]
fn there_must_be_something_to_hold_on_to() {
    let (outcome, _) = tried(NETWORK, None, &["no such word"], usize::MAX);
    assert_eq!(outcome.err().map(|error| error.code), Some(codes::E0735));
    let mut test = Has { words: &[], asked: vec![], stop_after: usize::MAX };
    let missing = reduce(program(NETWORK), "other", None, bounds(usize::MAX), &mut test);
    assert_eq!(missing.err().map(|error| error.code), Some(codes::E0706));
}
