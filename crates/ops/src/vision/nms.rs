//! Non-maximum suppression: keeps the box with the largest score among overlapping boxes.

use super::{AllClassNmsAttrs, GetValidCountsAttrs, NonMaximumSuppressionAttrs, RegularNmsAttrs, require_shape, require_single};
use crate::choice::one_of;
use crate::lower::lane;
use crate::prelude::*;
use relayc_ir::kernel::{self, Routine};
use relayc_ir::tensor::{Acc, Float};

/// Requires fields of a box, which is the last axis of `data`, to be there: `rule`. An optional one may be negative.
fn require_fields(cx: &RelCx, rule: &'static str, data: &TensorTy, fields: &[(&'static str, i64, i64, bool)]) -> RelResult {
    for &(attr, first, n, optional) in fields {
        let length = data.shape[2].value().unwrap_or(i64::MAX);
        let fits = optional && first < 0 || first >= 0 && first.checked_add(n).is_some_and(|end| end <= length);
        cx.require(rule, fits, || {
            let what = if n == 1 { format!("is no field {first}") } else { format!("are no {n} fields from {first}") };
            Fault::attr(attr, format!("there {what} in a box of {}", data.shape[2])).at(data.axis(2), "")
        })?;
    }
    Ok(())
}

/// The first element of an operand that the relation required to have one.
fn single(cx: &EvalCx, arg: usize) -> Result<f64, Trap> {
    let none = || Trap::new(codes::E0501, format!("operand {arg} has no element"));
    cx.tensor(arg).to_f64s().first().copied().ok_or_else(none)
}

/// The indices of scores in descending order; equal scores keep their order, and NaN is the least.
pub(super) fn descending<T: Float>(scores: &[T]) -> Vec<usize> {
    // Adding 0 makes -0 and 0 one.
    let key = |score: &T| Some(score.to_f64() + 0.0).filter(|score| !score.is_nan()).unwrap_or(f64::NEG_INFINITY);
    let mut order: Vec<(f64, usize)> = scores.iter().map(key).zip(0..).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    order.into_iter().map(|(_, i)| i).collect()
}

/// A box, given by two opposite corners: the begins of both axes, their ends, and its area.
fn sides<T: Float>(corners: &[T]) -> [T; 5] {
    let low = [0, 1].map(|i| corners[i].least(corners[i + 2]));
    let high = [0, 1].map(|i| corners[i].most(corners[i + 2]));
    [low[0], low[1], high[0], high[1], (high[0] - low[0]) * (high[1] - low[1])]
}

/// The part that two boxes share of what both cover; 0 where they cover nothing.
fn overlap<T: Float>(a: &[T; 5], b: &[T; 5]) -> T {
    let shared = |i: usize| (a[i + 2].least(b[i + 2]) - a[i].most(b[i])).most(T::ZERO);
    let both = shared(0) * shared(1);
    let all = a[4] + b[4] - both;
    if all <= T::ZERO { T::ZERO } else { both / all }
}

pub(super) fn get_valid_counts_rel(cx: &mut RelCx) -> RelResult {
    let attrs = GetValidCountsAttrs::read(cx.attrs);
    let data = cx.tensor(0)?;
    cx.require("C1", data.rank() == 3, || Fault::rank(3, &data))?;
    let fields = [("score_index", attrs.score_index, 1, false), ("id_index", attrs.id_index, 1, true)];
    require_fields(cx, "C2", &data, &fields)?;
    rel::require_float(cx, "C3", &data)?;
    require_single(cx, "C4", 1)?;
    let counts = Shape::from_slice(&[data.dim(0)]);
    let indices = Shape::from_slice(&[data.dim(0), data.dim(1)]);
    cx.set_out_tuple(vec![(counts, DType::I32), (data.dims(), data.dtype), (indices, DType::I32)])
}

pub(super) fn get_valid_counts_eval(cx: &EvalCx) -> EvalResult {
    let (data, threshold) = (cx.tensor(0), single(cx, 1)?);
    let attrs = GetValidCountsAttrs::read(cx.attrs);
    let &[n, n_boxes, length] = data.shape() else { unreachable!("the relation required rank 3") };
    let elements = data.to_f64s();
    let field = |at: usize, field: i64| elements[at * length + field as usize];
    let is_valid =
        |&at: &usize| field(at, attrs.score_index) > threshold && (attrs.id_index < 0 || field(at, attrs.id_index) >= 0.0);
    let (mut counts, mut rows, mut indices) = (vec![], vec![], vec![]);
    for first in (0..n).map(|picture| picture * n_boxes) {
        let valid: Vec<usize> = (first..first + n_boxes).filter(is_valid).collect();
        counts.push(valid.len() as i32);
        indices.extend(valid.iter().map(|at| (at - first) as i32));
        rows.extend(valid.into_iter().map(Some));
        indices.resize(first + n_boxes, -1);
        rows.resize(first + n_boxes, None);
    }
    let counts = Tensor::from_vec(&[n], counts);
    Ok(Outputs::Tuple(vec![counts, chosen_rows(data, &rows), Tensor::from_vec(&[n, n_boxes], indices)]))
}

/// Rows of `data` by their numbers, of -1 where there is none.
fn chosen_rows(data: &Tensor, rows: &[Option<usize>]) -> Tensor {
    let length = data.shape()[2];
    data.pick(data.shape(), -1.0, |i| rows[i / length].map(|row| row * length + i % length))
}

/// Operand 0 as rows of boxes.
fn box_rows(call: &Call, score_index: i64, id_index: i64) -> Option<kernel::BoxRows> {
    let &[images, boxes, fields] = call.arg(0).shape.as_slice() else { return None };
    (boxes < MOST_BOXES).then_some(())?;
    let (score, class) = (u64::try_from(score_index).ok()?, u64::try_from(id_index).ok());
    Some(kernel::BoxRows { images, boxes, fields, dtype: supported(call, 0)?, score, class })
}

pub(super) fn get_valid_counts_routine(call: &Call) -> Option<Routine> {
    let attrs = GetValidCountsAttrs::read(call.attrs);
    let rows = box_rows(call, attrs.score_index, attrs.id_index)?;
    Some(Routine::Boxes(kernel::Boxes::Valid(kernel::ValidRows { rows, limit: of_one(call, 1)? })))
}

pub(super) fn non_max_suppression_routine(call: &Call) -> Option<Routine> {
    let attrs = NonMaximumSuppressionAttrs::read(call.attrs);
    Some(Routine::Boxes(kernel::Boxes::Suppress(kernel::SuppressRows {
        rows: box_rows(call, attrs.score_index, attrs.id_index)?,
        corners: u64::try_from(attrs.coord_start).ok()?,
        count: supported(call, 1)?,
        number: supported(call, 2)?,
        limits: [of_one(call, 3)?, of_one(call, 4)?],
        top: u64::try_from(attrs.top_k).ok().filter(|&k| k > 0),
        any_class: attrs.force_suppress,
        result: match () {
            () if attrs.return_indices => kernel::ChosenRows::Numbers,
            () if attrs.invalid_to_bottom => kernel::ChosenRows::Together,
            () => kernel::ChosenRows::InPlace,
        },
    })))
}

pub(super) fn non_max_suppression_rel(cx: &mut RelCx) -> RelResult {
    let attrs = NonMaximumSuppressionAttrs::read(cx.attrs);
    let (data, counts) = (cx.tensor(0)?, cx.tensor(1)?);
    cx.require("C1", data.rank() == 3, || Fault::rank(3, &data))?;
    require_shape(cx, "C1", &counts, &[data.shape[0]], &format!("a vector of {}", data.shape[0]))?;
    require_int(cx, "C1", &counts)?;
    let fields = [
        ("score_index", attrs.score_index, 1, false),
        ("coord_start", attrs.coord_start, 4, false),
        ("id_index", attrs.id_index, 1, true),
    ];
    require_fields(cx, "C2", &data, &fields)?;
    rel::require_float(cx, "C3", &data)?;
    require_single(cx, "C4", 3)?;
    require_single(cx, "C4", 4)?;
    if !attrs.return_indices {
        return cx.set_out(data.dims(), data.dtype);
    }
    if let Some(indices) = cx.known_tensor(2)? {
        let (n, boxes) = (data.shape[0], data.shape[1]);
        require_shape(cx, "C5", &indices, &[n, boxes], &format!("({n}, {boxes})"))?;
        require_int(cx, "C5", &indices)?;
    }
    let indices = Shape::from_slice(&[data.dim(0), data.dim(1)]);
    let counts = Shape::from_slice(&[data.dim(0), SDim::known(1, DimOrigin::Op)]);
    cx.set_out_tuple(vec![(indices, DType::I32), (counts, DType::I32)])
}

fn require_int(cx: &RelCx, rule: &'static str, tensor: &TensorTy) -> RelResult {
    cx.require(rule, tensor.dtype.is_int(), || {
        Fault::dtype(format!("expected an integer dtype, found `{}`", tensor.dtype)).at(tensor.place(), "")
    })
}

pub(super) fn non_max_suppression_eval(cx: &EvalCx) -> EvalResult {
    let attrs = NonMaximumSuppressionAttrs::read(cx.attrs);
    let data = cx.tensor(0);
    let &[n, n_boxes, length] = data.shape() else { unreachable!("the relation required rank 3") };
    let valid = |count: i128| usize::try_from(count).ok().filter(|&count| count <= n_boxes).ok_or(count);
    let counts: Result<Vec<usize>, i128> = cx.tensor(1).to_ints().into_iter().map(valid).collect();
    let counts = counts.map_err(|count| Trap::new(codes::E0501, format!("there are no {count} of {n_boxes} boxes")))?;
    let (most, threshold) = (single(cx, 3)?, single(cx, 4)?);
    let rows = match data.to_acc() {
        Acc::F64(_) => suppressed::<f64>(data, &counts, most, threshold, &attrs),
        _ => suppressed::<f32>(data, &counts, most, threshold, &attrs),
    };
    if attrs.return_indices {
        let numbers = cx.tensor(2).to_ints();
        let (mut indices, mut n_chosen) = (Vec::with_capacity(n * n_boxes), vec![]);
        for (picture, rows) in rows.chunks(n_boxes.max(1)).enumerate() {
            let chosen = rows.iter().flatten().map(|&row| numbers[row] as i32).filter(|&number| number >= 0);
            indices.extend(chosen);
            n_chosen.push((indices.len() - picture * n_boxes) as i32);
            indices.resize((picture + 1) * n_boxes, -1);
        }
        n_chosen.resize(n, 0);
        return Ok(Outputs::Tuple(vec![Tensor::from_vec(&[n, n_boxes], indices), Tensor::from_vec(&[n, 1], n_chosen)]));
    }
    if !attrs.invalid_to_bottom {
        return Ok(chosen_rows(data, &rows).into());
    }
    // A box is one whose first number is not negative.
    let elements = data.to_f64s();
    let mut sorted = Vec::with_capacity(rows.len());
    for (picture, rows) in rows.chunks(n_boxes.max(1)).enumerate() {
        sorted.extend(rows.iter().filter(|row| row.is_some_and(|row| elements[row * length] >= 0.0)));
        sorted.resize((picture + 1) * n_boxes, None);
    }
    Ok(chosen_rows(data, &sorted).into())
}

/// For each image and position, the index of the box there, counted over all images.
fn suppressed<T: Float>(
    data: &Tensor,
    counts: &[usize],
    most: f64,
    threshold: f64,
    attrs: &NonMaximumSuppressionAttrs,
) -> Vec<Option<usize>> {
    let (n_boxes, length) = (data.shape()[1], data.shape()[2]);
    let elements = T::elements(&data.to_acc());
    let field = |row: usize, field: i64| elements[row * length + field as usize];
    let sides = |row: usize| sides(&elements[row * length + attrs.coord_start as usize..][..4]);
    let has_class = |row: usize| attrs.id_index < 0 || field(row, attrs.id_index) >= T::ZERO;
    let rivals =
        |a: usize, b: usize| attrs.force_suppress || attrs.id_index < 0 || field(a, attrs.id_index) == field(b, attrs.id_index);
    let scored = |row: &usize| field(*row, attrs.score_index) > T::ZERO;
    let mut all = Vec::with_capacity(counts.len() * n_boxes);
    for (picture, &count) in counts.iter().enumerate() {
        let first = picture * n_boxes;
        let mut rows: Vec<Option<usize>> = (first..first + count).map(Some).collect();
        if threshold > 0.0 {
            let scores: Vec<T> = (first..first + count).map(|row| field(row, attrs.score_index)).collect();
            let n_kept = usize::try_from(attrs.top_k).ok().filter(|&k| k > 0).map_or(count, |k| k.min(count));
            let order = descending(&scores).into_iter().enumerate();
            rows = order.map(|(at, i)| (at < n_kept).then_some(first + i)).collect();
            let mut chosen: Vec<(usize, [T; 5])> = vec![];
            for row in &mut rows {
                if chosen.len() as f64 == most {
                    *row = None;
                } else if let Some(a) = row.filter(scored) {
                    let own = sides(a);
                    let better =
                        |&(b, of_b): &(usize, [T; 5])| has_class(b) && rivals(a, b) && overlap(&own, &of_b) >= T::at(threshold);
                    if chosen.iter().any(better) {
                        *row = None;
                    } else {
                        chosen.push((a, own));
                    }
                }
            }
        }
        all.extend(rows);
        all.resize(first + n_boxes, None);
    }
    all
}

pub(super) fn all_class_rel(cx: &mut RelCx) -> RelResult {
    let attrs = AllClassNmsAttrs::read(cx.attrs);
    let (boxes, scores) = (cx.tensor(0)?, cx.tensor(1)?);
    require_shape(cx, "C1", &boxes, &[Dim::Any, Dim::Any, Dim::known(4)], "(pictures, boxes, 4)")?;
    let (n, n_boxes) = (boxes.shape[0], boxes.shape[1]);
    require_shape(cx, "C1", &scores, &[n, Dim::Any, n_boxes], &format!("({n}, classes, {n_boxes})"))?;
    rel::require_float(cx, "C2", &boxes)?;
    rel::require_float(cx, "C2", &scores)?;
    one_of(cx, "C3", "output_format", &attrs.output_format.0, &["onnx", "tensorflow"])?;
    for arg in 2..5 {
        require_single(cx, "C4", arg)?;
    }
    let (classes, symbols) = (scores.shape[1], &mut cx.types.symbols);
    let fixed = |value: i64| SDim::known(value, DimOrigin::Op);
    if attrs.output_format.0 == "onnx" {
        // TVM looks for `?` among the pictures and boxes, not among the classes.
        let all = if n == Dim::Any { n } else { symbols.built(SymbolOp::Mul, n, classes) };
        let all = if n_boxes == Dim::Any { n_boxes } else { all };
        let all = if all == Dim::Any { all } else { symbols.built(SymbolOp::Mul, all, n_boxes) };
        let all = SDim::new(all, DimOrigin::Op);
        let rows = Shape::from_slice(&[all, fixed(3)]);
        return cx.set_out_tuple(vec![(rows, DType::I64), (Shape::from_slice(&[fixed(1)]), DType::I64)]);
    }
    let each = if n_boxes == Dim::Any { n_boxes } else { symbols.built(SymbolOp::Mul, classes, n_boxes) };
    let each = SDim::new(each, DimOrigin::Op);
    let n = boxes.dim(0);
    let (rows, scores) = (Shape::from_slice(&[n, each, fixed(2)]), Shape::from_slice(&[n, each]));
    cx.set_out_tuple(vec![(rows, DType::I64), (scores, DType::F32), (Shape::from_slice(&[n]), DType::I64)])
}

pub(super) fn all_class_eval(cx: &EvalCx) -> EvalResult {
    let (boxes, scores) = (cx.tensor(0), cx.tensor(1));
    let attrs = AllClassNmsAttrs::read(cx.attrs);
    let limits = [single(cx, 2)?, single(cx, 3)?, single(cx, 4)?];
    let chosen = match (boxes.to_acc(), scores.to_acc()) {
        (Acc::F32(_), Acc::F32(_)) => of_all_classes::<f32>(boxes, scores, limits),
        _ => of_all_classes::<f64>(boxes, scores, limits),
    };
    let &[n, n_classes, n_boxes] = scores.shape() else { unreachable!("the relation required rank 3") };
    let mut rows: Vec<i64> = vec![];
    if attrs.output_format.0 == "onnx" {
        rows.extend(chosen.iter().flat_map(|row| [row.picture, row.class, row.number].map(|x| x as i64)));
        rows.resize(n * n_classes * n_boxes * 3, 0);
        let rows = Tensor::from_vec(&[n * n_classes * n_boxes, 3], rows);
        return Ok(Outputs::Tuple(vec![rows, Tensor::from_vec(&[1], vec![chosen.len() as i64])]));
    }
    let (each, mut best, mut counts) = (n_classes * n_boxes, vec![], vec![]);
    for picture in 0..n {
        let of_picture: Vec<&Chosen> = chosen.iter().filter(|row| row.picture == picture).collect();
        rows.extend(of_picture.iter().flat_map(|row| [row.class as i64, row.number as i64]));
        best.extend(of_picture.iter().map(|row| row.score as f32));
        rows.resize((picture + 1) * each * 2, 0);
        best.resize((picture + 1) * each, 0.0);
        counts.push(of_picture.len() as i64);
    }
    let (rows, best) = (Tensor::from_vec(&[n, each, 2], rows), Tensor::from_vec(&[n, each], best));
    Ok(Outputs::Tuple(vec![rows, best, Tensor::from_vec(&[n], counts)]))
}

/// More boxes have no kernel: a key of 32 bits has a position of as many behind it.
const MOST_BOXES: u64 = 1 << 32;

/// The dtype of an operand, if kernels support it.
fn supported(call: &Call, arg: usize) -> Option<DType> {
    lane(call.arg(arg).dtype).map(|_| call.arg(arg).dtype)
}

/// As [`supported`], of an operand of one element.
fn of_one(call: &Call, arg: usize) -> Option<DType> {
    supported(call, arg).filter(|_| call.arg(arg).shape.iter().all(|&dim| dim == 1))
}

pub(super) fn all_class_routine(call: &Call) -> Option<Routine> {
    let &[images, classes, boxes] = call.arg(1).shape.as_slice() else { return None };
    (boxes < MOST_BOXES).then_some(())?;
    let by_image = AllClassNmsAttrs::read(call.attrs).output_format.0 == "tensorflow";
    let limits = [of_one(call, 2)?, of_one(call, 3)?, of_one(call, 4)?];
    Some(Routine::Boxes(kernel::Boxes::AllClass(kernel::AllClassNms {
        images,
        classes,
        boxes,
        corner: supported(call, 0)?,
        score: supported(call, 1)?,
        limits,
        by_image,
    })))
}

struct Chosen {
    picture: usize,
    class: usize,
    number: usize,
    score: f64,
}

/// The remaining boxes, by image, then class, then descending score.
fn of_all_classes<T: Float>(boxes: &Tensor, scores: &Tensor, [most, iou, least]: [f64; 3]) -> Vec<Chosen> {
    let &[n, n_classes, n_boxes] = scores.shape() else { unreachable!("the relation required rank 3") };
    let (corners, scores) = (T::elements(&boxes.to_acc()), T::elements(&scores.to_acc()));
    let sides: Vec<[T; 5]> = corners.chunks_exact(4).map(sides).collect();
    let mut all = vec![];
    for (picture, class) in (0..n).flat_map(|picture| (0..n_classes).map(move |class| (picture, class))) {
        let of_class = &scores[(picture * n_classes + class) * n_boxes..][..n_boxes];
        let order = descending(of_class).into_iter().take_while(|&number| of_class[number] > T::at(least));
        let (mut numbers, mut chosen): (Vec<usize>, Vec<&[T; 5]>) = (vec![], vec![]);
        // TVM marks a suppressed box by the score -1, and a box of a score not above 0 is not suppressed.
        for number in order.filter(|&number| iou > 0.0 && of_class[number] > -T::ONE) {
            if most > 0.0 && numbers.len() as f64 >= most {
                break;
            }
            let own = &sides[picture * n_boxes + number];
            if of_class[number] <= T::ZERO || !chosen.iter().any(|better| overlap(better, own) >= T::at(iou)) {
                numbers.push(number);
                chosen.push(own);
            }
        }
        let row = |number: usize| Chosen { picture, class, number, score: of_class[number].to_f64() };
        all.extend(numbers.into_iter().map(row));
    }
    all
}

pub(super) fn regular_rel(cx: &mut RelCx) -> RelResult {
    let attrs = RegularNmsAttrs::read(cx.attrs);
    let most = attrs.max_detections;
    cx.require("C3", most >= 0, || Fault::attr("max_detections", format!("expected at least 0, found {most}")))?;
    let (boxes, scores) = (cx.tensor(0)?, cx.tensor(1)?);
    require_shape(cx, "C1", &boxes, &[Dim::Any, Dim::Any, Dim::known(4)], "(pictures, boxes, 4)")?;
    let (n, n_boxes) = (boxes.shape[0], boxes.shape[1]);
    require_shape(cx, "C1", &scores, &[n, n_boxes, Dim::Any], &format!("({n}, {n_boxes}, classes)"))?;
    rel::require_float(cx, "C2", &boxes)?;
    rel::require_float(cx, "C2", &scores)?;
    let (classes, of_scores) = (attrs.num_classes, scores.shape[2]);
    let fits = classes >= 0 && of_scores.value().is_none_or(|all| classes <= all);
    cx.require("C4", fits, || {
        Fault::attr("num_classes", format!("expected num_classes in 0…{of_scores}, found {classes}")).at(scores.axis(2), "")
    })?;
    let n = boxes.dim(0);
    let most = SDim::known(most, DimOrigin::Attr("max_detections"));
    let each = Shape::from_slice(&[n, most]);
    let rows = Shape::from_slice(&[n, most, SDim::known(4, DimOrigin::Op)]);
    let counts = Shape::from_slice(&[n]);
    cx.set_out_tuple(vec![(rows, DType::F32), (each.clone(), DType::F32), (each, DType::F32), (counts, DType::I32)])
}

pub(super) fn regular_eval(cx: &EvalCx) -> EvalResult {
    let attrs = RegularNmsAttrs::read(cx.attrs);
    let tensors = match (cx.tensor(0).to_acc(), cx.tensor(1).to_acc()) {
        (Acc::F32(_), Acc::F32(_)) => regular::<f32>(cx.tensor(0), cx.tensor(1), &attrs),
        _ => regular::<f64>(cx.tensor(0), cx.tensor(1), &attrs),
    };
    Ok(Outputs::Tuple(tensors))
}

fn regular<T: Float>(boxes: &Tensor, scores: &Tensor, attrs: &RegularNmsAttrs) -> Vec<Tensor> {
    let &[n, n_boxes, n_classes] = scores.shape() else { unreachable!("the relation required rank 3") };
    let (corners, scores) = (T::elements(&boxes.to_acc()), T::elements(&scores.to_acc()));
    let most = attrs.max_detections as usize;
    let background = n_classes - attrs.num_classes as usize;
    let (mut rows, mut classes, mut best, mut counts) = (vec![], vec![], vec![], vec![]);
    for picture in 0..n {
        let corners = |number: usize| &corners[(picture * n_boxes + number) * 4..][..4];
        // The best of the classes so far: score, class, number.
        let mut chosen: Vec<(T, usize, usize)> = vec![];
        for class in 0..attrs.num_classes as usize {
            let of_class: Vec<T> =
                (0..n_boxes).map(|number| scores[(picture * n_boxes + number) * n_classes + class + background]).collect();
            let order = descending(&of_class).into_iter().filter(|&i| of_class[i] >= T::at(attrs.score_threshold));
            let mut of_this: Vec<usize> = vec![];
            for number in order {
                let covers = |&better: &usize| plain_overlap(corners(better), corners(number)) > T::at(attrs.iou_threshold);
                let is_room = (of_this.len() as i64) < attrs.max_detections_per_class;
                if is_room && !of_this.iter().any(covers) {
                    of_this.push(number);
                }
            }
            chosen.extend(of_this.into_iter().map(|number| (of_class[number], class, number)));
            let scores: Vec<T> = chosen.iter().map(|row| row.0).collect();
            chosen = descending(&scores).into_iter().take(most).map(|i| chosen[i]).collect();
        }
        for &(score, class, number) in &chosen {
            rows.extend(corners(number).iter().map(|x| x.to_f64() as f32));
            classes.push(class as f32);
            best.push(score.to_f64() as f32);
        }
        counts.push(chosen.len() as i32);
        rows.resize((picture + 1) * most * 4, 0.0);
        classes.resize((picture + 1) * most, 0.0);
        best.resize((picture + 1) * most, 0.0);
    }
    let each = |elements: Vec<f32>| Tensor::from_vec(&[n, most], elements);
    vec![Tensor::from_vec(&[n, most, 4], rows), each(classes), each(best), Tensor::from_vec(&[n], counts)]
}

/// As [`overlap`], of boxes whose least corner comes first; one that is turned over covers nothing.
fn plain_overlap<T: Float>(a: &[T], b: &[T]) -> T {
    let area = |x: &[T]| (x[2] - x[0]) * (x[3] - x[1]);
    if !(area(a) > T::ZERO && area(b) > T::ZERO) {
        return T::ZERO;
    }
    let shared = |i: usize| (a[i + 2].least(b[i + 2]) - a[i].most(b[i])).most(T::ZERO);
    let both = shared(0) * shared(1);
    both / (area(a) + area(b) - both)
}

#[cfg(test)]
mod tests {
    use super::super::{ALL_CLASS_NON_MAX_SUPPRESSION, GET_VALID_COUNTS, NON_MAX_SUPPRESSION, REGULAR_NON_MAX_SUPPRESSION};
    use super::*;
    use crate::trial::{Trial, call, extremes};
    use relayc_ir::attrs::AttrValue;

    const ONE: &str = "() float32";

    fn regular(most: i64, classes: i64) -> Trial {
        let trial = call(&REGULAR_NON_MAX_SUPPRESSION).int("max_detections_per_class", 9).int("max_detections", most);
        let float = AttrValue::float(0.5);
        trial.int("num_classes", classes).attr("iou_threshold", float.clone()).attr("score_threshold", float)
    }

    #[test]
    fn shapes() {
        let counts = call(&GET_VALID_COUNTS);
        let out = "(Tensor[(1), int32], Tensor[(1, ?, 6), float16], Tensor[(1, ?), int32])";
        assert_eq!(counts.out(&["(1, ?, 6) float16", "_"]), out);
        let args = ["(2, 5, 6) float32", "(2) int32", "(2, 5) int32", "() int32", ONE];
        assert_eq!(call(&NON_MAX_SUPPRESSION).out(&args), "(Tensor[(2, 5), int32], Tensor[(2, 1), int32])");
        let whole = call(&NON_MAX_SUPPRESSION).int("return_indices", 0);
        assert_eq!(whole.out(&["(2, 5, 6) float32", "(2) int32", "(7) float32", "_", "_"]), "Tensor[(2, 5, 6), float32]");
        let class = ["(2, 5, 4) float32", "(?, 3i64, 5) float32", "() int32", ONE, ONE];
        let all = || call(&ALL_CLASS_NON_MAX_SUPPRESSION);
        assert_eq!(all().out(&class), "(Tensor[(30i64, 3), int64], Tensor[(1), int64])");
        let out = "(Tensor[(2, 15i64, 2), int64], Tensor[(2, 15i64), float32], Tensor[(2), int64])";
        assert_eq!(all().text("output_format", "tensorflow").out(&class), out);
        let two = ["(?, 5, 4) float16", "(1, 5, ?) float32"];
        let out = "(Tensor[(?, 3, 4), float32], Tensor[(?, 3), float32], Tensor[(?, 3), float32], Tensor[(?), int32])";
        assert_eq!(regular(3, 2).out(&two), out);
        extremes(|| call(&GET_VALID_COUNTS), &["(1, 5, 6) float16", ONE]);
        extremes(|| call(&NON_MAX_SUPPRESSION), &args);
        extremes(all, &class);
        extremes(|| regular(3, 2), &two);
    }

    #[test]
    fn wild_boxes() {
        let wild = [f32::NAN, f32::INFINITY, -f32::INFINITY, -0.0, 0.0, 1.0];
        let data = Tensor::from_fn(&[1, 36, 6], |i| wild[i * 7 % 11 % 6]);
        let count = |n: i32| Tensor::from_vec(&[1], vec![n]);
        let indices = Tensor::from_fn(&[1, 36], |i| i as i32);
        let nms = |n| {
            let most = Tensor::scalar(-1i32);
            call(&NON_MAX_SUPPRESSION).eval(&[&data, &count(n), &indices, &most, &Tensor::scalar(0.5f32)])
        };
        assert!(nms(36).is_ok() && nms(0).is_ok());
        assert_eq!(nms(37).expect_err("a trap").code, codes::E0501);
        assert_eq!(nms(-1).expect_err("a trap").code, codes::E0501);
        let corners = Tensor::from_fn(&[1, 36, 4], |i| wild[i * 5 % 13 % 6]);
        let scores = Tensor::from_fn(&[1, 36, 1], |i| wild[i % 6]);
        assert!(regular(9, 1).eval(&[&corners, &scores]).is_ok());
        let turned = scores.reshape(&[1, 1, 36]).expect("as many");
        let scalar = Tensor::scalar(0.0f32);
        assert!(
            call(&ALL_CLASS_NON_MAX_SUPPRESSION).eval(&[&corners, &turned, &scalar, &Tensor::scalar(0.5f32), &scalar]).is_ok()
        );
    }

    #[test]
    fn equal_scores_keep_their_order() {
        assert_eq!(descending(&[0.5f32, f32::NAN, 0.0, -0.0, 0.5, 1.0]), [5, 0, 4, 2, 3, 1]);
    }
}
