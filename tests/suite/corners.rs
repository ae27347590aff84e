//! Tests corner-case semantics on the reference interpreter: each row of the table over the special values of every dtype,
//! squared, and over all pairs of 8-bit integers.
//!
//! The rows are integer wrap-around, division by zero, shifts, conversions, NaN, empty reductions, indices out of range, and
//! more. Expected results are computed here independently of the operators' evaluation.

use crate::support::grid;
use crate::support::grid::{FLOATS, INTS, float_grid, floats, int_grid, ints, limits, same_bits, wrap};
use relayc_driver::bind::Bound;
use relayc_driver::run::{Limits, entry, interpret};
use relayc_driver::{Phase, check_text};
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, DTypeCode};

/// The result of `@main` on tensors for `%a`, `%b`, …, or the code of what failed.
fn run(body: &str, args: &[&Tensor]) -> Result<Tensor, String> {
    let params: Vec<String> = args.iter().zip("abc".chars()).map(|(arg, name)| format!("%{name}: {}", arg.type_text())).collect();
    let text = format!("#[version = \"0.0.5\"]\ndef @main({}) {{ {body} }}", params.join(", "));
    let program = check_text("corner", &text, Phase::Infer);
    if let Some(error) = program.diagnostics.iter().find(|diagnostic| diagnostic.code.id().starts_with('E')) {
        return Err(error.code.id().to_owned());
    }
    let main = entry(&program.module, "main").expect("it has a @main");
    let args = args.iter().map(|&arg| Bound::Tensor(arg.clone())).collect();
    match interpret(&program, &main, args, Limits::default()) {
        Ok(Bound::Tensor(tensor)) => Ok(tensor),
        Ok(Bound::Tuple(_)) => panic!("{text}: a tuple"),
        Err(failure) => Err(failure.code.id().to_owned()),
    }
}

fn result(body: &str, args: &[&Tensor]) -> Tensor {
    run(body, args).unwrap_or_else(|code| panic!("{body} on {}: {code}", args[0].dtype()))
}

/// All pairs of the grid of a dtype, as two vectors.
fn squared<T: Copy>(grid: &[T]) -> (Vec<T>, Vec<T>) {
    grid.iter().flat_map(|&a| grid.iter().map(move |&b| (a, b))).unzip()
}

fn each_int(body: &str, dtype: DType, pairs: (&[i128], &[i128]), rule: impl Fn(i128, i128) -> i128) {
    let found = result(body, &[&ints(dtype, pairs.0), &ints(dtype, pairs.1)]).to_ints();
    for ((&a, &b), found) in pairs.0.iter().zip(pairs.1).zip(found) {
        assert_eq!(found, rule(a, b), "{body} of {a} and {b}, {dtype}");
    }
}

fn each_float(body: &str, dtype: DType, rule: impl Fn(f64, f64) -> f64) {
    let (a, b) = squared(&float_grid(dtype));
    let found = result(body, &[&floats(dtype, &a), &floats(dtype, &b)]).to_f64s();
    for ((&a, &b), found) in a.iter().zip(&b).zip(found) {
        let expected = rule(a, b);
        assert!(same_bits(found, expected), "{body} of {a:?} and {b:?}, {dtype}: {found:?}, not {expected:?}");
    }
}

#[test]
fn integers_wrap() {
    for dtype in INTS {
        let (a, b) = squared(&int_grid(dtype));
        let pairs = (&a[..], &b[..]);
        each_int("add(%a, %b)", dtype, pairs, |a, b| wrap(dtype, a + b));
        each_int("subtract(%a, %b)", dtype, pairs, |a, b| wrap(dtype, a - b));
        // By 32-bit halves, for products of 64-bit numbers leave i128.
        each_int("multiply(%a, %b)", dtype, pairs, |a, b| {
            wrap(dtype, wrap(dtype, a * (b >> 32)) * (1 << 32) + a * (b & 0xffff_ffff))
        });
        each_int("add(negative(%a), multiply(%b, subtract(%b, %b)))", dtype, pairs, |a, _| wrap(dtype, -a));
        each_int("add(abs(%a), multiply(%b, subtract(%b, %b)))", dtype, pairs, |a, _| wrap(dtype, a.max(-a)));
    }
}

#[test]
fn divisions_by_zero_trap_and_the_least_by_minus_one_wraps() {
    for dtype in INTS {
        let (a, b): (Vec<i128>, Vec<i128>) = {
            let (a, b) = squared(&int_grid(dtype));
            a.into_iter().zip(b).filter(|&(_, b)| b != 0).unzip()
        };
        let pairs = (&a[..], &b[..]);
        let towards_zero = |a: i128, b: i128| if (a < 0) == (b < 0) { a.abs() / b.abs() } else { -(a.abs() / b.abs()) };
        let down = move |a: i128, b: i128| {
            if towards_zero(a, b) * b != a && (a < 0) != (b < 0) { towards_zero(a, b) - 1 } else { towards_zero(a, b) }
        };
        for (body, quotient) in [("divide", false), ("trunc_divide", false), ("floor_divide", true)] {
            each_int(&format!("{body}(%a, %b)"), dtype, pairs, |a, b| {
                wrap(dtype, if quotient { down(a, b) } else { towards_zero(a, b) })
            });
        }
        for (body, floor) in [("mod", false), ("trunc_mod", false), ("floor_mod", true)] {
            each_int(&format!("{body}(%a, %b)"), dtype, pairs, |a, b| {
                a - b * if floor { down(a, b) } else { towards_zero(a, b) }
            });
        }
        for body in ["divide", "trunc_divide", "floor_divide", "mod", "trunc_mod", "floor_mod"] {
            let trapped = run(&format!("{body}(%a, %b)"), &[&ints(dtype, &[1, 2]), &ints(dtype, &[1, 0])]);
            assert_eq!(trapped, Err("E0502".to_owned()), "{body} of {dtype} by 0");
        }
    }
}

#[test]
fn shifts_by_the_width_and_more_leave_nothing_or_the_sign() {
    for dtype in INTS {
        let (a, b) = squared(&int_grid(dtype));
        let amount = move |b: i128| if b < 0 { b + (1 << dtype.bits) } else { b };
        let over = move |b: i128| amount(b) >= i128::from(dtype.bits);
        each_int("left_shift(%a, %b)", dtype, (&a, &b), |a, b| if over(b) { 0 } else { wrap(dtype, a * (1 << amount(b))) });
        // A shift to the right is a division downwards, for which a wide one leaves 0 or -1.
        each_int("right_shift(%a, %b)", dtype, (&a, &b), |a, b| match over(b) {
            true => -i128::from(a < 0),
            false => a.div_euclid(1 << amount(b)),
        });
    }
}

#[test]
fn floats_become_integers_by_saturation() {
    for from in FLOATS {
        let mut grid = float_grid(from);
        grid.extend([0.5, -0.5, 1.5, -1.5, 127.5, -128.5, 255.75, 300.0, -300.0]);
        for to in INTS {
            let (least, most) = limits(to);
            let found = result(&format!("cast(%a, dtype=\"{to}\")"), &[&floats(from, &grid)]).to_ints();
            for (&x, found) in floats(from, &grid).to_f64s().iter().zip(found) {
                let expected = match x {
                    _ if x.is_nan() => 0,
                    _ if x >= 2f64.powi(70) => most,
                    _ if x <= -(2f64.powi(70)) => least,
                    // Whole after `trunc`, and small enough for i128.
                    _ => format!("{:.0}", x.trunc()).parse::<i128>().expect("digits").clamp(least, most),
                };
                assert_eq!(found, expected, "{x:?}, {from} to {to}");
            }
        }
    }
}

#[test]
fn integers_become_the_nearest_float_ties_to_even() {
    for from in INTS {
        let mut grid = int_grid(from);
        let (least, most) = limits(from);
        grid.extend(
            [(1 << 11) + 1, (1 << 11) + 3, 257, 259, (1 << 25) + 2, (1 << 54) + 2, (1 << 54) + 6, 65519, 65520]
                .iter()
                .filter(|&&x| (least..=most).contains(&x)),
        );
        for (to, parse) in [
            (DType::F32, (|text: &str| f64::from(text.parse::<f32>().expect("digits"))) as fn(&str) -> f64),
            (DType::F64, |text| text.parse().expect("digits")),
        ] {
            let found = result(&format!("cast(%a, dtype=\"{to}\")"), &[&ints(from, &grid)]).to_f64s();
            for (&x, found) in grid.iter().zip(found) {
                assert_eq!(found, parse(&x.to_string()), "{x}, {from} to {to}");
            }
        }
        for to in [DType::F16, DType::BF16] {
            let found = result(&format!("cast(%a, dtype=\"{to}\")"), &[&ints(from, &grid)]).to_f64s();
            for (&x, found) in grid.iter().zip(found) {
                assert_eq!(found, grid::nearest_half(to, x), "{x}, {from} to {to}");
            }
        }
    }
}

#[test]
fn everything_but_zero_is_true_and_true_is_one() {
    for dtype in FLOATS {
        let grid = float_grid(dtype);
        let found = result("cast(%a, dtype=\"bool\")", &[&floats(dtype, &grid)]).to_ints();
        for (&x, found) in grid.iter().zip(found) {
            assert_eq!(found == 1, !(x == 0.0), "{x:?}, {dtype}");
        }
        let back =
            result(&format!("cast(cast(%a, dtype=\"bool\"), dtype=\"{dtype}\")"), &[&floats(dtype, &[7.0, 0.0, -0.0, f64::NAN])]);
        assert_eq!(back.to_f64s(), [1.0, 0.0, 0.0, 1.0], "{dtype}");
    }
    for dtype in INTS {
        let (least, most) = limits(dtype);
        let back = result(&format!("cast(cast(%a, dtype=\"bool\"), dtype=\"{dtype}\")"), &[&ints(dtype, &[least, 0, 1, most])]);
        assert_eq!(back.to_ints(), [i128::from(least != 0), 0, 1, 1], "{dtype}");
    }
}

/// The larger of two floats by the table: NaN wins, −0 < +0.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else if a.total_cmp(&b).is_lt() {
        b
    } else {
        a
    }
}

#[test]
fn nan_wins_and_minus_zero_is_less() {
    for dtype in FLOATS {
        let smaller = |a: f64, b: f64| -larger(-a, -b);
        each_float("maximum(%a, %b)", dtype, larger);
        each_float("minimum(%a, %b)", dtype, smaller);
        for (body, rule) in [("max", larger as fn(f64, f64) -> f64), ("min", |a, b| -larger(-a, -b))] {
            each_float(&format!("{body}(stack((%a, %b), axis=0), axis=[0])"), dtype, rule);
        }
        let grid = float_grid(dtype);
        let found = result("nn.relu(%a)", &[&floats(dtype, &grid)]).to_f64s();
        for (&x, found) in grid.iter().zip(found) {
            assert!(same_bits(found, larger(x, 0.0)), "relu of {x:?}, {dtype}: {found:?}");
        }
        let found = result("clip(%a, a_min=-1f, a_max=2f)", &[&floats(dtype, &grid)]).to_f64s();
        for (&x, found) in grid.iter().zip(found) {
            assert!(same_bits(found, smaller(larger(x, -1.0), 2.0)), "clip of {x:?}, {dtype}: {found:?}");
        }
        let (a, b) = squared(&grid);
        let windows: Vec<f64> = a.iter().zip(&b).flat_map(|(&a, &b)| [a, b]).collect();
        let data = floats(dtype, &windows).reshape(&[1, 1, a.len(), 2]).expect("as many");
        let found = result("nn.max_pool2d(%a, pool_size=[1, 2])", &[&data]).to_f64s();
        for ((&a, &b), found) in a.iter().zip(&b).zip(found) {
            assert!(same_bits(found, larger(a, b)), "a window of {a:?} and {b:?}, {dtype}: {found:?}");
        }
    }
}

#[test]
fn the_first_nan_or_the_first_extreme_is_found() {
    for dtype in FLOATS {
        let grid = float_grid(dtype);
        let rows: Vec<[f64; 3]> = grid.iter().flat_map(|&a| grid.iter().flat_map(move |&b| [[a, b, a], [a, a, b]])).collect();
        let data = floats(dtype, rows.as_flattened()).reshape(&[rows.len(), 3]).expect("as many");
        for (body, sign) in [("argmax", 1.0), ("argmin", -1.0)] {
            let found = result(&format!("{body}(%a, axis=[1])"), &[&data]).to_ints();
            for (row, found) in rows.iter().zip(found) {
                let at = row.iter().position(|x| x.is_nan()).unwrap_or_else(|| {
                    let most = row.iter().map(|x| x * sign).fold(f64::NEG_INFINITY, f64::max);
                    row.iter().position(|x| x * sign == most).expect("it is one of them")
                });
                assert_eq!(found, at as i128, "{body} of {row:?}, {dtype}");
            }
        }
    }
}

#[test]
fn rounding_takes_ties_away_from_zero_and_subnormals_stay() {
    for dtype in FLOATS {
        let mut grid = float_grid(dtype);
        grid.extend([0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 0.25, -0.75]);
        let x = floats(dtype, &grid);
        for (&x, found) in grid.iter().zip(result("round(%a)", &[&x]).to_f64s()) {
            let away = if x.fract().abs() >= 0.5 { x.trunc() + x.signum() } else { x.trunc() };
            assert!(found == away || (x.is_nan() && found.is_nan()), "round of {x:?}, {dtype}: {found:?}");
        }
        for body in ["multiply(%a, ones_like(%a))", "divide(%a, ones_like(%a))", "add(%a, negative(zeros_like(%a)))", "copy(%a)"]
        {
            for (&x, found) in grid.iter().zip(result(body, &[&x]).to_f64s()) {
                assert!(same_bits(found, x), "{body} of {x:?}, {dtype}: {found:?}");
            }
        }
        for (&x, found) in
            grid.iter().zip(result(&format!("cast(cast(%a, dtype=\"float64\"), dtype=\"{dtype}\")"), &[&x]).to_f64s())
        {
            assert!(same_bits(found, x), "{x:?} by float64, {dtype}: {found:?}");
        }
    }
}

#[test]
fn indices_are_clamped_counted_round_or_trap() {
    let data = ints(DType::I32, &[10, 11, 12]);
    let indices = |dtype| -> Vec<i128> {
        let (least, most) = limits(dtype);
        [least, -4, -3, -1, 0, 2, 3, most].into_iter().filter(|x| (least..=most).contains(x)).collect()
    };
    for dtype in INTS {
        let all = indices(dtype);
        let clipped = result("take(%a, %b, axis=0, mode=\"clip\")", &[&data, &ints(dtype, &all)]).to_ints();
        let wrapped = result("take(%a, %b, axis=0, mode=\"wrap\")", &[&data, &ints(dtype, &all)]).to_ints();
        for (at, &index) in all.iter().enumerate() {
            assert_eq!(
                clipped[at],
                if index < 0 {
                    10
                } else if index > 2 {
                    12
                } else {
                    10 + index
                },
                "clip {index}, {dtype}"
            );
            assert_eq!(wrapped[at], 10 + (index % 3 + 3) % 3, "wrap {index}, {dtype}");
            let one = ints(dtype, &[index]);
            let inside = (0..3).contains(&index);
            let mut bodies = vec!["take(%a, %b, axis=0, mode=\"fast\")"];
            if dtype.code == DTypeCode::Int {
                bodies.push("gather(%a, %b, axis=0)");
            }
            for body in bodies {
                let found = run(body, &[&data, &one]).map(|tensor| tensor.to_ints());
                assert_eq!(found, if inside { Ok(vec![10 + index]) } else { Err("E0501".into()) }, "{body} of {index}, {dtype}");
            }
            let column = one.reshape(&[1, 1]).expect("one");
            let found = run("gather_nd(%a, %b)", &[&data, &column]).map(|tensor| tensor.to_ints());
            assert_eq!(found, if inside { Ok(vec![10 + index]) } else { Err("E0501".into()) }, "gather_nd of {index}, {dtype}");
        }
        let nothing = ints(DType::I32, &[]);
        for mode in ["clip", "wrap", "fast"] {
            let found = run(&format!("take(%a, %b, axis=0, mode=\"{mode}\")"), &[&nothing, &ints(dtype, &[0])]);
            assert_eq!(found, Err("E0501".into()), "{mode} into nothing, {dtype}");
        }
    }
}

#[test]
fn slices_are_limited_to_the_axis() {
    let data = ints(DType::I32, &[0, 1, 2, 3]);
    let bounds = [i64::from(i32::MIN), -5, -4, -1, 0, 1, 3, 4, 5, i64::from(i32::MAX)];
    for begin in bounds {
        for end in bounds {
            for stride in [-3i64, -1, 1, 2] {
                let body = format!("strided_slice(%a, begin=[{begin}], end=[{end}], strides=[{stride}], axes=None)");
                let limited = |at: i64| {
                    let at = if at < 0 { at + 4 } else { at };
                    if stride > 0 { at.clamp(0, 4) } else { at.clamp(-1, 3) }
                };
                let (first, last) = (limited(begin), limited(end));
                let is_inside = |at: i64| if stride > 0 { at < last } else { at > last };
                let mut expected = vec![];
                let mut at = first;
                while is_inside(at) {
                    expected.push(i128::from(at));
                    at += stride;
                }
                // TVM refuses a begin behind the end; here there is nothing between them.
                assert_eq!(result(&body, &[&data]).to_ints(), expected, "{body}");
            }
        }
    }
    assert_eq!(run("strided_slice(%a, begin=[0], end=[4], strides=[0], axes=None)", &[&data]), Err("E0404".into()));
    assert_eq!(result("strided_slice(%a, begin=[], end=[], strides=[], axes=None)", &[&data]).to_ints(), [0, 1, 2, 3]);
}

#[test]
fn mirrors_and_windows_need_elements() {
    let line = |n: usize| ints(DType::I32, &(0..n as i128).collect::<Vec<_>>());
    for n in 0..4usize {
        for width in 0..4usize {
            let body = format!("nn.pad(%a, 0, pad_width=[[{width}, 0]], pad_mode=\"reflect\")");
            let found = run(&body, &[&line(n)]).map(|tensor| tensor.to_ints());
            let mirrored: Vec<i128> = (1..=width as i128).rev().chain(0..n as i128).collect();
            assert_eq!(found, if width < n || width == 0 { Ok(mirrored) } else { Err("E0404".into()) }, "{width} before {n}");
        }
    }
    let one = |dtype, value: i128| ints(dtype, &[value]).reshape(&[1, 1, 1, 1]).expect("one");
    for dtype in INTS {
        let found = result("nn.max_pool2d(%a, pool_size=[1, 1], padding=[0, 1])", &[&one(dtype, 1)]).to_ints();
        assert_eq!(found, [limits(dtype).0, 1, limits(dtype).0], "{dtype}");
        let found = result("nn.avg_pool2d(%a, pool_size=[1, 1], padding=[0, 1])", &[&one(dtype, 1)]).to_ints();
        assert_eq!(found, [0, 1, 0], "{dtype}");
    }
    for dtype in FLOATS {
        let x = floats(dtype, &[5.0]).reshape(&[1, 1, 1, 1]).expect("one");
        let found = result("nn.max_pool2d(%a, pool_size=[1, 1], padding=[0, 1])", &[&x]).to_f64s();
        assert_eq!(found, [-grid::most(dtype), 5.0, -grid::most(dtype)], "{dtype}");
        assert_eq!(result("nn.avg_pool2d(%a, pool_size=[1, 1], padding=[0, 1])", &[&x]).to_f64s(), [0.0, 5.0, 0.0], "{dtype}");
    }
    for what in ["pool_size=[0, 1]", "pool_size=[1, 1], strides=[0, 1]", "pool_size=[1, 1], dilation=[0, 1]"] {
        for operator in ["nn.max_pool2d", "nn.avg_pool2d"] {
            assert_eq!(run(&format!("{operator}(%a, {what})"), &[&one(DType::I32, 1)]), Err("E0404".into()), "{operator} {what}");
        }
    }
}

#[test]
fn reductions_of_nothing() {
    for dtype in FLOATS.into_iter().chain(INTS) {
        let nothing = floats(DType::F64, &[]).cast(dtype).expect("a dtype").reshape(&[2, 0]).expect("nothing");
        assert_eq!(result("sum(%a, axis=[1])", &[&nothing]).to_f64s(), [0.0, 0.0], "{dtype}");
        assert_eq!(result("prod(%a, axis=[1])", &[&nothing]).to_f64s(), [1.0, 1.0], "{dtype}");
        for operator in ["max", "min", "argmax", "argmin"] {
            assert_eq!(run(&format!("{operator}(%a, axis=[1])"), &[&nothing]), Err("E0308".into()), "{operator}, {dtype}");
            assert!(result(&format!("{operator}(%a, axis=[0])"), &[&nothing]).is_empty(), "{operator}, {dtype}");
        }
        if dtype.is_float() {
            assert!(result("mean(%a, axis=[1])", &[&nothing]).to_f64s().iter().all(|x| x.is_nan()), "{dtype}");
        }
    }
    let nothing = ints(DType::I32, &[]).cast(DType::BOOL).expect("bools").reshape(&[2, 0]).expect("nothing");
    assert_eq!(result("all(%a, axis=[1])", &[&nothing]).to_ints(), [1, 1]);
    assert_eq!(result("any(%a, axis=[1])", &[&nothing]).to_ints(), [0, 0]);
}

#[test]
fn float_functions_refuse_integers_and_everything_takes_scalars_and_nothing() {
    for operator in relayc_ops::table().defs() {
        let plain = operator.attrs.is_none() && !operator.internal && !operator.args.is_empty();
        if !plain || operator.args.iter().any(|arg| arg.kind != "Tensor") {
            continue;
        }
        let call = format!("{}({})", operator.name, ["%a", "%b", "%c"][..operator.args.len().min(3)].join(", "));
        let shapes: [&[usize]; 3] = [&[], &[0, 3], &[2, 0]];
        for shape in shapes {
            for dtype in [DType::F32, DType::I32, DType::BOOL] {
                let x = Tensor::full(dtype, shape, 1.0).expect("a dtype");
                let args = vec![&x; operator.args.len().min(3)];
                // A rule of the operator may forbid it, with a code; nothing else may happen. Bits of floats have types, as in
                // TVM, and do not run.
                if let Err(code) = run(&call, &args) {
                    assert!(
                        ["E0301", "E0302", "E0303", "E0304", "E0305", "E0306", "E0308", "E0506"].contains(&&*code),
                        "{call} of {dtype} {shape:?}: {code}"
                    );
                }
            }
        }
    }
    for operator in ["exp", "log", "sqrt", "rsqrt", "sigmoid", "tanh", "sin", "cos", "erf", "nn.softmax", "nn.log_softmax"] {
        for dtype in INTS.into_iter().chain([DType::BOOL]) {
            let x = Tensor::full(dtype, &[2, 2], 1.0).expect("a dtype");
            assert_eq!(run(&format!("{operator}(%a)"), &[&x]), Err("E0305".into()), "{operator} of {dtype}");
        }
    }
}
