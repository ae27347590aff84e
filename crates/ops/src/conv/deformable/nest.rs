//! Lowers deformable convolutions to loop nests: a sum over the points of a window, each interpolated in float64.

use crate::conv::read_deformable;
use crate::gather_lowering::{constant, read};
use crate::lower::{converted, lane, stored, tabled};
use crate::prelude::*;
use crate::window::{self, HW, Window};
use relayc_ir::kernel::{ReduceDim, Reduction, Stage};

/// The dimensions of the loops: those of the result, and behind them those of the sum.
const BATCH: usize = 0;
const GROUP: usize = 1;
const OUTPUT: usize = 2;
const PLACE: [usize; 2] = [3, 4];
const PART: usize = 5;
const INPUT: usize = 6;
const POINT: [usize; 2] = [7, 8];

/// `None` also for several groups and several deformable groups at once, whose channels no strides relate.
pub(crate) fn deformable_nest(call: &Call) -> Option<Template> {
    let (parts, attrs) = read_deformable(call.attrs);
    let (parts, groups) = (parts as u64, attrs.groups as u64);
    let [data, kernel] = [&attrs.data_layout, &attrs.kernel_layout].map(|text| Layout::parse(text).ok());
    let (data, kernel) = (data?, kernel?);
    let out = if attrs.out_layout.is_empty() { data.clone() } else { Layout::parse(&attrs.out_layout).ok()? };
    let plain = |layout: &Layout, letters: &str| letters.chars().all(|letter| layout.block(letter) == 1);
    (plain(&data, "NCHW") && plain(&out, "NCHW") && plain(&kernel, "OIHW") && (parts == 1 || groups == 1)).then_some(())?;
    let size = |layout: &Layout, letter: char, shape: &[u64]| layout.axis(letter).map(|axis| shape[axis]);
    let (shape, weight, result) = (&call.arg(0).shape, &call.arg(2).shape, &call.out().shape);
    (!shape.contains(&0) && !result.contains(&0)).then_some(())?;
    let of_group = size(&kernel, 'I', weight)?;
    let points = [size(&kernel, 'H', weight)?, size(&kernel, 'W', weight)?];
    let windows = window::windows(&points.map(|n| n as i64), &attrs.strides, &attrs.dilation, &attrs.padding);
    let outputs = size(&out, 'C', result)? / groups;
    let places = [size(&out, 'H', result)?, size(&out, 'W', result)?];
    let sums = [parts, of_group / parts, points[0], points[1]];
    let mut nest = Deformable {
        template: Template {
            dims: vec![size(&out, 'N', result)?, groups, outputs, places[0], places[1]],
            reduce: sums.map(|extent| ReduceDim { extent, clip: None }).to_vec(),
            ..Template::default()
        },
        body: Body::new(),
    };
    let channel = index(vec![(GROUP, of_group as i64), (PART, sums[1] as i64), (INPUT, 1)]);
    let of_data = along(&data, |letter| if letter == 'N' { AxisMap::of(BATCH) } else { channel.clone() });
    let mut axes = vec![];
    for (at, letter) in HW.chars().enumerate() {
        let place = nest.place(at, &windows[at], [places[at], points[at]])?;
        let n = i32::try_from(size(&data, letter, shape)?).ok()?;
        axes.push((data.axis(letter)?, nest.axis(call, place, moves(&data, at, points), n)?));
    }
    let sample = nest.sample(call, &axes, of_data)?;
    let output = index(vec![(GROUP, outputs as i64), (OUTPUT, 1)]);
    let of_weight = along(&kernel, |letter| match letter {
        'O' => output.clone(),
        'I' => index(vec![(PART, sums[1] as i64), (INPUT, 1)]),
        'H' => AxisMap::of(POINT[0]),
        _ => AxisMap::of(POINT[1]),
    });
    let tap = nest.double(call, Read::of(Source::Arg(2), of_weight), 2)?;
    let term = nest.body.bin(BinaryOp::Mul, tap, sample);
    let folds = Stage { each: true, body: nest.body, reductions: vec![(term, Reduction::Sum)], stores: vec![] };
    let mut body = Body::new();
    let sum = body.folded(0);
    let val = converted(&mut body, sum, ScalarType::F64, lane(call.out().dtype)?);
    let outs = vec![along(&out, |letter| of_place(letter, &output))];
    Some(Template { stages: vec![folds, stored(body, val)], outs, ..nest.template })
}

fn index(terms: Vec<(usize, i64)>) -> AxisMap {
    AxisMap { offset: 0, terms }
}

/// The index of each axis of a layout.
fn along(layout: &Layout, of: impl Fn(char) -> AxisMap) -> Vec<AxisMap> {
    layout.axes().map(|(letter, _)| of(letter)).collect()
}

/// The index of an axis of a tensor with the places of the result.
fn of_place(letter: char, channel: &AxisMap) -> AxisMap {
    match letter {
        'N' => AxisMap::of(BATCH),
        'C' => channel.clone(),
        'H' => AxisMap::of(PLACE[0]),
        _ => AxisMap::of(PLACE[1]),
    }
}

/// The axes of the offset, for the moves along the first or the second axis.
fn moves(layout: &Layout, at: usize, points: [u64; 2]) -> Vec<AxisMap> {
    let terms = vec![(PART, 2 * (points[0] * points[1]) as i64), (POINT[0], 2 * points[1] as i64), (POINT[1], 2)];
    let channel = AxisMap { offset: at as i64, terms };
    along(layout, |letter| of_place(letter, &channel))
}

struct Deformable {
    template: Template,
    body: Body,
}

/// A coordinate along an axis: whether it is inside, and both elements around it with their weights. The second element may lie
/// behind the last.
struct Around {
    is_inside: Val,
    places: [Val; 2],
    weights: [Val; 2],
    has_second: Val,
}

impl Deformable {
    fn number(&mut self, value: f64) -> Option<Val> {
        constant(&mut self.body, ScalarType::F64, value)
    }

    fn bin(&mut self, op: BinaryOp, a: Val, b: Val) -> Val {
        self.body.bin(op, a, b)
    }

    /// Reads an element of an operand as F64.
    fn double(&mut self, call: &Call, of: Read, arg: usize) -> Option<Val> {
        let val = read(&mut self.template, &mut self.body, of);
        Some(converted(&mut self.body, val, lane(call.arg(arg).dtype)?, ScalarType::F64))
    }

    /// Where a point of a window is before it is moved.
    fn place(&mut self, at: usize, window: &Window, [places, points]: [u64; 2]) -> Option<Val> {
        tabled(places.checked_mul(points)?)?;
        let points = points as i64;
        let pairs = (0..places as i64).flat_map(|place| (0..points).map(move |point| (place, point)));
        let place = |(place, point): (i64, i64)| (place * window.stride + point * window.dilation - window.before) as f32;
        let table = Table::floats(pairs.map(place));
        let index = AxisMap { offset: 0, terms: vec![(PLACE[at], points), (POINT[at], 1)] };
        let val = read(&mut self.template, &mut self.body, Read::table(table, index));
        Some(converted(&mut self.body, val, ScalarType::F32, ScalarType::F64))
    }

    fn axis(&mut self, call: &Call, place: Val, of_moves: Vec<AxisMap>, n: i32) -> Option<Around> {
        let moves = self.double(call, Read::of(Source::Arg(1), of_moves), 1)?;
        let at = self.bin(BinaryOp::Add, place, moves);
        let (zero, one, end) = (self.number(0.0)?, self.number(1.0)?, self.number(n.into())?);
        let (low, high) = (self.body.cmp(Cmp::Ge, at, zero), self.body.cmp(Cmp::Lt, at, end));
        let is_inside = self.bin(BinaryOp::And, low, high);
        let floor = self.body.un(UnaryOp::Floor, at);
        let behind = self.bin(BinaryOp::Sub, at, floor);
        let before = self.bin(BinaryOp::Sub, one, behind);
        let first = self.body.un(UnaryOp::To(ScalarType::I32), floor);
        let (least, most, step) = (self.body.i32(0), self.body.i32(n - 1), self.body.i32(1));
        let first = self.bin(BinaryOp::Max, first, least);
        let first = self.bin(BinaryOp::Min, first, most);
        let has_second = self.body.cmp(Cmp::Lt, first, most);
        let second = self.bin(BinaryOp::Add, first, step);
        let second = self.bin(BinaryOp::Min, second, most);
        Some(Around { is_inside, places: [first, second], weights: [before, behind], has_second })
    }

    /// The data at a point between its elements. A weight of 0 hides no infinity that is not met.
    fn sample(&mut self, call: &Call, axes: &[(usize, Around)], of_data: Vec<AxisMap>) -> Option<Val> {
        let [(down, ys), (along, xs)] = axes else { return None };
        let mut index = of_data;
        index[*down] = AxisMap::zero();
        index[*along] = AxisMap::zero();
        let zero = self.number(0.0)?;
        let mut sum = zero;
        for (y, x) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let picked = vec![(*down, ys.places[y]), (*along, xs.places[x])];
            let mut element = self.double(call, Read { picked, ..Read::of(Source::Arg(0), index.clone()) }, 0)?;
            for has in [(y == 1).then_some(ys.has_second), (x == 1).then_some(xs.has_second)].into_iter().flatten() {
                element = self.body.select(has, element, zero);
            }
            let weight = self.bin(BinaryOp::Mul, ys.weights[y], xs.weights[x]);
            let product = self.bin(BinaryOp::Mul, weight, element);
            let more = self.bin(BinaryOp::Add, sum, product);
            let counts = self.body.cmp(Cmp::Ne, weight, zero);
            sum = self.body.select(counts, more, sum);
        }
        let is_inside = self.bin(BinaryOp::And, ys.is_inside, xs.is_inside);
        Some(self.body.select(is_inside, sum, zero))
    }
}
