//! Lowers sampling at given coordinates to loop nests: each step of the evaluation in floats, with positions clamped to the data.

use super::{AffineGridAttrs, GridSampleAttrs, letters};
use crate::gather_lowering::{is_float, read};
use crate::interpolation_lowering::{Interpolation, Tap};
use crate::lower::tabled;
use crate::prelude::*;

pub(super) fn affine_grid(call: &Call) -> Option<Template> {
    is_float(call, 0)?;
    let out = &call.out().shape;
    AffineGridAttrs::read(call.attrs).target_shape.0?;
    out[2..].iter().try_for_each(|&n| tabled(n))?;
    let mut template = Template { dims: out.clone(), ..Template::default() };
    let mut body = Body::new();
    let at = |n: u64| Table::floats((0..n).map(move |i| -1.0 + i as f32 * ((2.0 - 1e-7) / (n as f64 - 1.0)) as f32));
    let element = |column: i64| vec![AxisMap::of(0), AxisMap::of(1), AxisMap { offset: column, terms: vec![] }];
    let [a, b, c] = [0, 1, 2].map(|column| read(&mut template, &mut body, Read::of(Source::Arg(0), element(column))));
    let [x, y] = [3, 2].map(|axis| read(&mut template, &mut body, Read::table(at(out[axis]), AxisMap::of(axis))));
    let (x, y) = (body.bin(BinaryOp::Mul, a, x), body.bin(BinaryOp::Mul, b, y));
    let sum = body.bin(BinaryOp::Add, x, y);
    let val = body.bin(BinaryOp::Add, sum, c);
    template.finish(body, val)
}

pub(super) fn grid_sample(call: &Call) -> Option<Template> {
    is_float(call, 0)?;
    is_float(call, 1)?;
    let attrs = GridSampleAttrs::read(call.attrs);
    let letters = letters(&attrs.layout);
    let layout = Layout::parse(&attrs.layout).ok()?;
    let (data, out) = (&call.arg(0).shape, &call.out().shape);
    (!data.contains(&0)).then_some(())?;
    // Blocks of the batch or of a sampled axis cut it into two.
    let axis = |letter| layout.axis(letter).filter(|_| layout.block(letter) == 1);
    let batch = axis('N')?;
    let sampled = letters[2..].chars().map(axis).collect::<Option<Vec<usize>>>()?;
    let mut body = Body::new();
    let mut weighing = Interpolation {
        axes: vec![],
        index: (0..out.len()).map(AxisMap::of).collect(),
        template: Template { dims: out.clone(), ..Template::default() },
    };
    for (at, &axis) in sampled.iter().enumerate() {
        // The last axis has the first coordinate.
        let mut index = vec![AxisMap::of(batch), AxisMap { offset: (sampled.len() - 1 - at) as i64, terms: vec![] }];
        index.extend(sampled.iter().map(|&axis| AxisMap::of(axis)));
        let coordinate = read(&mut weighing.template, &mut body, Read::of(Source::Arg(1), index));
        let size = i32::try_from(data[axis]).ok()?;
        let taps = Sampled { attrs: &attrs, size, body: &mut body }.taps(coordinate);
        weighing.axes.push((axis, taps));
    }
    let val = if attrs.method == "nearest" {
        let counts: Vec<Val> = weighing.axes.iter().filter_map(|(_, taps)| taps[0].counts).collect();
        let val = weighing.only(&mut body);
        let zero = body.f32(0.0);
        let inside = counts.into_iter().reduce(|a, b| body.bin(BinaryOp::And, a, b));
        inside.map_or(val, |inside| body.select(inside, val, zero))
    } else {
        weighing.sum(&mut body)
    };
    weighing.template.finish(body, val)
}

struct Sampled<'a> {
    attrs: &'a GridSampleAttrs,
    size: i32,
    body: &'a mut Body,
}

impl Sampled<'_> {
    fn f32(&mut self, value: f32) -> Val {
        self.body.f32(value)
    }

    fn bin(&mut self, op: BinaryOp, a: Val, b: Val) -> Val {
        self.body.bin(op, a, b)
    }

    /// The positions and weights for a coordinate of the grid.
    fn taps(&mut self, g: Val) -> Vec<Tap> {
        let (n, one, two) = (self.size as f32, self.f32(1.0), self.f32(2.0));
        let shifted = self.bin(BinaryOp::Add, g, one);
        let x = if self.attrs.align_corners {
            let length = self.f32(n - 1.0);
            let x = self.bin(BinaryOp::Mul, shifted, length);
            self.bin(BinaryOp::Div, x, two)
        } else {
            let (length, half) = (self.f32(n), self.f32(-0.5));
            let x = self.bin(BinaryOp::Mul, shifted, length);
            let x = self.bin(BinaryOp::Div, x, two);
            self.bin(BinaryOp::Add, half, x)
        };
        let padding = self.attrs.padding_mode.clone();
        if self.attrs.method == "bicubic" {
            return self.cubic(x, &padding);
        }
        let x = match padding.as_str() {
            "border" => self.onto_data(x),
            "reflection" => {
                let x = self.reflected(x);
                self.onto_data(x)
            }
            _ => x,
        };
        if self.attrs.method == "nearest" {
            let nearest = self.body.un(UnaryOp::RoundEven, x);
            let place = self.body.un(UnaryOp::SaturateToInt, nearest);
            return vec![self.inside(place, one)];
        }
        let (below, t) = self.split(x);
        let first = self.bin(BinaryOp::Sub, one, t);
        let next = self.after(below, 1);
        vec![self.inside(below, first), self.inside(next, t)]
    }

    /// The integer below a coordinate, and how far above it lies.
    fn split(&mut self, x: Val) -> (Val, Val) {
        let floor = self.body.un(UnaryOp::Floor, x);
        (self.body.un(UnaryOp::SaturateToInt, floor), self.bin(BinaryOp::Sub, x, floor))
    }

    /// So many places further. From the greatest integer on that is the least: outside as well.
    fn after(&mut self, place: Val, steps: i32) -> Val {
        let steps = self.body.i32(steps);
        self.bin(BinaryOp::Add, place, steps)
    }

    /// A tap that counts where its place is inside.
    fn inside(&mut self, place: Val, weight: Val) -> Tap {
        let (zero, n) = (self.body.i32(0), self.body.i32(self.size));
        let (low, high) = (self.body.cmp(Cmp::Ge, place, zero), self.body.cmp(Cmp::Lt, place, n));
        let counts = Some(self.bin(BinaryOp::And, low, high));
        Tap { place: self.clamped(place), weight, counts }
    }

    fn clamped(&mut self, place: Val) -> Val {
        let (zero, last) = (self.body.i32(0), self.body.i32(self.size - 1));
        let place = self.bin(BinaryOp::Max, place, zero);
        self.bin(BinaryOp::Min, place, last)
    }

    /// Limited to the middles of the outer elements; NaN becomes the first.
    fn onto_data(&mut self, x: Val) -> Val {
        let (first, last) = (self.f32(0.0), self.f32(self.size as f32 - 1.0));
        let above = self.body.cmp(Cmp::Gt, x, first);
        let x = self.body.select(above, x, first);
        let below = self.body.cmp(Cmp::Lt, x, last);
        self.body.select(below, x, last)
    }

    /// The coordinate folded back into the data at its ends.
    fn reflected(&mut self, x: Val) -> Val {
        let n = self.size as f32;
        let (start, length) = if self.attrs.align_corners { (0.0, n - 1.0) } else { (-0.5, n) };
        let (least, most) = (self.f32(start), self.f32(length + start));
        let (low, high) = (self.body.cmp(Cmp::Ge, x, least), self.body.cmp(Cmp::Le, x, most));
        let within = self.bin(BinaryOp::And, low, high);
        if length <= 0.0 {
            return self.body.select(within, x, least);
        }
        let (length, half, two) = (self.f32(length), self.f32(0.5), self.f32(2.0));
        let (over, under) = (self.bin(BinaryOp::Sub, x, least), self.bin(BinaryOp::Sub, least, x));
        let greater = self.body.cmp(Cmp::Gt, x, least);
        let distance = self.body.select(greater, over, under);
        let times = self.bin(BinaryOp::Div, distance, length);
        let times = self.body.un(UnaryOp::Floor, times);
        let whole = self.bin(BinaryOp::Mul, times, length);
        let rest = self.bin(BinaryOp::Sub, distance, whole);
        // Whether it is turned an even number of times.
        let pairs = self.bin(BinaryOp::Mul, times, half);
        let pairs = self.body.un(UnaryOp::Floor, pairs);
        let pairs = self.bin(BinaryOp::Mul, pairs, two);
        let is_even = self.body.cmp(Cmp::Eq, pairs, times);
        let forth = self.bin(BinaryOp::Add, rest, least);
        let back = self.bin(BinaryOp::Sub, length, rest);
        let back = self.bin(BinaryOp::Add, back, least);
        let turned = self.body.select(is_even, forth, back);
        self.body.select(within, x, turned)
    }

    /// The four neighbours by the cubic convolution, whose coefficient is -0.75.
    fn cubic(&mut self, x: Val, padding: &str) -> Vec<Tap> {
        let (below, t) = self.split(x);
        let weights = self.cubic_weights(t, -0.75);
        let mut taps = vec![];
        for (step, weight) in (-1..).zip(weights) {
            let place = self.after(below, step);
            taps.push(match padding {
                "border" => Tap { place: self.clamped(place), weight, counts: None },
                "reflection" => {
                    let at = self.body.un(UnaryOp::ToFloat, place);
                    let at = self.reflected(at);
                    let place = self.body.un(UnaryOp::SaturateToInt, at);
                    Tap { place: self.clamped(place), weight, counts: None }
                }
                _ => self.inside(place, weight),
            });
        }
        taps
    }

    fn cubic_weights(&mut self, t: Val, a: f32) -> [Val; 4] {
        let t2 = self.bin(BinaryOp::Mul, t, t);
        let t3 = self.bin(BinaryOp::Mul, t2, t);
        let [minus, a, a_two, a_three, three_two_a] = [-(a + 2.0), a, a + 2.0, 3.0 + a, 3.0 + 2.0 * a].map(|x| self.f32(x));
        let (minus_a, one, two) = (self.f32(0.75), self.f32(1.0), self.f32(2.0));
        let mut product = |x, y| self.bin(BinaryOp::Mul, x, y);
        let twice = product(two, t2);
        let (second, third) = ([product(a_two, t3), product(a_three, t2)], [product(minus, t3), product(three_two_a, t2)]);
        let (at, fourth) = (product(a, t), [product(minus_a, t3), product(a, t2)]);
        let first = self.bin(BinaryOp::Sub, t3, twice);
        let first = self.bin(BinaryOp::Add, first, t);
        let first = self.bin(BinaryOp::Mul, a, first);
        let second = self.bin(BinaryOp::Sub, second[0], second[1]);
        let second = self.bin(BinaryOp::Add, second, one);
        let third = self.bin(BinaryOp::Add, third[0], third[1]);
        let third = self.bin(BinaryOp::Sub, third, at);
        let fourth = self.bin(BinaryOp::Add, fourth[0], fourth[1]);
        [first, second, third, fourth]
    }
}
