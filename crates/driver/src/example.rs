//! Examples: a call written as text with its expected result, as in the `// run:` lines of golden files.
//!
//! - `@f([-2, 3]) == [-1, 3]`: integers exactly, floats within 1e-6 of the expected magnitude;
//! - `@f([1]) ~1e-3 [2.718]`: floats within `1e-3 + 1e-3 * |expected|`;
//! - `@f([0]) error E0502`: the run must fail with this code.
//!
//! An argument is a literal, typed by its parameter. A number or word (`inf`, `nan`, `true`) fills a tensor of a known shape;
//! nested lists write all elements; a flat list may replace them if the shape is known. Tuples are written in parentheses, one of
//! one field as `(1,)`, values of data types as in the program: `Cons(1, Nil)`. The result is read by its actual type. Values that are too long to write are given as `@x.npy`,
//! `@b.npz:key`, `@pic.png:PRESET` (beside the program), `zeros`, `ones` and `rand:seed=N`, as in `relayc run -i`.

use super::Program;
use super::bind::Bound;
use super::bind::leaves::Leaf;
use super::bind::source::{Files, Filling, Source};
use super::compare::values::{Allowed, agree};
use super::run::text::of_data_type;
use super::run::{entry, to_bound};
use super::sized::sized;
use super::written::{Node, Reader, tensor};
use relayc_base::diag::Diagnostic;
use relayc_base::diag::codes::Code;
use relayc_base::text::count;
use relayc_interp::{self as interp, Interp, Limits, Value};
use relayc_ir::tensor::Tensor;
use relayc_ir::tensor::compare::{Incomparable, Tolerance, compare};
use relayc_ir::types::{DType, Dim, Ty, TyData, Types};
use relayc_ir::{CtorId, Module, VarId};
use relayc_ops as ops;
use std::cell::RefCell;
use std::path::PathBuf;

/// A call and its expected outcome.
#[derive(Clone, PartialEq, Debug)]
pub struct Example {
    function: String,
    args: Vec<Node>,
    expected: Expected,
}

#[derive(Clone, PartialEq, Debug)]
enum Expected {
    /// `None` is the default tolerance.
    Value(Node, Option<f64>),
    /// A diagnostic of this code.
    Failure(String),
}

impl Example {
    /// Reads `@f(args) == value`, `@f(args) ~tolerance value` or `@f(args) error CODE`.
    pub fn parse(text: &str) -> Result<Example, String> {
        let mut reader = Reader { rest: text.trim() };
        let function = reader.word();
        let Some(function) = function.strip_prefix('@').filter(|name| !name.is_empty()) else {
            return Err(format!("expected `@function(…)`, found `{text}`"));
        };
        reader.expect('(')?;
        let (args, _) = reader.items(')', 0)?;
        let expected = if reader.eat("==") {
            Expected::Value(reader.value(0)?, None)
        } else if reader.eat("~") {
            let number = reader.word();
            let tolerance = number.parse().ok().filter(|t: &f64| *t >= 0.0 && t.is_finite());
            Expected::Value(reader.value(0)?, Some(tolerance.ok_or(format!("`{number}` is no tolerance"))?))
        } else if reader.eat("error") {
            let code = reader.word();
            let known = Code::find(&code).ok_or_else(|| format!("there is no code `{code}`"))?;
            Expected::Failure(known.id().to_owned())
        } else {
            return Err(format!("expected `==`, `~` or `error`, found {}", reader.found()));
        };
        if !reader.rest.is_empty() {
            return Err(format!("`{}` after the end", reader.rest));
        }
        Ok(Example { function: function.to_owned(), args, expected })
    }
}

/// The mark of a line with an example.
pub const RUN: &str = "run:";

/// The text of each comment line with a mark, with its number from 1. A line continues on the next one if that begins with `//` and
/// three blanks.
pub fn lines(text: &str, mark: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (i, line) in text.lines().enumerate() {
        let Some(comment) = line.trim().strip_prefix("//") else {
            goes_on = false;
            continue;
        };
        match (comment.trim().strip_prefix(mark), lines.last_mut()) {
            (Some(run), _) => lines.push((i + 1, run.trim().to_owned())),
            (None, Some((_, run))) if goes_on && comment.starts_with("   ") => {
                run.push(' ');
                run.push_str(comment.trim());
                continue;
            }
            _ => {}
        }
        goes_on = comment.trim().starts_with(mark);
    }
    lines
}

impl Example {
    /// The function that is called, without `@`.
    pub fn function(&self) -> &str {
        &self.function
    }

    /// Whether its arguments contain constructors; such a call can be made by other functions alone, or by a [`Runner`].
    pub fn has_constructors(&self) -> bool {
        let mut pending: Vec<&Node> = self.args.iter().collect();
        while let Some(node) = pending.pop() {
            match node {
                // A constructor without fields.
                Node::Word(word) if word.starts_with(|first: char| first.is_ascii_uppercase()) => return true,
                Node::Word(_) => {}
                Node::List(items) | Node::Tuple(items) => pending.extend(items),
                Node::Ctor(..) => return true,
            }
        }
        false
    }
}

/// Runs examples of one program on the reference interpreter.
pub struct Runner<'a> {
    program: &'a Program,
    lowered: interp::LoweredModule,
    folder: PathBuf,
    files: RefCell<Files>,
    /// Those of the program, and those of the fields of data types.
    types: RefCell<Types>,
}

impl<'a> Runner<'a> {
    /// Prepares to run the examples of a program without errors; files that examples name are read from `folder`.
    pub fn new(program: &'a Program, folder: impl Into<PathBuf>) -> Runner<'a> {
        let types = RefCell::new(program.module.types.clone());
        Runner { program, lowered: interp::lower(&program.module), folder: folder.into(), files: RefCell::default(), types }
    }

    /// Checks an example; `Err` says how it fails.
    pub fn check(&self, example: &Example) -> Result<(), String> {
        match (&example.expected, self.call(example)?) {
            (Expected::Value(node, tolerance), Ok(value)) => self.agrees(&value, node, *tolerance),
            (Expected::Value(..), Err(failure)) => Err(format!("it failed: {}[{}]", failure.message, failure.code.id())),
            (Expected::Failure(code), Ok(value)) => Err(format!("expected failure {code}, found {}", self.preview(&value))),
            (Expected::Failure(code), Err(failure)) if failure.code.id() == code => Ok(()),
            (Expected::Failure(code), Err(failure)) => {
                Err(format!("expected failure {code}, found {}: {}", failure.code.id(), failure.message))
            }
        }
    }

    /// The outcome of an example's call. `Err` if it cannot be made.
    fn call(&self, example: &Example) -> Result<Result<Value, Box<Diagnostic>>, String> {
        let args = self.values(example)?;
        let module = &self.program.module;
        let global = module.find_global(&example.function).expect("its arguments were read");
        let sized = match self.sized(example, &args) {
            Ok(sized) => sized,
            Err(wrong) => return Ok(Err(wrong)),
        };
        if let Some(module) = sized {
            let lowered = interp::lower(&module);
            return Ok(Interp::new(&module, ops::table(), &lowered, Limits::default()).call_global(global, args));
        }
        Ok(Interp::new(module, ops::table(), &self.lowered, Limits::default()).call_global(global, args))
    }

    /// The program with the sizes of these arguments, if it has any.
    fn sized(&self, example: &Example, args: &[Value]) -> Result<Option<Module>, Box<Diagnostic>> {
        let module = &self.program.module;
        let bound: Option<Vec<Bound>> = args.iter().map(|value| to_bound(value.clone()).ok()).collect();
        match (bound, entry(module, &example.function)) {
            (Some(bound), Ok(entry)) if module.has_sizes() => sized(module, entry.callee(module), &bound),
            _ => Ok(None),
        }
    }

    /// The arguments of an example's call. `Err` if it cannot be made.
    pub fn arguments(&self, example: &Example) -> Result<Vec<Bound>, String> {
        self.values(example)?.into_iter().map(|value| to_bound(value).map_err(|diagnostic| diagnostic.message)).collect()
    }

    /// The outcome of an example's call, as data. `Err` if it cannot be made.
    pub fn outcome(&self, example: &Example) -> Result<Result<Bound, Box<Diagnostic>>, String> {
        Ok(self.call(example)?.and_then(|value| to_bound(value).map_err(Box::new)))
    }

    fn values(&self, example: &Example) -> Result<Vec<Value>, String> {
        let module = &self.program.module;
        let name = &example.function;
        let global = module.find_global(name).ok_or_else(|| format!("there is no function `@{name}`"))?;
        let params = &module.funcs[module.globals[global].func].params;
        if params.len() != example.args.len() {
            return Err(format!("`@{name}` takes {}, found {}", count(params.len(), "argument"), example.args.len()));
        }
        let argument = |(&param, node): (&VarId, &Node)| {
            let var = &module.vars[param];
            let ty = var.checked_ty.or(var.ty).unwrap_or(Ty::ERROR);
            self.argument(&var.name, ty, node).map_err(|why| format!("argument `%{}`: {why}", var.name))
        };
        params.iter().zip(&example.args).map(argument).collect()
    }

    /// A call of a function with random inputs, if there is such a function.
    pub fn random(&self, function: &str) -> Option<Example> {
        let module = &self.program.module;
        let params = &module.funcs[module.globals[module.find_global(function)?].func].params;
        let args = (0..params.len()).map(|i| Node::Word(format!("rand:seed={}", i + 1))).collect();
        Some(Example { function: function.to_owned(), args, expected: Expected::Failure(String::new()) })
    }

    /// Checks that another form of the program gives the same outcome for a call: the same failure, equal integers, and floats
    /// within 1e-4 of the output's scale, which allows for folded factors. `Err` says how they differ.
    pub fn same(&self, other: &Runner, example: &Example) -> Result<(), String> {
        let (before, after) = (self.call(example)?, other.call(example)?);
        agree(&[], (&self.program.module, &before), (&other.program.module, &after), Allowed::OfScale)
    }

    /// A written value as a value of a type.
    fn argument(&self, name: &str, ty: Ty, node: &Node) -> Result<Value, String> {
        let data = self.types.borrow().data(ty).clone();
        match (data, node) {
            (TyData::Tensor { shape, dtype }, node) => self.tensor(name, &shape, dtype, node).map(Value::Tensor),
            (TyData::Tuple(types), Node::Tuple(items)) if types.len() == items.len() => {
                self.arguments_of(name, &types, items).map(Value::tuple)
            }
            (TyData::Adt { name: of, args }, node) if node.constructor().is_some() => {
                let module = &self.program.module;
                let (ctor_name, items) = node.constructor().expect("just seen");
                let ctor = module.ctors.ids().find(|&id| {
                    let ctor = &module.ctors[id];
                    *ctor.name == *ctor_name && module.adts[ctor.adt].name == of
                });
                let ctor = ctor.ok_or_else(|| format!("`{of}` has no constructor `{ctor_name}`"))?;
                let n_inputs = module.ctors[ctor].inputs.len();
                if n_inputs != items.len() {
                    return Err(format!("`{ctor_name}` has {}, found {}", count(n_inputs, "field"), items.len()));
                }
                let types = self.field_types(ctor, &args);
                Ok(Value::adt(ctor, self.arguments_of(name, &types, items)?))
            }
            _ => Err(format!("this is no `{}`", self.types.borrow().text(ty))),
        }
    }

    /// Written fields as values of their types.
    fn arguments_of(&self, name: &str, types: &[Ty], items: &[Node]) -> Result<Vec<Value>, String> {
        let field = |(i, (&ty, item)): (usize, (&Ty, &Node))| self.argument(&format!("{name}.{i}"), ty, item);
        types.iter().zip(items).enumerate().map(field).collect()
    }

    /// The types of the fields of a constructor, given the arguments of its type.
    fn field_types(&self, ctor: CtorId, args: &[Ty]) -> Vec<Ty> {
        let ctor = &self.program.module.ctors[ctor];
        let mut types = self.types.borrow_mut();
        let TyData::Fn { type_params, .. } = types.data(ctor.ty).clone() else {
            unreachable!("a constructor has a function type")
        };
        let of_param = |_: &mut Types, ty| args.get(type_params.iter().position(|&param| param == ty)?).copied();
        ctor.inputs.iter().map(|&input| types.rewrite(input, of_param)).collect()
    }

    /// A written tensor, or one from the source that a word names.
    fn tensor(&self, name: &str, shape: &[Dim], dtype: DType, node: &Node) -> Result<Tensor, String> {
        let Node::Word(word) = node else { return tensor(shape, dtype, node) };
        let file = word.strip_prefix('@').map(|file| format!("@{}", self.folder.join(file).display()));
        if file.is_none() && Filling::parse(word).is_none() {
            return tensor(shape, dtype, node);
        }
        let leaf = Leaf::new(name.to_owned(), shape.to_vec(), dtype);
        let source = Source::parse(file.as_deref().unwrap_or(word))?;
        // A pipe or device beside a test may never end.
        if let Source::File { path, .. } = source
            && std::fs::metadata(path).is_ok_and(|found| !found.is_file())
        {
            return Err(format!("`{path}` is not a regular file"));
        }
        let found = self.files.borrow_mut().tensor(&source, &leaf, word);
        let found = found.map_err(|diagnostic| diagnostic.message)?;
        if leaf.accepts(&found) { Ok(found) } else { Err(format!("`{word}` is {}, not {}", found.type_text(), leaf.type_text())) }
    }

    fn agrees(&self, value: &Value, node: &Node, tolerance: Option<f64>) -> Result<(), String> {
        match (value, node) {
            (Value::Tensor(got), node) => self.tensor_agrees(got, node, tolerance),
            (Value::Tuple(fields), Node::Tuple(items)) if fields.len() == items.len() => {
                for (i, (field, item)) in fields.iter().zip(items).enumerate() {
                    self.agrees(field, item, tolerance).map_err(|why| format!("field {i}: {why}"))?;
                }
                Ok(())
            }
            (Value::Adt(ctor, fields), node) => {
                let name = &self.program.module.ctors[*ctor].name;
                match node.constructor() {
                    Some((written, items)) if *written == **name && fields.len() == items.len() => {
                        for (i, (field, item)) in fields.iter().zip(items).enumerate() {
                            let within = |why| format!("field {i} of `{name}`: {why}");
                            self.agrees(field, item, tolerance).map_err(within)?;
                        }
                        Ok(())
                    }
                    _ => Err(format!("found {}", self.preview(value))),
                }
            }
            _ => Err(format!("found {}", self.preview(value))),
        }
    }

    fn tensor_agrees(&self, got: &Tensor, node: &Node, tolerance: Option<f64>) -> Result<(), String> {
        let shape: Vec<Dim> = got.shape().iter().map(|&dim| Dim::known(dim as i64)).collect();
        let found = || format!("found {} {}", got.type_text(), got.preview());
        let expected = self.tensor("out", &shape, got.dtype(), node).map_err(|why| format!("{why}; {}", found()))?;
        let tolerance = match tolerance {
            Some(tolerance) => Tolerance { rtol: tolerance, atol: tolerance },
            None => Tolerance { rtol: 1e-6, atol: 0.0 },
        };
        match compare(got, &expected, tolerance) {
            Ok(comparison) if comparison.agrees() => Ok(()),
            Ok(comparison) => {
                let worst = comparison.worst.map_or(String::new(), |worst| {
                    format!("; worst at {:?}: {} instead of {}", worst.index, worst.got, worst.expected)
                });
                let (n, of) = (comparison.n_mismatches, comparison.n_elements);
                Err(format!("{n} of {of} elements differ{worst}; {}", found()))
            }
            Err(Incomparable::Shape { .. } | Incomparable::DType { .. }) => Err(found()),
        }
    }

    fn preview(&self, value: &Value) -> String {
        match value.tensors() {
            Some(tensors) => {
                let texts: Vec<String> = tensors.iter().map(|(_, tensor)| tensor.preview()).collect();
                if matches!(value, Value::Tensor(_)) { texts.concat() } else { format!("({})", texts.join(", ")) }
            }
            None => of_data_type(&self.program.module, value).unwrap_or_else(|| "what is no data".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Phase, check_text};

    const PROGRAM: &str = "type List[A] { Cons(A, List[A]), Nil }\n\
                           def @f(%x: Tensor[(2), float32], %p: (int32, Tensor[(?, 2), bool])) { (%x, %p.1) }\n\
                           def @relu(%x: Tensor[(2), float32]) { nn.relu(%x) }\n\
                           def @twice(%l: List[(int32, Tensor[(2), float32])]) { match (%l) { Cons(%h, Nil) => Cons(%h, Cons(%h, Nil)), _ => %l } }";

    fn check(text: &str) -> Result<(), String> {
        let program = check_text("x", PROGRAM, Phase::Infer);
        Runner::new(&program, ".").check(&Example::parse(text)?)
    }

    #[test]
    fn what_holds() {
        for text in [
            "@relu([-1, 2]) == [0, 2]",
            "@relu(-1) == 0",
            "@relu([-inf, nan]) == [0, nan]",
            "@relu(ones) == ones",
            "@f(rand:seed=3, (3, [])) error E0502",
            "@relu([1, 2.0004]) ~1e-3 [1, 2]",
            "@f([1, 2], (3, [[True, false]])) == ([1, 2], [[1, 0]])",
            "@f( 1 , (3, []) ) error E0502",
            "@twice(Nil) == Nil",
            "@twice(Cons((1, [2, 3]), Nil)) == Cons((1, [2, 3]), Cons((1, [2, 3]), Nil))",
            "@twice(Cons((1, 2), Nil)) ~1e-3 Cons((1, 2.0004), Cons((1, 2), Nil))",
        ] {
            let held = check(text);
            let expected_failure = text.contains("error");
            assert_eq!(held.is_err(), expected_failure, "{text}: {held:?}");
        }
    }

    #[test]
    fn what_does_not_hold_says_why() {
        for (text, why) in [
            ("@relu([-1, 2]) == [0, 3]", "1 of 2 elements differ; worst at [1]: 2.0 instead of 3.0"),
            ("@relu([1, 2, 3]) == 0", "argument `%x`: shape [3] is written, it has shape [2]"),
            ("@relu([1, 2]) == [[1, 2]]", "shape [1, 2] is written, it has shape [2]; found Tensor[(2), float32] [1.0, 2.0]"),
            ("@relu() == 0", "`@relu` takes 1 argument, found 0"),
            ("@relu(@none.npy) == 0", "argument `%x`: cannot read `./none.npy`"),
            ("@g(1) == 1", "there is no function `@g`"),
            ("@relu([1, 2]) error E0502", "expected failure E0502, found [1.0, 2.0]"),
            ("@relu([[1], [2, 3]]) == 0", "lists of different lengths side by side"),
            ("relu(1) == 1", "expected `@function(…)`, found `relu(1) == 1`"),
            ("@relu(1) = 1", "expected `==`, `~` or `error`, found `= 1`"),
            ("@relu(1) == 1 2", "`2` after the end"),
            ("@relu(1) == ", "expected a value, found the end"),
            ("@relu(1)", "expected `==`, `~` or `error`, found the end"),
            ("@relu(1f) == 1", "argument `%x`: `1f` is no float32 number: write `1`"),
            ("@relu(1) error E9999", "there is no code `E9999`"),
            ("@relu(1) == Cons(1, Nil)", "`Cons(…)` where a tensor belongs"),
            ("@relu(Nil) == 1", "argument `%x`: `Nil` is no float32 number"),
            ("@twice(Nill) == Nil", "argument `%l`: `List` has no constructor `Nill`"),
            ("@twice(Cons(1)) == Nil", "argument `%l`: `Cons` has 2 fields, found 1"),
            ("@twice(Cons(1, Nil)) == Nil", "argument `%l`: this is no `(int32, Tensor[(2), float32])`"),
            ("@twice(1) == Nil", "argument `%l`: `List` has no constructor `1`"),
            ("@twice(Nil) == Cons(1, Nil)", "found Nil"),
            ("@twice(Cons((1, 2), Nil)) == Cons((1, 2), Nil)", "field 1 of `Cons`: found Cons((1, [2.0, 2.0]), Nil)"),
        ] {
            let error = check(text).expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
