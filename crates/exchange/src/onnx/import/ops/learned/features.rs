//! Converts what prepares the columns of tables, and what maps labels to others or to scores.

use super::super::super::formula::{call2, select};
use super::super::{Converter, op};
use super::*;

/// One number, or one for each column.
fn of_columns(cx: &mut Cx, x: Val, values: &[f64]) -> Result {
    match values {
        [value] => cx.like(x, *value),
        values => {
            let columns = cx.size(x, cx.rank(x)?.saturating_sub(1))?;
            numbers(cx, &[columns], x, values)
        }
    }
}

fn scaler(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let x = cx.cast(x, DType::F32)?;
    let (offset, scale) = (cx.floats("offset")?.unwrap_or_else(|| vec![0.0]), cx.floats("scale")?.unwrap_or_else(|| vec![1.0]));
    let (offset, scale) = (of_columns(cx, x, &offset)?, of_columns(cx, x, &scale)?);
    one(cx.b.formula(x, (x - offset) * scale)?)
}

/// Rows divided by their norms; a row of zeros stays.
fn normalizer(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let x = cx.cast(x, DType::F32)?;
    let norm = match cx.text("norm", "MAX")?.as_str() {
        "MAX" => cx.reduce("max", x, &[-1], true)?,
        "L1" => {
            let sizes = cx.unary("abs", x)?;
            cx.reduce("sum", sizes, &[-1], true)?
        }
        "L2" => {
            let squares = cx.binary("multiply", x, x)?;
            let sum = cx.reduce("sum", squares, &[-1], true)?;
            cx.unary("sqrt", sum)?
        }
        other => return Err(Refusal::wrong(format!("the norm `{other}`, where `MAX`, `L1` and `L2` are defined"))),
    };
    let is_zero = cx.b.formula(norm, call2("equal", norm, 0.0))?;
    one(cx.b.formula(x, select(is_zero, x, x / norm))?)
}

/// Replaces one value, which may be NaN, by others.
fn imputer(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let floats = (cx.floats("imputed_value_floats")?, cx.float("replaced_value_float", 0.0)?);
    let whole = (cx.ints("imputed_value_int64s")?, cx.int("replaced_value_int64", 0)?);
    if cx.dtype(x)?.is_float() {
        let (Some(values), replaced) = floats else { return Err(Refusal::wrong("floats without an imputed value")) };
        let values = of_columns(cx, x, &values)?;
        let is_replaced = match replaced.is_nan() {
            true => cx.unary("isnan", x)?,
            false => cx.b.formula(x, call2("equal", x, replaced))?,
        };
        return one(cx.select(is_replaced, values, x)?);
    }
    let (Some(values), replaced) = whole else { return Err(Refusal::wrong("integers without an imputed value")) };
    let (values, replaced) = (cx.int_list(&values), cx.put(Tensor::scalar(replaced))?);
    let is_replaced = cx.binary("equal", x, replaced)?;
    one(cx.select(is_replaced, values, x)?)
}

/// Where the elements, behind one another along a new last axis, are these keys.
fn matches(cx: &mut Cx, x: Val, keys: Val) -> Result {
    let rank = cx.rank(x)?;
    let apart = cx.expand_dims(x, rank, 1)?;
    let same = cx.binary("equal", apart, keys)?;
    // Since operator set 4, NaN is a key like others.
    if !cx.dtype(keys)?.is_float() || cx.version < 4 {
        return Ok(same);
    }
    let (a, b) = (cx.unary("isnan", apart)?, cx.unary("isnan", keys)?);
    let both = cx.binary("logical_and", a, b)?;
    cx.binary("logical_or", same, both)
}

/// A category that is not in the list gives zeros.
fn one_hot_encoder(cx: &mut Cx) -> Results {
    // Whether a category that is not in the list is an error.
    cx.ignore("zeros");
    let x = cx.input(0)?;
    let Some(categories) = cx.ints("cats_int64s")? else { return Err(refuse(STRINGS)) };
    let (x, categories) = (cx.cast(x, DType::I64)?, cx.int_list(&categories));
    let found = matches(cx, x, categories)?;
    one(cx.cast(found, DType::F32)?)
}

/// A list of numbers: of one of three attributes.
fn list(cx: &mut Cx, of_ints: &'static str, of_floats: &'static str, of_tensor: &'static str) -> Result<Option<Tensor>> {
    if let Some(values) = cx.ints(of_ints)? {
        return Ok(Some(Tensor::from_vec(&[values.len()], values)));
    }
    if let Some(values) = cx.floats(of_floats)? {
        return Ok(Tensor::from_vec(&[values.len()], values).cast(DType::F32));
    }
    cx.tensor(of_tensor)
}

fn label_encoder(cx: &mut Cx) -> Results {
    let x = cx.input(0)?;
    let keys = list(cx, "keys_int64s", "keys_floats", "keys_tensor")?;
    let values = list(cx, "values_int64s", "values_floats", "values_tensor")?;
    let (Some(keys), Some(values)) = (keys, values) else { return Err(refuse(STRINGS)) };
    if keys.shape() != values.shape() || keys.shape().len() != 1 || keys.shape() == [0] {
        return Err(Refusal::wrong(format!("keys of shape {:?} and values of shape {:?}", keys.shape(), values.shape())));
    }
    let other = match (cx.tensor("default_tensor")?, values.dtype().is_float()) {
        (Some(other), _) => other.to_f64s().first().copied().unwrap_or(0.0),
        (None, true) => cx.float("default_float", -0.0)?,
        (None, false) => return whole_labels(cx, x, keys, values),
    };
    let (keys, values) = (cx.constant(keys), cx.constant(values));
    let other = cx.like(values, other)?;
    one(looked_up(cx, x, keys, values, other)?)
}

/// Of integers, the default may be any.
fn whole_labels(cx: &mut Cx, x: Val, keys: Tensor, values: Tensor) -> Results {
    let other = Tensor::scalar(cx.int("default_int64", -1)?);
    let dtype = values.dtype();
    let (keys, values, other) = (cx.constant(keys), cx.constant(values), cx.put_as(other, dtype)?);
    one(looked_up(cx, x, keys, values, other)?)
}

/// The values of keys, or another value.
fn looked_up(cx: &mut Cx, x: Val, keys: Val, values: Val, other: Val) -> Result {
    let found = matches(cx, x, keys)?;
    let found = cx.cast(found, DType::I32)?;
    let at = cx.call("argmax", &[found], &[("axis", ints(&[-1]))])?;
    let of_keys = cx.call("take", &[values, at], &[("axis", AttrValue::int(0)), ("mode", AttrValue::str("fast"))])?;
    let is_there = cx.reduce("max", found, &[-1], false)?;
    let is_there = cx.cast(is_there, DType::BOOL)?;
    cx.select(is_there, of_keys, other)
}

/// The columns of several tables, one behind the other.
fn feature_vectorizer(cx: &mut Cx) -> Results {
    // How many columns each has.
    cx.ignore("inputdimensions");
    let tables = cx.all_inputs()?;
    let tables: Vec<Val> = tables.into_iter().map(|table| cx.cast(table, DType::F32)).collect::<Result<_>>()?;
    one(cx.concatenate(&tables, 1)?)
}

/// Scores by label: the scores, in the order of the labels.
fn zip_map(cx: &mut Cx) -> Results {
    labels(cx, "classlabels_int64s")?;
    one(cx.input(0)?)
}

/// 1 above the threshold, else 0.
fn binarizer(cx: &mut Cx) -> Results {
    let (x, threshold) = (cx.input(0)?, cx.float("threshold", 0.0)?);
    let (limit, dtype) = (cx.like(x, threshold)?, cx.dtype(x)?);
    let above = cx.binary("greater", x, limit)?;
    one(cx.cast(above, dtype)?)
}

/// Columns of the last axis, as rows.
fn array_feature_extractor(cx: &mut Cx) -> Results {
    let (x, positions) = (cx.input(0)?, cx.input(1)?);
    let rank = cx.rank(x)?;
    let last = rank.checked_sub(1).ok_or_else(|| Refusal::wrong("an operand without an axis"))?;
    let flat = cx.reshape(positions, &[-1])?;
    let taken = cx.call("take", &[x, flat], &[("axis", int(last)), ("mode", AttrValue::str("fast"))])?;
    one(if rank == 1 { cx.reshape(taken, &[1, -1])? } else { taken })
}

const STRINGS: &str = "categories that are strings, which Relay does not have";

pub(in super::super) const FAMILY: &[Converter] = &[
    op("ai.onnx.ml.ArrayFeatureExtractor", &[1], array_feature_extractor),
    op("ai.onnx.ml.Binarizer", &[1], binarizer),
    op("ai.onnx.ml.FeatureVectorizer", &[1], feature_vectorizer),
    op("ai.onnx.ml.Imputer", &[1], imputer),
    op("ai.onnx.ml.LabelEncoder", &[2, 4], label_encoder).but("strings"),
    op("ai.onnx.ml.Normalizer", &[1], normalizer),
    op("ai.onnx.ml.OneHotEncoder", &[1], one_hot_encoder).but("strings; a category that is not in the list is no error"),
    op("ai.onnx.ml.Scaler", &[1], scaler),
    op("ai.onnx.ml.ZipMap", &[1], zip_map).but("the result is the tensor of scores, in the order of the labels"),
];
