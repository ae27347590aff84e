//! Tensors as text: literals of the command line, and previews for people.
//!
//! A literal is a type, `=` and a value. The type is the dimensions and the dtype joined by `x`: `1x3xf32`, `f32` (a scalar),
//! `0xi64`. The dtype is short (`f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool`) or TVM's (`float32`, `bfloat16`, …). The
//! value is
//!
//! - one number, which fills the tensor: `1x3xf32=0.5`, `f32=1.5`;
//! - a flat list of all elements in row-major order: `2x2xi8=[1, 2, 3, 4]`;
//! - nested lists as deep as the rank and as long as the dimensions: `2x2xi8=[[1, 2], [3, 4]]`;
//! - `[]` if a dimension is 0.
//!
//! Numbers are decimal (`-1`, `2.5e-3`); floats may also be `nan`, `inf` or `-inf`, and bools `true`, `false`, `1` or `0`.
//! Integers must fit their dtype. Blanks and line breaks may separate tokens. A preview of at most 64 elements by
//! [`Tensor::preview`] reads back as the same tensor.

use super::Tensor;
use super::chunks::Wide;
use super::size::{SizeError, size_to_make};
use crate::types::{DType, Dim, shape_text};

/// An error in a literal: lower case, no full stop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LiteralError {
    Syntax(String),
    Size(SizeError),
}

impl std::fmt::Display for LiteralError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LiteralError::Syntax(words) => f.write_str(words),
            LiteralError::Size(error) => error.fmt(f),
        }
    }
}

/// The dtypes by their short names.
const SHORT_NAMES: [(&str, DType); 13] = [
    ("bool", DType::BOOL),
    ("i8", DType::I8),
    ("i16", DType::I16),
    ("i32", DType::I32),
    ("i64", DType::I64),
    ("u8", DType::U8),
    ("u16", DType::U16),
    ("u32", DType::U32),
    ("u64", DType::U64),
    ("f16", DType::F16),
    ("bf16", DType::BF16),
    ("f32", DType::F32),
    ("f64", DType::F64),
];

/// The dtype with a short name or TVM's name, if a tensor can hold it.
pub(crate) fn dtype_named(name: &str) -> Option<DType> {
    let short = SHORT_NAMES.iter().find(|(short, _)| *short == name).map(|&(_, dtype)| dtype);
    short.or_else(|| DType::parse(name).filter(|dtype| DType::RUNTIME.contains(dtype)))
}

/// The short name of a tensor's dtype; TVM's name of any other dtype.
pub fn short_name(dtype: DType) -> String {
    let short = SHORT_NAMES.iter().find(|&&(_, of)| of == dtype);
    short.map_or_else(|| dtype.to_string(), |(name, _)| (*name).to_owned())
}

/// A literal whose type has been read but not its value, so that the type can be checked first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Literal<'a> {
    pub dtype: DType,
    /// Not yet checked against any limit.
    pub shape: Vec<i64>,
    value: &'a str,
}

impl<'a> Literal<'a> {
    /// Reads the type before `=`. `None` if it is not a tensor type, so that the text is something else.
    pub fn parse(text: &'a str) -> Option<Literal<'a>> {
        let (ty, value) = text.split_once('=')?;
        let mut parts: Vec<&str> = ty.trim().split('x').collect();
        let dtype = dtype_named(parts.pop()?)?;
        let number = |part: &str| part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse().ok())?;
        let shape = parts.into_iter().map(number).collect::<Option<Vec<i64>>>()?;
        Some(Literal { dtype, shape, value: value.trim() })
    }

    pub fn tensor(&self) -> Result<Tensor, LiteralError> {
        let shape = size_to_make(&self.shape, self.dtype).map_err(LiteralError::Size)?;
        let tensor = if self.dtype.is_float() {
            numbers(self.value, &shape, self.dtype, float_of)?
        } else {
            numbers(self.value, &shape, self.dtype, int_of)?
        };
        tensor.ok_or(LiteralError::Size(SizeError::DType(self.dtype)))
    }
}

fn syntax<T>(words: impl Into<String>) -> Result<T, LiteralError> {
    Err(LiteralError::Syntax(words.into()))
}

/// What reads a number of a dtype.
type Read<W> = fn(&str, DType) -> Result<W, LiteralError>;

/// The tensor of a value; `None` where none can hold the dtype.
fn numbers<W: Wide>(text: &str, shape: &[usize], dtype: DType, read: Read<W>) -> Result<Option<Tensor>, LiteralError> {
    let n: usize = shape.iter().product();
    if !text.starts_with('[') {
        let value = read(text, dtype)?;
        return Ok(Tensor::of_chunks(dtype, shape, |chunk: &mut [W]| chunk.fill(value)));
    }
    let mut elements = Vec::new();
    each_word(text, shape, &mut |word| {
        elements.push(read(word, dtype)?);
        Ok(())
    })?;
    if elements.len() != n {
        return syntax(format!("{} elements where the shape has {n}", elements.len()));
    }
    let mut rest = elements.as_slice();
    Ok(Tensor::of_chunks(dtype, shape, |chunk: &mut [W]| {
        let (head, tail) = rest.split_at(chunk.len());
        chunk.copy_from_slice(head);
        rest = tail;
    }))
}

/// Calls `f` with each element of a flat list, or of lists nested as the shape is.
fn each_word(text: &str, shape: &[usize], f: &mut dyn FnMut(&str) -> Result<(), LiteralError>) -> Result<(), LiteralError> {
    let nested = text.trim_start_matches(|c: char| c == '[' || c.is_ascii_whitespace());
    let n_open = text.len() - nested.len();
    // A second bracket before the first element makes it nested; `[]` and `[[], []]` have no first element.
    let flat = text.get(..n_open).is_some_and(|open| open.matches('[').count() == 1);
    let depth_limit = if flat { 1 } else { shape.len() };
    // How many items each open list has; whether a comma or a bracket must come next.
    let mut open: Vec<usize> = Vec::new();
    let mut after_item = false;
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else {
            return syntax("a list without its `]`");
        };
        match first {
            '[' if !after_item && open.len() < depth_limit => {
                open.push(0);
                rest = rest.get(1..).unwrap_or("");
            }
            '[' => return syntax(format!("a list inside {} lists, the rank is {}", open.len(), shape.len())),
            ']' => {
                let n = open.pop().unwrap_or(0);
                let expected = if flat { n } else { shape.get(open.len()).copied().unwrap_or(0) };
                if n != expected {
                    return syntax(format!("{n} items in a list where axis {} has {expected}", open.len()));
                }
                rest = rest.get(1..).unwrap_or("");
                let Some(outer) = open.last_mut() else { break };
                *outer += 1;
                after_item = true;
            }
            ',' if after_item => {
                after_item = false;
                rest = rest.get(1..).unwrap_or("");
            }
            _ if after_item || open.len() != depth_limit => return syntax(format!("`{first}` where a list goes on")),
            _ => {
                let end = rest.find([',', ']', '[']).unwrap_or(rest.len());
                let (word, tail) = rest.split_at_checked(end).unwrap_or((rest, ""));
                f(word)?;
                if let Some(n) = open.last_mut() {
                    *n += 1;
                }
                after_item = true;
                rest = tail;
            }
        }
    }
    if rest.trim().is_empty() { Ok(()) } else { syntax(format!("`{}` after the list", rest.trim())) }
}

fn refused(word: &str, dtype: DType) -> LiteralError {
    let message = format!("`{word}` is no {dtype} number");
    // Programs write the dtype behind a number; here the tensor has it.
    let number = word.find(['f', 'i', 'u']).map_or("", |at| &word[..at]);
    LiteralError::Syntax(match number.parse::<f64>() {
        Ok(_) => format!("{message}: write `{number}`"),
        Err(_) => message,
    })
}

/// A number of a float dtype, which is rounded to it once.
fn float_of(word: &str, dtype: DType) -> Result<f64, LiteralError> {
    let word = word.trim();
    // Rust reads `infinity`, `NaN` and `+inf` too; a digit or one of the three words keeps the language small.
    let number = word.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
    let special = matches!(word, "nan" | "inf" | "-inf");
    let value: Option<f64> = if number || special { word.parse().ok() } else { None };
    let value = value.ok_or_else(|| refused(word, dtype))?;
    // Straight to f32: twice rounded is not always nearest.
    Ok(if dtype == DType::F32 { word.parse::<f32>().map_or(value, f64::from) } else { value })
}

/// A number of an integer dtype or bool, which holds it.
fn int_of(word: &str, dtype: DType) -> Result<i128, LiteralError> {
    let word = word.trim();
    let value: i128 = match word {
        "true" if dtype.is_bool() => 1,
        "false" if dtype.is_bool() => 0,
        _ => word.parse().map_err(|_| refused(word, dtype))?,
    };
    match stored(dtype, value) {
        Some(same) if same == value => Ok(value),
        _ => Err(LiteralError::Syntax(format!("{value} does not fit {dtype}"))),
    }
}

/// A number as it is once stored; `None` where no tensor can hold the dtype.
fn stored<W: Wide>(dtype: DType, value: W) -> Option<W> {
    let tensor = Tensor::of_chunks(dtype, &[], |chunk: &mut [W]| chunk.fill(value))?;
    Some(tensor.at(0))
}

/// One element: the shortest text that reads back as it, `true` and `false` for bool.
pub(super) fn element_text(tensor: &Tensor, position: usize) -> String {
    let dtype = tensor.dtype();
    if !dtype.is_float() {
        let value: i128 = tensor.at(position);
        return if dtype.is_bool() { (value != 0).to_string() } else { value.to_string() };
    }
    let value: f64 = tensor.at(position);
    match dtype {
        _ if value.is_nan() => "nan".into(),
        _ if value.is_infinite() => if value > 0.0 { "inf" } else { "-inf" }.into(),
        DType::F64 => format!("{value:?}"),
        DType::F32 => format!("{:?}", value as f32),
        // Two-byte floats have at most five digits: the fewest that read back.
        _ => {
            let reads_back = |digits: &usize| {
                let short: f64 = format!("{value:.digits$e}").parse().unwrap_or(value);
                stored(dtype, short) == Some(value)
            };
            let digits = (0..8).find(reads_back).unwrap_or(8);
            let short: f64 = format!("{value:.digits$e}").parse().unwrap_or(value);
            format!("{short:?}")
        }
    }
}

/// Tensors of at most this many elements are printed whole.
const WHOLE: usize = 64;
/// Of a longer tensor's last axes, this many elements at either end.
const EDGE: usize = 3;

impl Tensor {
    /// The elements in nested brackets, one row on each line. More than 64 elements are abbreviated with `...`: the first and
    /// last three along each of the last three axes, and the first along the other axes.
    pub fn preview(&self) -> String {
        if self.is_empty() {
            return "[]".into();
        }
        let (shape, whole) = (self.shape(), self.len() <= WHOLE);
        let mut out = String::new();
        let mut index = vec![0usize; shape.len()];
        // Each step writes one element and moves to the next shown one; brackets follow from the axes that move.
        out.extend(std::iter::repeat_n('[', shape.len()));
        loop {
            let position = index.iter().zip(shape).fold(0, |position, (at, dim)| position * dim + at);
            out.push_str(&element_text(self, position));
            let Some((axis, skipped)) = advance(&mut index, shape, whole, &mut out) else { break };
            separate(&mut out, axis, shape.len(), skipped);
        }
        out
    }

    /// At most `n` first elements in row-major order, followed by `...` if there are more: `[1.0, 2.0, ...]`.
    pub fn first(&self, n: usize) -> String {
        let mut words: Vec<String> = (0..self.len().min(n)).map(|position| element_text(self, position)).collect();
        if self.len() > n {
            words.push("...".into());
        }
        format!("[{}]", words.join(", "))
    }

    /// The type as Relay writes it: `Tensor[(1, 3), float32]`, `float32`.
    pub fn type_text(&self) -> String {
        let dims: Vec<Dim> = self.shape().iter().map(|&dim| Dim::known(i64::try_from(dim).unwrap_or(i64::MAX))).collect();
        type_text(&dims, self.dtype())
    }
}

/// A tensor type as Relay writes it.
pub fn type_text(shape: &[Dim], dtype: DType) -> String {
    if shape.is_empty() { dtype.to_string() } else { format!("Tensor[{}, {dtype}]", shape_text(shape)) }
}

/// Moves to the next element shown and closes the brackets that end before it. Gives the axis that moved and whether it
/// jumped over elements; `None` after the last element.
fn advance(index: &mut [usize], shape: &[usize], whole: bool, out: &mut String) -> Option<(usize, bool)> {
    let rank = shape.len();
    for axis in (0..rank).rev() {
        let (at, dim) = (index[axis] + 1, shape[axis]);
        let edge = if axis + 3 >= rank { EDGE } else { 0 };
        let jump = !whole && at >= edge.max(1) && dim > at + edge;
        let next = if jump { dim - edge } else { at };
        if next < dim {
            index[axis] = next;
            return Some((axis, jump));
        }
        if jump {
            out.push_str(", ...");
        }
        index[axis] = 0;
        out.push(']');
    }
    None
}

/// Writes the separator between two elements when `axis` advances.
fn separate(out: &mut String, axis: usize, rank: usize, skipped: bool) {
    let line = |out: &mut String| {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', axis + 1));
    };
    let inner = axis + 1 == rank;
    if skipped {
        out.push(',');
        if inner {
            out.push(' ')
        } else {
            line(out)
        }
        out.push_str("...");
    }
    out.push(',');
    if inner {
        out.push(' ')
    } else {
        line(out)
    }
    out.extend(std::iter::repeat_n('[', rank - axis - 1));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Tensor, LiteralError> {
        Literal::parse(text).expect("a tensor type").tensor()
    }

    fn refused(text: &str, words: &str) {
        let error = read(text).expect_err(text).to_string();
        assert!(error.contains(words), "`{text}`: {error}");
    }

    #[test]
    fn every_form() {
        let x = Tensor::from_vec(&[1, 3], vec![1f32, 2.0, 3.0]);
        for text in ["1x3xf32=[1,2,3]", "1x3xfloat32=[[1, 2.0, 3e0]]", " 1x3xf32 = [ [1,\n2,3 ,] ] "] {
            assert_eq!(read(text), Ok(x.clone()), "{text}");
        }
        assert_eq!(read("2x2xi8=-1"), Ok(Tensor::from_vec(&[2, 2], vec![-1i8; 4])));
        assert_eq!(read("f64=1.5"), Ok(Tensor::scalar(1.5f64)));
        assert_eq!(read("i64=[7]"), Ok(Tensor::scalar(7i64)));
        assert_eq!(read("2xbool=[true,0]"), Ok(Tensor::from_vec(&[2], vec![true, false])));
        assert_eq!(read("0x2xbf16=[]"), Ok(Tensor::from_vec(&[0, 2], Vec::<half::bf16>::new())));
        assert_eq!(read("2xf32=[inf,-inf]"), Ok(Tensor::from_vec(&[2], vec![f32::INFINITY, f32::NEG_INFINITY])));
        assert!(read("f32=nan").expect("a number").to_f64s()[0].is_nan());
    }

    #[test]
    fn what_is_refused() {
        refused("2xf32=[1,2,3]", "3 elements");
        refused("2x2xf32=[[1,2],[3]]", "1 items");
        refused("2x2xf32=[[1,2],[3,4],[5,6]]", "3 items");
        refused("2x2xf32=[1,[2]]", "a list inside");
        refused("2x2xf32=[[1,2],3,4]", "where a list goes on");
        refused("4xf32=[[1,2],[3,4]]", "a list inside");
        refused("2xf32=[1 2]", "`1 2`");
        refused("2xf32=[1,,2]", "``");
        refused("2xf32=[1,2", "without its");
        refused("2xf32=[1,2]3", "after the list");
        refused("2xf32=", "``");
        refused("i8=128", "does not fit int8");
        refused("u8=-1", "does not fit uint8");
        refused("bool=2", "does not fit bool");
        refused("i32=1.5", "no int32 number");
        refused("f32=infinity", "no float32 number");
        refused("99999999x99999999xf32=0", "16 GiB");
        assert_eq!(Literal::parse("zeros"), None);
        assert_eq!(Literal::parse("1x3xf33=0"), None);
        assert_eq!(Literal::parse("-1xf32=0"), None);
    }

    #[test]
    fn previews_read_back() {
        for dtype in DType::RUNTIME {
            for shape in [&[][..], &[5], &[2, 3], &[2, 1, 2, 3]] {
                let x = Tensor::random(dtype, shape, 3, "x").expect("a small tensor");
                let dims: String = shape.iter().map(|dim| format!("{dim}x")).collect();
                let text = format!("{dims}{}={}", short_name(dtype), x.preview());
                assert_eq!(read(&text), Ok(x), "{text}");
            }
        }
    }

    #[test]
    fn previews_look_like_this() {
        assert_eq!(Tensor::from_fn(&[2, 2], |i| i as f32).preview(), "[[0.0, 1.0],\n [2.0, 3.0]]");
        assert_eq!(Tensor::scalar(half::f16::from_f32(0.1)).preview(), "0.1");
        assert_eq!(Tensor::scalar(half::bf16::MAX).preview(), "3.39e38");
        assert_eq!(Tensor::from_fn(&[100], |i| i as i32).preview(), "[0, 1, 2, ..., 97, 98, 99]");
        assert_eq!(Tensor::from_fn(&[9, 9], |i| i as i32).preview().lines().count(), 7);
        assert_eq!(Tensor::from_fn(&[2, 1, 100], |_| 1u8).preview(), "[[[1, 1, 1, ..., 1, 1, 1]],\n [[1, 1, 1, ..., 1, 1, 1]]]");
        assert_eq!(Tensor::from_fn(&[3, 1, 1, 100], |_| 1u8).preview(), "[[[[1, 1, 1, ..., 1, 1, 1]]], ...]");
        assert_eq!(Tensor::from_fn(&[7, 0], |_| 1u8).preview(), "[]");
        let deep = Tensor::from_fn(&[2; 20], |_| 1u8).preview();
        assert!(deep.len() < 500, "{}", deep.len());
    }
}
