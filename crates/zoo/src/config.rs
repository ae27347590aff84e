//! The flags of a network, and their values from the command line.
//!
//! A value is checked when it is set, so a network is built from numbers in range. The network itself checks rules about two
//! flags together (`--layers` against the image's height).

use super::{Network, ZooError};
use relayc_base::text::{escape_control, join_words, nearest};
use relayc_ir::Module;
use relayc_ir::types::DType;

#[derive(Debug)]
pub struct Flag {
    /// The name, without the leading dashes.
    pub name: &'static str,
    pub(crate) kind: FlagKind,
    /// The default, as it would be written; empty for a switch.
    pub default: &'static str,
    pub doc: &'static str,
}

#[derive(Debug)]
pub(crate) enum FlagKind {
    /// A number from 1 to the given one.
    Count(i64),
    OneOf(&'static [i64]),
    /// A number for each axis, separated by commas.
    Shape(&'static [&'static str]),
    Word(&'static [&'static str]),
    /// A switch: on if it is given, without a value.
    Switch,
}

/// The largest dimension: TVM's dimensions are int32.
pub(crate) const MAX_DIM: i64 = i32::MAX as i64;

impl Flag {
    pub(crate) const BATCH: Flag = Flag::batch("1");
    pub(crate) const CLASSES: Flag = Flag::classes("1000");
    pub(crate) const IMAGE: Flag = Flag::image("3,224,224");
    pub(crate) const LAYOUT: Flag =
        Flag { name: "layout", kind: FlagKind::Word(&["NCHW", "NHWC"]), default: "NCHW", doc: "The order of the image's axes." };
    pub(crate) const DTYPE: Flag = Flag {
        name: "dtype",
        kind: FlagKind::Word(&["float16", "float32", "float64"]),
        default: "float32",
        doc: "The dtype of the input and of every weight.",
    };

    pub(crate) const fn batch(default: &'static str) -> Flag {
        Flag { name: "batch", kind: FlagKind::Count(MAX_DIM), default, doc: "How many inputs are computed at once." }
    }

    pub(crate) const fn classes(default: &'static str) -> Flag {
        Flag { name: "classes", kind: FlagKind::Count(MAX_DIM), default, doc: "How many classes the result tells apart." }
    }

    pub(crate) const fn image(default: &'static str) -> Flag {
        let axes = &["channels", "height", "width"];
        Flag {
            name: "image-shape",
            kind: FlagKind::Shape(axes),
            default,
            doc: "The shape of one input, in the order of the layout.",
        }
    }

    /// Its values, in words: `11, 13, 16 or 19`.
    pub(crate) fn values(&self) -> String {
        match self.kind {
            FlagKind::Count(max) => format!("a number from 1 to {max}"),
            FlagKind::OneOf(numbers) => join_words(&numbers.iter().map(i64::to_string).collect::<Vec<_>>(), "or"),
            FlagKind::Shape(axes) => format!("{} numbers of at least 1, such as {}", axes.len(), self.default),
            FlagKind::Word(words) => join_words(&words.iter().map(|word| word.to_string()).collect::<Vec<_>>(), "or"),
            FlagKind::Switch => "no value".to_string(),
        }
    }

    fn read(&self, text: &str) -> Option<Value> {
        let number = |text: &str, max: i64| text.parse::<i64>().ok().filter(|n| (1..=max).contains(n));
        match self.kind {
            FlagKind::Count(max) => number(text, max).map(Value::Number),
            FlagKind::OneOf(numbers) => number(text, MAX_DIM).filter(|n| numbers.contains(n)).map(Value::Number),
            FlagKind::Shape(axes) => {
                let dims: Option<Vec<i64>> = text.split(',').map(|dim| number(dim.trim(), MAX_DIM)).collect();
                dims.filter(|dims| dims.len() == axes.len()).map(Value::Shape)
            }
            FlagKind::Word(words) => words.iter().find(|&&word| word == text).map(|&word| Value::Word(word)),
            FlagKind::Switch => None,
        }
    }

    fn default_value(&self) -> Value {
        match self.kind {
            FlagKind::Switch => Value::Switch(false),
            _ => self.read(self.default).expect("a flag accepts its own default"),
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
enum Value {
    Number(i64),
    Shape(Vec<i64>),
    Word(&'static str),
    Switch(bool),
}

#[derive(Clone, Debug)]
pub struct Config {
    network: &'static Network,
    /// In the order of the network's flags.
    values: Vec<Value>,
    given: Vec<bool>,
}

impl Config {
    /// The defaults of all flags.
    pub fn new(network: &'static Network) -> Config {
        let values = network.flags.iter().map(Flag::default_value).collect();
        Config { network, values, given: vec![false; network.flags.len()] }
    }

    /// Parses the flags of a command line: `--layers 20`, `--layers=20`, `--batch-norm`.
    pub fn parse(network: &'static Network, args: &[String]) -> Result<Config, ZooError> {
        let mut config = Config::new(network);
        let mut args = args.iter().map(String::as_str);
        while let Some(arg) = args.next() {
            let Some(flag) = arg.strip_prefix("--") else {
                return Err(ZooError::new(format!("expected a flag, found `{}`", escape_control(arg)), network.flags_in_words()));
            };
            let (name, mut value) = match flag.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (flag, None),
            };
            if value.is_none() && !network.flags.iter().any(|flag| flag.name == name && matches!(flag.kind, FlagKind::Switch)) {
                value = args.next();
            }
            config.set(name, value)?;
        }
        Ok(config)
    }

    /// Sets one flag, named without dashes; a switch takes no value.
    pub(crate) fn set(&mut self, name: &str, value: Option<&str>) -> Result<(), ZooError> {
        let flags = self.network.flags;
        let Some(index) = flags.iter().position(|flag| flag.name == name) else {
            return Err(unknown_flag(self.network, name));
        };
        let flag = &flags[index];
        if std::mem::replace(&mut self.given[index], true) {
            return Err(ZooError::new(format!("`--{name}` is given twice"), format!("`--{name}` takes {}", flag.values())));
        }
        self.values[index] = match (&flag.kind, value) {
            (FlagKind::Switch, None) => Value::Switch(true),
            (FlagKind::Switch, Some(text)) => return Err(bad_value(flag, &format!("`{}`", escape_control(text)))),
            (_, None) => return Err(bad_value(flag, "nothing")),
            (_, Some(text)) => flag.read(text).ok_or_else(|| bad_value(flag, &format!("`{}`", escape_control(text))))?,
        };
        Ok(())
    }

    /// Builds the network with these values; inference finds the types of its weights.
    pub fn build(&self) -> Result<Module, ZooError> {
        (self.network.build)(self)
    }

    pub(crate) fn number(&self, flag: &str) -> i64 {
        match self.value(flag) {
            Value::Number(number) => *number,
            other => panic!("zoo: --{flag} is no number but {other:?}"),
        }
    }

    pub(crate) fn shape(&self, flag: &str) -> &[i64] {
        match self.value(flag) {
            Value::Shape(dims) => dims,
            other => panic!("zoo: --{flag} is no shape but {other:?}"),
        }
    }

    pub(crate) fn word(&self, flag: &str) -> &'static str {
        match self.value(flag) {
            Value::Word(word) => word,
            other => panic!("zoo: --{flag} is no word but {other:?}"),
        }
    }

    pub(crate) fn switch(&self, flag: &str) -> bool {
        *self.value(flag) == Value::Switch(true)
    }

    pub(crate) fn dtype(&self) -> DType {
        DType::parse(self.word("dtype")).expect("the flag allows names of dtypes only")
    }

    /// The batch size, then the shape of one input.
    pub(crate) fn batch_of(&self, shape: &str) -> Vec<i64> {
        [&[self.number("batch")], self.shape(shape)].concat()
    }

    fn value(&self, name: &str) -> &Value {
        let index = self.network.flags.iter().position(|flag| flag.name == name);
        &self.values[index.unwrap_or_else(|| panic!("zoo: {} declares no flag --{name}", self.network.name))]
    }
}

fn unknown_flag(network: &Network, name: &str) -> ZooError {
    let message = format!("`{}` has no flag `--{}`", network.name, escape_control(name));
    match nearest(name, network.flags.iter().map(|flag| flag.name)) {
        Some(near) => ZooError::new(message, format!("did you mean `--{near}`? {}", network.flags_in_words())),
        None => ZooError::new(message, network.flags_in_words()),
    }
}

fn bad_value(flag: &Flag, found: &str) -> ZooError {
    ZooError::new(
        format!("expected {} after `--{}`, found {found}", flag.values(), flag.name),
        match flag.kind {
            FlagKind::Shape(axes) => {
                format!("the axes are {}", join_words(&axes.iter().map(|a| a.to_string()).collect::<Vec<_>>(), "and"))
            }
            FlagKind::Switch => format!("write `--{}` alone", flag.name),
            _ => format!("write `--{} {}`", flag.name, flag.default),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::*;

    fn parse(name: &str, args: &str) -> Result<Config, String> {
        let args: Vec<String> = args.split_whitespace().map(str::to_string).collect();
        Config::parse(find(name).expect("a network"), &args).map_err(|e| e.message)
    }

    #[test]
    fn values_are_read() {
        let config = parse("resnet", "--layers 20 --image-shape=28,28,3 --layout NHWC --dtype float16").expect("valid flags");
        assert_eq!((config.number("layers"), config.word("layout")), (20, "NHWC"));
        assert_eq!(config.batch_of("image-shape"), [1, 28, 28, 3]);
        assert_eq!(config.dtype(), DType::F16);
        assert!(parse("vgg", "--batch-norm").expect("valid flags").switch("batch-norm"));
    }

    #[test]
    fn hostile_values_are_refused() {
        for args in [
            "--batch 0",
            "--batch -1",
            "--batch 2147483648",
            "--batch 99999999999999999999",
            "--batch",
            "--batch=",
            "--batch 1 --batch 2",
            "--image-shape 3,224",
            "--image-shape 3,224,0",
            "--image-shape 3,224,224,",
            "--dtype int8",
            "--batch-norm=yes",
            "--layers 12",
            "--layout NCHW",
            "batch",
        ] {
            assert!(parse("vgg", args).is_err(), "{args}");
        }
        assert_eq!(parse("mlp", "--layres 3").expect_err("no such flag"), "`mlp` has no flag `--layres`");
        let expected = "expected 11, 13, 16 or 19 after `--layers`, found `12`";
        assert_eq!(parse("vgg", "--layers 12").expect_err("no such size"), expected);
    }
}
