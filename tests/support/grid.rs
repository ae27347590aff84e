//! The special values of every dtype, and their limits computed independently.

use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, DTypeCode};

pub const INTS: [DType; 8] = [DType::I8, DType::I16, DType::I32, DType::I64, DType::U8, DType::U16, DType::U32, DType::U64];
pub const FLOATS: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];

/// The least and the largest integer.
pub fn limits(dtype: DType) -> (i128, i128) {
    let n = 1i128 << dtype.bits;
    if dtype.code == DTypeCode::Int { (-n / 2, n / 2 - 1) } else { (0, n - 1) }
}

/// The integer of the dtype that differs by a multiple of 2^bits.
pub fn wrap(dtype: DType, value: i128) -> i128 {
    let (least, _) = limits(dtype);
    (value - least).rem_euclid(1 << dtype.bits) + least
}

/// All numbers of 8 bits, the corners of wider ones.
pub fn int_grid(dtype: DType) -> Vec<i128> {
    let (least, most) = limits(dtype);
    if dtype.bits == 8 {
        return (least..=most).collect();
    }
    let powers = [24, 31, 32, 63].into_iter().flat_map(|n| [1i128 << n, (1 << n) - 1, (1 << n) + 1]);
    let mut grid: Vec<i128> = [0, 1, 2, 3, 7, 8, 15, 16, 17, 33, 65].into_iter().chain(powers).flat_map(|x| [x, -x]).collect();
    grid.extend([least, least + 1, most - 1, most]);
    grid.retain(|x| (least..=most).contains(x));
    grid.sort_unstable();
    grid.dedup();
    grid
}

/// The smallest subnormal, the smallest normal and the largest number.
fn extremes(dtype: DType) -> [f64; 3] {
    // (bits of the fraction, least exponent, most)
    let (fraction, least, most) = match dtype {
        DType::F16 => (10, -14, 15),
        DType::BF16 => (7, -126, 127),
        DType::F32 => (23, -126, 127),
        _ => (52, -1022, 1023),
    };
    let two = 2f64;
    // 2^-1074 by halves: `powi` of so small a power may be 0.
    let subnormal = two.powi(least) * two.powi(-fraction);
    [subnormal, two.powi(least), (2.0 - two.powi(-fraction)) * two.powi(most)]
}

/// The largest number.
pub fn most(dtype: DType) -> f64 {
    extremes(dtype)[2]
}

pub fn float_grid(dtype: DType) -> Vec<f64> {
    let powers = [2f64.powi(24) - 1.0, 2f64.powi(24) + 1.0, 2f64.powi(31), 2f64.powi(63)];
    let all = [0.0, 1.0, f64::INFINITY].into_iter().chain(extremes(dtype)).chain(powers);
    let mut grid: Vec<f64> = all.flat_map(|x| [x, -x]).collect();
    grid.push(f64::NAN);
    // The ones that the dtype has.
    grid.retain(|&x| same_bits(floats(dtype, &[x]).to_f64s()[0], x));
    grid
}

pub fn floats(dtype: DType, values: &[f64]) -> Tensor {
    Tensor::from_vec(&[values.len()], values.to_vec()).cast(dtype).expect("a float dtype")
}

pub fn ints(dtype: DType, values: &[i128]) -> Tensor {
    macro_rules! of {
        ($ty:ty) => {
            Tensor::from_vec(&[values.len()], values.iter().map(|&x| <$ty>::try_from(x).expect("in range")).collect::<Vec<$ty>>())
        };
    }
    match (dtype.code, dtype.bits) {
        (DTypeCode::Int, 8) => of!(i8),
        (DTypeCode::Int, 16) => of!(i16),
        (DTypeCode::Int, 32) => of!(i32),
        (DTypeCode::Int, _) => of!(i64),
        (_, 8) => of!(u8),
        (_, 16) => of!(u16),
        (_, 32) => of!(u32),
        _ => of!(u64),
    }
}

/// The same number with the same sign; any NaN is NaN.
pub fn same_bits(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

/// The nearest number of a 16-bit float, of two the one with an even fraction: found by going through them.
pub fn nearest_half(dtype: DType, value: i128) -> f64 {
    let most = most(dtype);
    let digits = if dtype == DType::F16 { 11 } else { 8 };
    // Numbers of one size are `step` apart.
    let size = 128 - value.unsigned_abs().leading_zeros() as i32;
    let step = 1i128 << (size - digits).max(0);
    let below = value.div_euclid(step) * step;
    let (down, up) = (value - below, below + step - value);
    let even = (below / step) % 2 == 0;
    let nearest = if down < up || (down == up && even) { below } else { below + step };
    // The next number after the largest would be infinity's neighbour: halfway there it is infinite.
    if nearest.unsigned_abs() as f64 > most { f64::INFINITY.copysign(value as f64) } else { nearest as f64 }
}

/// What operators need beside their operands, by name: attributes that several values are worth trying of.
pub const ATTRS: &[(&str, &[&str])] = &[
    (
        "cast",
        &[
            "dtype=\"float32\"",
            "dtype=\"float16\"",
            "dtype=\"bfloat16\"",
            "dtype=\"float64\"",
            "dtype=\"int8\"",
            "dtype=\"int16\"",
            "dtype=\"int32\"",
            "dtype=\"int64\"",
            "dtype=\"uint8\"",
            "dtype=\"uint16\"",
            "dtype=\"uint32\"",
            "dtype=\"uint64\"",
            "dtype=\"bool\"",
        ],
    ),
    ("clip", &["a_min=-1f, a_max=2f", "a_min=-0f, a_max=0f", "a_min=0f, a_max=16777216f"]),
    ("nn.leaky_relu", &["alpha=0.25f", "alpha=0f", "alpha=0.1f"]),
    ("full_like", &[]),
    ("fixed_point_multiply", &["multiplier=1395864371, shift=-2", "multiplier=1073741824, shift=3"]),
    ("nn.bias_add", &["axis=0"]),
    ("nn.prelu", &["axis=0"]),
];

/// The special values of a dtype that operators are tried on, each as a scalar.
pub fn corners(dtype: DType) -> Vec<Tensor> {
    let scalars = |values: Tensor| (0..values.len()).map(|at| values.take_range(0, at as i64, 1, 1)).collect();
    if dtype.is_float() {
        let more = [0.5, 1.5, 2.5, 0.1, 20.0, 87.0, 3e9].into_iter().flat_map(|x: f64| [x, -x]);
        let grid = float_grid(dtype).into_iter().chain(more).chain([1e-3, 88.5, -87.5, -103.5]);
        return scalars(floats(dtype, &grid.collect::<Vec<f64>>()));
    }
    if dtype == DType::BOOL { scalars(Tensor::from_vec(&[2], vec![false, true])) } else { scalars(ints(dtype, &int_grid(dtype))) }
}
