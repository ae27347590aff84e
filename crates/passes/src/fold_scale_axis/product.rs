//! Products with constant weights: convolutions and matrix products, with the channels that they read and write.

use super::scale::Scale;
use crate::PassCx;
use crate::build::{args, dtype, value_of};
use relayc_ir::tensor::{RowFactors, Tensor};
use relayc_ir::{ExprId, Module};
use relayc_ops::declarations::{
    CONV1D, CONV1D_TRANSPOSE, CONV2D, CONV2D_TRANSPOSE, CONV3D, CONV3D_TRANSPOSE, Conv2dAttrs, Conv2dTransposeAttrs, DENSE,
    Layout, MATMUL, MatmulAttrs,
};

/// Where channels lie in a tensor.
#[derive(Clone, PartialEq, Debug)]
struct Channels {
    rank: usize,
    /// The outermost first.
    axes: Vec<usize>,
    dims: Vec<usize>,
}

impl Channels {
    fn of(shape: &[i64], axes: Vec<usize>) -> Option<Channels> {
        let dims: Option<Vec<usize>> = axes.iter().map(|&axis| usize::try_from(*shape.get(axis)?).ok()).collect();
        Some(Channels { rank: shape.len(), axes, dims: dims? })
    }

    fn count(&self) -> usize {
        self.dims.iter().product()
    }
}

/// The meaning of a weight's first two axes, in the order of [`Product::weight_letters`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rows {
    /// The outputs, then the inputs of one group.
    Outputs,
    /// The inputs, then the outputs of one group.
    Inputs,
}

/// A product of an operand with a constant weight, which is operand 1.
pub(crate) struct Product {
    data: Channels,
    out: Channels,
    groups: usize,
    rows: Rows,
    /// The letters of rows and columns in the weight's layout.
    first: &'static str,
    /// How the weight is stored; `None` where rows and columns are its axes.
    layout: Option<Layout>,
}

impl Product {
    /// Reads a call as a product with a constant float weight without conversion.
    pub(crate) fn of(module: &Module, cx: &PassCx, expr: ExprId) -> Option<Product> {
        let is = |defs: &[&relayc_ops::OpDef]| cx.calls_any(module, expr, defs);
        let operands = args(module, expr);
        let weight = value_of(module, *operands.get(1)?)?;
        let data = open_shape(module, operands[0])?;
        let one_dtype = dtype(module, operands[0]) == Some(weight.dtype()) && dtype(module, expr) == Some(weight.dtype());
        if !one_dtype || !weight.dtype().is_float() {
            return None;
        }
        let out = open_shape(module, expr)?;
        let values = module.call_attrs(expr);
        let product = if is(&[&CONV1D, &CONV2D, &CONV3D]) {
            Product::conv(&data, &out, weight, &Conv2dAttrs::read(values))
        } else if is(&[&CONV1D_TRANSPOSE, &CONV2D_TRANSPOSE, &CONV3D_TRANSPOSE]) {
            Product::transposed_conv(&data, &out, &Conv2dTransposeAttrs::read(values))
        } else if is(&[&DENSE]) {
            Product::matrix(&data, &out, data.len().checked_sub(1)?, Rows::Outputs)
        } else if is(&[&MATMUL]) {
            let attrs = MatmulAttrs::read(values);
            let k = data.len().checked_sub(if attrs.transpose_a { 2 } else { 1 })?;
            Product::matrix(&data, &out, k, if attrs.transpose_b { Rows::Outputs } else { Rows::Inputs })
        } else {
            None
        };
        product.filter(|product| product.fits(weight))
    }

    fn matrix(data: &[i64], out: &[i64], k: usize, rows: Rows) -> Option<Product> {
        let (data, out) = (Channels::of(data, vec![k])?, Channels::of(out, vec![out.len().checked_sub(1)?])?);
        Some(Product { data, out, groups: 1, rows, first: "", layout: None })
    }

    fn conv(data: &[i64], out: &[i64], weight: &Tensor, attrs: &Conv2dAttrs) -> Option<Product> {
        let layout = Layout::parse(&attrs.kernel_layout).ok()?;
        let own: Vec<usize> = layout.whole("OI", weight.shape());
        let product = Product::layouts(data, out, (&attrs.data_layout, &attrs.out_layout), attrs.groups, layout)?;
        // A depthwise weight with several outputs for each channel: they lie on the axis I.
        let multiplied = own[1] > 1 && own[0] == product.data.count() && product.groups == own[0];
        Some(Product { rows: if multiplied { Rows::Inputs } else { Rows::Outputs }, first: "OI", ..product })
    }

    fn transposed_conv(data: &[i64], out: &[i64], attrs: &Conv2dTransposeAttrs) -> Option<Product> {
        let layout = Layout::parse(&attrs.kernel_layout).ok()?;
        Product::layouts(data, out, (&attrs.data_layout, &attrs.out_layout), attrs.groups, layout)
    }

    /// A product by its layouts, with inputs in the rows of its weight.
    fn layouts(
        data: &[i64],
        out: &[i64],
        (data_layout, out_layout): (&str, &str),
        groups: i64,
        layout: Layout,
    ) -> Option<Product> {
        if layout.axis('G').is_some() {
            return None;
        }
        let channels = |layout: &str, shape: &[i64]| Channels::of(shape, Layout::parse(layout).ok()?.axes_of('C'));
        let data = channels(data_layout, data)?;
        let out = channels(if out_layout.is_empty() { data_layout } else { out_layout }, out)?;
        let groups = usize::try_from(groups).ok().filter(|&groups| groups > 0)?;
        Some(Product { data, out, groups, rows: Rows::Inputs, first: "IO", layout: Some(layout) })
    }

    /// The letters of a weight's axes, rows and columns first.
    fn weight_letters(&self, layout: &Layout) -> String {
        let spatial = layout.letters().replace(['O', 'I'], "");
        format!("{}{spatial}", self.first)
    }

    /// Rows and columns, by the product's channels.
    fn sizes(&self) -> (usize, usize) {
        let (inputs, outputs) = (self.data.count(), self.out.count());
        match self.rows {
            Rows::Outputs => (outputs, inputs / self.groups),
            Rows::Inputs => (inputs, outputs / self.groups),
        }
    }

    fn fits(&self, weight: &Tensor) -> bool {
        let (rows, columns) = self.sizes();
        let shape = match &self.layout {
            None => weight.shape().to_vec(),
            Some(layout) => layout.whole(&self.weight_letters(layout), weight.shape()),
        };
        shape.len() >= 2 && shape[..2] == [rows, columns] && rows.is_multiple_of(self.groups) && !weight.is_empty()
    }

    /// The factors of the outputs, if `scale` varies along no other axes.
    pub(crate) fn outputs(&self, scale: &Scale) -> Option<Vec<f64>> {
        (scale.shape.len() == self.out.rank).then(|| scale.channels(&self.out.axes, &self.out.dims))?
    }

    /// The factors of the inputs, if `scale` varies along no other axes.
    pub(crate) fn inputs(&self, scale: &Scale) -> Option<Vec<f64>> {
        (scale.shape.len() == self.data.rank).then(|| scale.channels(&self.data.axes, &self.data.dims))?
    }

    /// The weight `W'` with `W'(o, i, …) == outputs[o] * inputs[i] * W(o, i, …)`; a list that is `None` counts as 1.
    pub(crate) fn scaled(&self, weight: Tensor, outputs: Option<&[f64]>, inputs: Option<&[f64]>) -> Option<Tensor> {
        let Some(layout) = &self.layout else { return self.scaled_rows(weight, outputs, inputs) };
        let letters = self.weight_letters(layout);
        if layout.letters() == letters && layout.rank() == letters.len() {
            return self.scaled_rows(weight, outputs, inputs);
        }
        let plain = layout.unpack(&letters, &weight);
        drop(weight);
        Some(layout.pack(&letters, &self.scaled_rows(plain, outputs, inputs)?))
    }

    /// As [`Product::scaled`], for a weight whose first axes are rows and columns.
    fn scaled_rows(&self, weight: Tensor, outputs: Option<&[f64]>, inputs: Option<&[f64]>) -> Option<Tensor> {
        let (rows, columns) = self.sizes();
        let per_group = rows / self.groups;
        let (first, second) = match self.rows {
            Rows::Outputs => (outputs, inputs),
            Rows::Inputs => (inputs, outputs),
        };
        let inner = weight.len().checked_div(rows * columns)?;
        weight.scale_rows(&RowFactors {
            row: columns * inner,
            inner,
            of_row: &|row| first.map_or(1.0, |factors| factors[row]),
            of_columns: &|row| second.map(|factors| &factors[row / per_group * columns..][..columns]),
        })
    }
}

/// The dimensions of a tensor; -1 for unknown ones.
pub(crate) fn open_shape(module: &Module, expr: ExprId) -> Option<Vec<i64>> {
    let (shape, _) = module.types.as_tensor(module.ty(expr))?;
    Some(shape.iter().map(|dim| dim.value().unwrap_or(-1)).collect())
}
