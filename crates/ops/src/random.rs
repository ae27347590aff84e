//! Random numbers from a key: the Threefry generator, and distributions computed from its bits.
//!
//! A key is ten words. Four are the hash's key, two a path (the splits taken), and two a counter. The last two hold the one bit
//! that the next split sets in the path. Numbers depend on the key alone and equal TVM's to the bit
//! (`python/tvm/topi/random/kernel.py`). The generator follows Salmon, Moraes, Dror and Shaw, *Parallel random numbers: as easy
//! as 1, 2, 3*, 2011. The splits follow Claessen and Pałka, *Splittable pseudorandom number generators using cryptographic
//! hashing*, 2013.

use super::attrs::Dims;
use crate::prelude::*;
use relayc_ir::kernel::{self, Routine};
use relayc_ir::tensor::float_max;

attrs! {
    "relay.attrs.ThreefryGenerateAttrs" =>
    pub(crate) struct ThreefryGenerateAttrs {
        /// The shape of the numbers.
        pub(crate) out_shape: Dims;
    }

    "relay.attrs.UniformAttrs" =>
    pub(crate) struct UniformAttrs {
        /// The shape of the numbers.
        pub(crate) out_shape: Dims;
        /// The dtype of the numbers.
        pub(crate) out_dtype: Option<DType> = None;
    }

    "relay.attrs.MultinomialAttrs" =>
    pub(crate) struct MultinomialAttrs {
        /// The number of indices to draw from each row.
        pub(crate) num_samples: Option<Dim> = Some(1);
    }
}

const KEY_RULE: &str = "C1: key is a uint64 vector of 10";

const SHAPE_RULE: &str = "C2: out_shape is a list of numbers, none negative";

pub(crate) const THREEFRY_GENERATE: OpDef = OpDef {
    name: "random.threefry_generate",
    doc: "The key for the next call, and a tensor of shape `out_shape` of random uint64 (`src/relay/op/random/kernel.cc`, \
          `python/tvm/topi/random/kernel.py`).",
    args: &[Arg::tensor("key")],
    attrs: Some(ThreefryGenerateAttrs::SCHEMA),
    rules: &[KEY_RULE, SHAPE_RULE],
    rel: threefry_generate_rel,
    eval: threefry_generate_eval,
    lower: Some(Lower::Routine(|call| drawn(kernel::Random::Generate { n: n_drawn(call) }))),
    random: true,
    ..OpDef::BASE
};

fn key_shape() -> Shape {
    Shape::from_slice(&[SDim::known(10, DimOrigin::Op)])
}

fn require_key(cx: &mut RelCx) -> RelResult {
    cx.set_arg("C1", 0, key_shape(), DType::U64)
}

/// The rule that `out_shape` is a shape.
fn require_shape(cx: &RelCx, shape: &Dims) -> RelResult<Shape> {
    let dims: Shape = shape.0.iter().flatten().map(|&dim| SDim::new(dim, DimOrigin::Attr("out_shape"))).collect();
    for dim in &dims {
        cx.require("C2", dim.value().is_some_and(|dim| dim >= 0), || {
            Fault::attr("out_shape", format!("expected dimensions of at least 0, found {}", dim.dim))
        })?;
    }
    Ok(dims)
}

fn threefry_generate_rel(cx: &mut RelCx) -> RelResult {
    let attrs = ThreefryGenerateAttrs::read(cx.attrs);
    require_key(cx)?;
    let shape = require_shape(cx, &attrs.out_shape)?;
    cx.set_out_tuple(vec![(key_shape(), DType::U64), (shape, DType::U64)])
}

fn threefry_generate_eval(cx: &EvalCx) -> EvalResult {
    let shape = &cx.out[1].shape;
    let (next, bits) = key(cx)?.generate(shape.iter().product());
    Ok(Outputs::Tuple(vec![next.tensor(), Tensor::from_vec(shape, bits)]))
}

pub(crate) const THREEFRY_SPLIT: OpDef = OpDef {
    name: "random.threefry_split",
    doc: "Two keys whose numbers are independent of each other and of those of `key`, which must not be used again \
          (`src/relay/op/random/kernel.cc`, `python/tvm/topi/random/kernel.py`).",
    args: &[Arg::tensor("key")],
    rules: &[KEY_RULE],
    rel: threefry_split_rel,
    eval: threefry_split_eval,
    lower: Some(Lower::Routine(|_| drawn(kernel::Random::Split))),
    random: true,
    ..OpDef::BASE
};

fn threefry_split_rel(cx: &mut RelCx) -> RelResult {
    require_key(cx)?;
    cx.set_out_tuple(vec![(key_shape(), DType::U64), (key_shape(), DType::U64)])
}

fn threefry_split_eval(cx: &EvalCx) -> EvalResult {
    let (left, right) = key(cx)?.split();
    Ok(Outputs::Tuple(vec![left.tensor(), right.tensor()]))
}

pub(crate) const UNIFORM: OpDef = OpDef {
    name: "random.uniform",
    doc: "The key for the next call, and a tensor of shape `out_shape` of numbers equally likely everywhere from `low` to below \
          `high`: `u * (high - low) + low`, where the mantissa of `1 + u` is random bits (`src/relay/op/random/kernel.cc`, \
          `python/tvm/topi/random/kernel.py`).",
    args: &[Arg::tensor("key"), Arg::tensor("low"), Arg::tensor("high")],
    attrs: Some(UniformAttrs::SCHEMA),
    rules: &[KEY_RULE, SHAPE_RULE, "C3: out_dtype is float32 or float64", "C4: low and high are scalars of dtype out_dtype"],
    rel: distribution_rel,
    eval: uniform_eval,
    lower: Some(Lower::Routine(|call| drawn(kernel::Random::Uniform { n: n_drawn(call), dtype: call.outs[1].dtype }))),
    random: true,
    ..OpDef::BASE
};

fn distribution_rel(cx: &mut RelCx) -> RelResult {
    let UniformAttrs { out_shape, out_dtype: dtype } = UniformAttrs::read(cx.attrs);
    cx.require("C3", matches!(dtype, Some(DType::F32 | DType::F64)), || {
        let found = dtype.map_or("none".to_owned(), |dtype| format!("`{dtype}`"));
        Fault::attr("out_dtype", format!("expected `float32` or `float64`, found {found}")).set_attr("out_dtype", "\"float32\"")
    })?;
    let dtype = dtype.unwrap_or(DType::F32);
    require_key(cx)?;
    for arg in [1, 2] {
        cx.set_arg("C4", arg, Shape::new(), dtype)?;
    }
    let shape = require_shape(cx, &out_shape)?;
    cx.set_out_tuple(vec![(key_shape(), DType::U64), (shape, dtype)])
}

fn uniform_eval(cx: &EvalCx) -> EvalResult {
    let (shape, dtype) = (&cx.out[1].shape, cx.out[1].dtype);
    let (next, numbers) = key(cx)?.uniform(shape.iter().product(), dtype);
    let [low, high] = scalars(cx)?;
    let round = rounding(dtype);
    let width = round(high - low);
    let numbers = numbers.into_iter().map(|u| round(round(u * width) + low)).collect();
    Ok(Outputs::Tuple(vec![next.tensor(), in_dtype(shape, numbers, dtype)]))
}

/// Operands 1 and 2.
fn scalars(cx: &EvalCx) -> Result<[f64; 2], Trap> {
    let scalar = |arg: usize| cx.tensor(arg).to_f64s().first().copied();
    let both = scalar(1).zip(scalar(2)).map(|(a, b)| [a, b]);
    both.ok_or_else(|| Trap::new(codes::E0506, "operands 1 and 2 are not scalars"))
}

/// Rounds to the dtype of the numbers, which is f32 or f64.
fn rounding(dtype: DType) -> fn(f64) -> f64 {
    if dtype == DType::F32 { |x| f64::from(x as f32) } else { |x| x }
}

fn in_dtype(shape: &[usize], numbers: Vec<f64>, dtype: DType) -> Tensor {
    Tensor::from_vec(shape, numbers).cast(dtype).expect("the relation required f32 or f64")
}

pub(crate) const NORMAL: OpDef = OpDef {
    name: "random.normal",
    doc: "The key for the next call, and a tensor of shape `out_shape` of normally distributed numbers: `sqrt(-2 log(1 - u)) * \
          sin(2 pi v) * scale + mean`, the transform of Box and Muller, with `u` and `v` uniform below 1 \
          (`src/relay/op/random/kernel.cc`, `python/tvm/topi/random/kernel.py`).",
    args: &[Arg::tensor("key"), Arg::tensor("mean"), Arg::tensor("scale")],
    attrs: Some(&AttrSchema { type_key: "relay.attrs.NormalAttrs", ..*UniformAttrs::SCHEMA }),
    rules: &[KEY_RULE, SHAPE_RULE, "C3: out_dtype is float32 or float64", "C4: mean and scale are scalars of dtype out_dtype"],
    eval: normal_eval,
    lower: Some(Lower::Routine(normal_routine)),
    ..UNIFORM
};

fn normal_eval(cx: &EvalCx) -> EvalResult {
    let (shape, dtype) = (&cx.out[1].shape, cx.out[1].dtype);
    let n: usize = shape.iter().product();
    let twice = n.checked_mul(2).ok_or_else(|| Trap::new(codes::E0803, format!("a result of shape {shape:?} is too large")))?;
    cx.check_size(&[twice], dtype)?;
    let (next, uniform) = key(cx)?.uniform(twice, dtype);
    let [mean, scale] = scalars(cx)?;
    let round = rounding(dtype);
    let two_pi = round(2.0 * std::f64::consts::PI);
    let number = |(&u, &v): (&f64, &f64)| {
        let radius = round(round(-2.0 * round(round(1.0 - u).ln())).sqrt());
        let sine = round(round(two_pi * v).sin());
        round(round(round(radius * sine) * scale) + mean)
    };
    let numbers = uniform[..n].iter().zip(&uniform[n..]).map(number).collect();
    Ok(Outputs::Tuple(vec![next.tensor(), in_dtype(shape, numbers, dtype)]))
}

pub(crate) const MULTINOMIAL: OpDef = OpDef {
    name: "random.multinomial",
    doc: "The key for the next call, and for each row of `probs` (its last axis) `num_samples` int32 indices, each as likely as \
          its share of the row; negative shares count as 0. An index is the first whose cumulative share is above a uniform number \
          (`src/relay/op/random/kernel.cc`, `python/tvm/topi/random/kernel.py`).",
    args: &[Arg::tensor("key"), Arg::tensor("probs")],
    attrs: Some(MultinomialAttrs::SCHEMA),
    rules: &[KEY_RULE, "C2: num_samples >= 0", "C3: rank(probs) >= 1", "C4: probs[-1] >= 1"],
    rel: multinomial_rel,
    eval: multinomial_eval,
    lower: Some(Lower::Routine(multinomial_routine)),
    random: true,
    ..OpDef::BASE
};

fn multinomial_rel(cx: &mut RelCx) -> RelResult {
    let attrs = MultinomialAttrs::read(cx.attrs);
    let samples = attrs.num_samples.unwrap_or(Dim::Any);
    cx.require("C2", samples.value().is_some_and(|n| n >= 0), || {
        Fault::attr("num_samples", format!("expected at least 0, found {samples}"))
    })?;
    require_key(cx)?;
    let probs = cx.tensor(1)?;
    cx.require("C3", probs.rank() >= 1, || Fault::rank("1 or more", &probs))?;
    let mut shape = probs.dims();
    let last = probs.rank() - 1;
    cx.require("C4", shape[last].value() != Some(0), || {
        Fault::shape("expected at least one share, found none").at(probs.axis(last), "").trap(codes::E0503)
    })?;
    shape[last] = SDim::new(samples, DimOrigin::Attr("num_samples"));
    cx.set_out_tuple(vec![(key_shape(), DType::U64), (shape, DType::I32)])
}

fn multinomial_eval(cx: &EvalCx) -> EvalResult {
    let (probs, shape) = (cx.tensor(1), &cx.out[1].shape);
    let (n_shares, n_samples) = (probs.shape()[probs.rank() - 1], shape[shape.len() - 1]);
    let n_rows: usize = probs.shape()[..probs.rank() - 1].iter().product();
    if n_rows.checked_mul(n_samples) != Some(shape.iter().product::<usize>()) {
        return Err(Trap::new(codes::E0506, format!("{n_rows} rows for a result of shape {shape:?}")));
    }
    if n_shares == 0 && n_rows * n_samples > 0 {
        return Err(Trap::new(codes::E0503, "an index into a row of no shares"));
    }
    let (next, uniform) = key(cx)?.uniform(n_rows * n_samples, DType::F32);
    let probs = cx.tensor_as(1, DType::F32)?.to_f64s();
    let mut indices = Vec::with_capacity(uniform.len());
    for row in 0..n_rows {
        let cumulative = cumulative(&probs[row * n_shares..][..n_shares]);
        let samples = &uniform[row * n_samples..][..n_samples];
        indices.extend(samples.iter().map(|&u| first_above(&cumulative, u as f32) as i32));
    }
    Ok(Outputs::Tuple(vec![next.tensor(), Tensor::from_vec(shape, indices)]))
}

/// The sums of the shares up to each one, of a whole of 1. Every step is in f32, in order.
fn cumulative(shares: &[f64]) -> Vec<f32> {
    let shares: Vec<f32> = shares.iter().map(|&share| float_max(share, 0.0) as f32).collect();
    let whole: f32 = shares.iter().sum();
    shares
        .iter()
        .scan(0.0f32, |sum, share| {
            *sum += share / whole;
            Some(*sum)
        })
        .collect()
}

/// The index of the smallest distance above 0, where those that are not above count as 1: the first of several.
fn first_above(cumulative: &[f32], u: f32) -> usize {
    let distance = |at: usize| if cumulative[at] - u > 0.0 { cumulative[at] - u } else { 1.0 };
    (1..cumulative.len()).fold(0, |best, at| if distance(at) < distance(best) { at } else { best })
}

fn drawn(work: kernel::Random) -> Option<Routine> {
    Some(Routine::Random(work))
}

/// How many numbers a call draws.
fn n_drawn(call: &Call) -> u64 {
    call.outs[1].shape.iter().product()
}

/// What draws too many numbers says so.
fn normal_routine(call: &Call) -> Option<Routine> {
    let (n, dtype) = (n_drawn(call), call.outs[1].dtype);
    (n < 1 << 32).then_some(())?;
    drawn(kernel::Random::Normal { n, dtype })
}

/// Shares in integers of 64 bits have no one nearest F32 that is found at once.
fn multinomial_routine(call: &Call) -> Option<Routine> {
    let probs = call.arg(1);
    let (&shares, rows) = probs.shape.split_last()?;
    let (rows, samples) = (rows.iter().product(), *call.outs[1].shape.last()?);
    let lane = crate::lower::lane(probs.dtype)?;
    let is_whole = lane.int_bits().is_none_or(|(bits, _)| bits <= 32);
    (shares > 0 && is_whole).then_some(())?;
    drawn(kernel::Random::Multinomial { rows, shares, samples, dtype: probs.dtype })
}

/// A generator's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Key([u64; 10]);

/// Operand 0.
fn key(cx: &EvalCx) -> Result<Key, Trap> {
    let words = cx.tensor(0).to_vec::<u64>().and_then(|words| words.try_into().ok());
    words.map(Key).ok_or_else(|| Trap::new(codes::E0506, "a key that is not ten words of uint64"))
}

impl Key {
    fn tensor(self) -> Tensor {
        Tensor::from_vec(&[10], self.0.to_vec())
    }

    /// The hash's key, and what it hashes: path and counter.
    fn parts(self) -> ([u64; 4], [u64; 4]) {
        let [a, b, c, d, path, more_path, high, counter, ..] = self.0;
        ([a, b, c, d], [path, more_path, high, counter])
    }

    /// The key for the next call, and `n` numbers: block `i` of four is the hash of the counter's words, each plus `i`.
    fn generate(self, n: usize) -> (Key, Vec<u64>) {
        let mut state = self.with_room(n as u64);
        let (key, counter) = state.parts();
        let mut bits: Vec<u64> =
            (0..n / 4).flat_map(|i| threefry(key, counter.map(|word| word.wrapping_add(i as u64)))).collect();
        let whole = (n / 4 * 4) as u64;
        state.0[7] = state.0[7].wrapping_add(whole);
        if !n.is_multiple_of(4) {
            let (key, counter) = state.parts();
            bits.extend(&threefry(key, counter)[..n % 4]);
            state.0[7] = state.0[7].wrapping_add(4);
        }
        state.0[6] = 0;
        (state, bits)
    }

    /// Itself, or a key that follows from it and whose counter has room for `n` numbers.
    fn with_room(self, n: u64) -> Key {
        let [a, b, c, d, path, more_path, _, counter, next, more_next] = self.0;
        if counter < u64::MAX.wrapping_sub(n) {
            return self;
        }
        if (next, more_next) == (0, 0) {
            // TVM hashes two words of ones and two that lie behind its buffer; the paper has ones everywhere.
            let [a, b, c, d] = threefry([a, b, c, d], [u64::MAX; 4]);
            return Key([a, b, c, d, 0, 0, 0, 0, 1 << 63, 0]);
        }
        let [after, more_after] = next_step(next, more_next);
        Key([a, b, c, d, path | next, more_path | more_next, 0, 0, after, more_after])
    }

    fn split(self) -> (Key, Key) {
        let [a, b, c, d, path, more_path, high, counter, next, more_next] = self.0;
        if (next, more_next) == (0, 0) {
            // The path is full: it becomes part of the hash's key.
            let (key, hashed) = self.parts();
            let [a, b, c, d] = threefry(key, hashed);
            let of = |path| Key([a, b, c, d, path, 0, 0, 0, 1 << 62, 0]);
            return (of(0), of(1 << 63));
        }
        let [after, more_after] = next_step(next, more_next);
        let of = |path, more_path| Key([a, b, c, d, path, more_path, high, counter, after, more_after]);
        (of(path, more_path), of(path | next, more_path | more_next))
    }

    /// The key for the next call, and `n` numbers from 0 to below 1.
    fn uniform(self, n: usize, dtype: DType) -> (Key, Vec<f64>) {
        let (next, bits) = self.generate(n);
        // The random bits are the mantissa of a number from 1 to below 2.
        let number = |bits: u64| match dtype {
            DType::F32 => f64::from(f32::from_bits(((bits as u32) >> 9) | (127 << 23)) - 1.0),
            _ => f64::from_bits((bits >> 12) | (1023 << 52)) - 1.0,
        };
        (next, bits.into_iter().map(number).collect())
    }
}

/// The bit of the path that comes after this one. As in TVM, one word shifts into the other only from the lowest bit.
fn next_step(high: u64, low: u64) -> [u64; 2] {
    match high {
        0 => [0, low >> 1],
        1 => [0, 1 << 63],
        _ => [high >> 1, 0],
    }
}

/// The hash: 20 rounds of Threefry with four words, as TVM computes it. Unlike the paper's it adds a word of each pair twice, and
/// not the key once more behind the last round.
fn threefry(key: [u64; 4], mut words: [u64; 4]) -> [u64; 4] {
    const ROTATIONS: [[u32; 2]; 8] = [[14, 16], [52, 57], [23, 40], [5, 37], [25, 33], [46, 12], [58, 22], [32, 32]];
    let parity = key.iter().fold(0x1BD1_1BDA_A9FC_1A22, |parity, word| parity ^ word);
    let [k0, k1, k2, k3] = key;
    let full = [k0, k1, k2, k3, parity];
    for round in 0..20 {
        if round % 4 == 0 {
            let step = round / 4;
            words.iter_mut().enumerate().for_each(|(i, word)| *word = word.wrapping_add(full[(step + i) % 5]));
            words[3] = words[3].wrapping_add(step as u64);
        }
        let [a, b, c, d] = words;
        let [left, right] = ROTATIONS[round % 8];
        let (x, y) = (a.wrapping_add(b), c.wrapping_add(d));
        let (twice_x, twice_y) = (x.wrapping_add(b), y.wrapping_add(d));
        words = [x, twice_y ^ d.rotate_left(right), y, twice_x ^ b.rotate_left(left)];
    }
    words
}

pub(crate) const FAMILY: &[OpDef] = &[THREEFRY_GENERATE, THREEFRY_SPLIT, UNIFORM, NORMAL, MULTINOMIAL];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{call, extremes};

    const KEY: &str = "(10) uint64";

    #[test]
    fn relations() {
        let generate = || call(&THREEFRY_GENERATE).ints("out_shape", &[2, 3]);
        let key_and = |numbers: &str| format!("(Tensor[(10), uint64], {numbers})");
        assert_eq!(generate().out(&["_"]), key_and("Tensor[(2, 3), uint64]"));
        assert_eq!(generate().fault(&["(9) uint64"]).rule, "C1");
        assert_eq!(generate().ints("out_shape", &[-1]).fault(&[KEY]).rule, "C2");
        extremes(generate, &[KEY]);
        extremes(|| call(&MULTINOMIAL), &[KEY, "(2, 3) float32"]);
        extremes(|| call(&NORMAL).ints("out_shape", &[2]), &[KEY, "() float32", "() float32"]);
        assert_eq!(call(&MULTINOMIAL).out(&[KEY, "(?, 3) int8"]), key_and("Tensor[(?, 1), int32]"));
    }

    #[test]
    fn splits_walk_down_the_path() {
        let key = Key([1, 2, 3, 4, 0, 0, 0, 0, 1 << 63, 0]);
        let (left, right) = key.split();
        assert_eq!(left.0[4..], [0, 0, 0, 0, 1 << 62, 0]);
        assert_eq!(right.0[4..], [1 << 63, 0, 0, 0, 1 << 62, 0]);
        let (_, right) = Key([1, 2, 3, 4, 0, 0, 0, 7, 1, 0]).split();
        assert_eq!(right.0[4..], [1, 0, 0, 7, 0, 1 << 63]);
        let (left, right) = Key([1, 2, 3, 4, 5, 6, 7, 8, 0, 0]).split();
        assert_eq!((left.0[..4] == right.0[..4], &right.0[4..]), (true, &[1 << 63, 0, 0, 0, 1 << 62, 0][..]));
    }

    #[test]
    fn a_counter_without_room_moves_on() {
        let (next, bits) = Key([1, 2, 3, 4, 0, 0, 0, u64::MAX - 4, 1 << 63, 0]).generate(4);
        assert_eq!((&next.0[4..], bits.len()), (&[1 << 63, 0, 0, 4, 1 << 62, 0][..], 4));
        let (next, bits) = Key([1, 2, 3, 4, 5, 6, 7, u64::MAX, 0, 0]).generate(3);
        assert_eq!((&next.0[4..], bits.len()), (&[0, 0, 0, 4, 1 << 63, 0][..], 3));
    }

    #[test]
    fn indices_fall_into_their_shares() {
        let cumulative = cumulative(&[1.0, -1.0, 1.0, 2.0]);
        assert_eq!(cumulative, [0.25, 0.25, 0.5, 1.0]);
        assert_eq!([0.0, 0.24, 0.25, 0.5, 0.99].map(|u| first_above(&cumulative, u)), [0, 0, 2, 3, 3]);
    }
}
