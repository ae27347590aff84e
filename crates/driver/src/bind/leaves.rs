//! The tensors inside a value: `name`, for a tuple `name.0`, `name.1`, nested `name.0.1`.

use super::Bound;
use relayc_ir::sizes::is_size_name;
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, Dim, MAX_LEAVES, Ty, TyData, Types};

/// One tensor of a parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct Leaf {
    pub name: String,
    /// The name in the model that the program was read from, if it is another.
    model_name: Option<String>,
    pub dims: Vec<Dim>,
    /// The dimensions as the type has them, for messages.
    texts: Vec<String>,
    pub dtype: DType,
}

impl Leaf {
    /// The leaf a tensor fits exactly.
    pub(crate) fn of(name: &str, tensor: &Tensor) -> Leaf {
        let dims = tensor.shape().iter().map(|&dim| Dim::known(dim as i64)).collect();
        Leaf::new(name.to_owned(), dims, tensor.dtype())
    }

    /// A leaf without sizes.
    pub(crate) fn new(name: String, dims: Vec<Dim>, dtype: DType) -> Leaf {
        let texts = dims.iter().map(Dim::to_string).collect();
        Leaf { name, model_name: None, dims, texts, dtype }
    }

    /// Names the leaf as the model does that the program was read from.
    pub(crate) fn call(&mut self, model_name: &str) {
        self.model_name = Some(model_name.to_owned()).filter(|model_name| *model_name != self.name);
    }

    /// The name for messages.
    pub(crate) fn shown(&self) -> &str {
        self.model_name.as_deref().unwrap_or(&self.name)
    }

    /// Whether the name is that of the program or of the model.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.name == name || self.model_name.as_deref() == Some(name)
    }

    /// Whether the tensor has its type; a dynamic dimension takes any number.
    pub(crate) fn accepts(&self, tensor: &Tensor) -> bool {
        self.takes(tensor.dtype(), tensor.shape())
    }

    /// As [`Leaf::accepts`], for a tensor that has not been read.
    pub(crate) fn takes(&self, dtype: DType, shape: &[usize]) -> bool {
        let fits = |(dim, &n): (&Dim, &usize)| dim.compatible(Dim::known(n as i64));
        dtype == self.dtype && shape.len() == self.dims.len() && self.dims.iter().zip(shape).all(fits)
    }

    pub fn type_text(&self) -> String {
        if self.dims.is_empty() { self.dtype.to_string() } else { format!("Tensor[{}, {}]", self.shape_text(), self.dtype) }
    }

    pub(crate) fn shape_text(&self) -> String {
        format!("({})", self.dim_texts().join(", "))
    }

    /// The axes whose sizes are not known.
    pub(crate) fn open_axes(&self) -> impl Iterator<Item = usize> {
        self.dims.iter().enumerate().filter(|(_, dim)| dim.value().is_none()).map(|(axis, _)| axis)
    }

    /// A dimension as `--set` names it: by its size, if it is one with a name.
    pub(crate) fn settable(&self, axis: usize) -> String {
        let name = self.dims.get(axis).map_or(String::new(), Dim::to_string);
        if is_size_name(&name) { name } else { format!("{}.{axis}", self.shown()) }
    }

    /// Each dimension as text.
    pub fn dim_texts(&self) -> Vec<String> {
        let text = |(dim, text): (&Dim, &String)| if dim.value().is_some() { dim.to_string() } else { text.clone() };
        self.dims.iter().zip(&self.texts).map(text).collect()
    }
}

/// Why a type cannot be split into tensors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoLeaves {
    /// A function, a reference, a data type: no file can hold it.
    NotData(Ty),
    TooMany,
}

/// The tensors of a type, left to right.
pub fn leaves(name: &str, ty: Ty, types: &Types) -> Result<Vec<Leaf>, NoLeaves> {
    if !types.is_shallow(ty) {
        return Err(NoLeaves::TooMany);
    }
    let mut out = Vec::new();
    let mut stack = vec![(name.to_owned(), ty)];
    while let Some((name, ty)) = stack.pop() {
        if out.len() + stack.len() > MAX_LEAVES {
            return Err(NoLeaves::TooMany);
        }
        match types.data(ty) {
            TyData::Tensor { shape, dtype } => {
                let texts = shape.iter().map(|&dim| types.symbols.text_of(dim)).collect();
                out.push(Leaf { name, model_name: None, dims: shape.to_vec(), texts, dtype: *dtype });
            }
            TyData::Tuple(fields) if fields.len() <= MAX_LEAVES => {
                stack.extend(fields.iter().enumerate().rev().map(|(i, &field)| (format!("{name}.{i}"), field)));
            }
            TyData::Tuple(_) => return Err(NoLeaves::TooMany),
            _ => return Err(NoLeaves::NotData(ty)),
        }
    }
    Ok(out)
}

/// The value of a type from its tensors, left to right. Panics if there are too few or [`leaves`] refuses the type.
pub fn assemble(ty: Ty, types: &Types, tensors: &mut impl Iterator<Item = Tensor>) -> Bound {
    // The tuples that are being filled: their field types and the values so far.
    let mut open: Vec<(&[Ty], Vec<Bound>)> = Vec::new();
    let mut next = ty;
    loop {
        let mut done = match types.as_tuple(next) {
            Some(fields) => {
                open.push((fields, Vec::with_capacity(fields.len())));
                None
            }
            None => Some(Bound::Tensor(tensors.next().expect("a tensor for every leaf"))),
        };
        // Closes every tuple that is full, and finds the next field to fill.
        loop {
            match (open.pop(), done.take()) {
                (None, value) => return value.expect("a value was just made"),
                (Some((fields, mut values)), value) => {
                    values.extend(value);
                    if let Some(&field) = fields.get(values.len()) {
                        next = field;
                        open.push((fields, values));
                        break;
                    }
                    done = Some(Bound::Tuple(values));
                }
            }
        }
    }
}

/// The tensors of a value with their names, left to right.
pub fn flatten(name: &str, value: &Bound) -> Vec<(String, Tensor)> {
    let mut out = Vec::new();
    let mut stack = vec![(name.to_owned(), value)];
    while let Some((name, value)) = stack.pop() {
        match value {
            Bound::Tensor(tensor) => out.push((name, tensor.clone())),
            Bound::Tuple(fields) => {
                stack.extend(fields.iter().enumerate().rev().map(|(i, field)| (format!("{name}.{i}"), field)));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_tuples_flatten_and_assemble() {
        let mut types = Types::new();
        let x = types.tensor_of(&[2], DType::F32);
        let inner = types.tuple(&[x, Ty::UNIT, x]);
        let outer = types.tuple(&[inner, x]);
        let leaves = leaves("p", outer, &types).expect("tensors");
        let names: Vec<&str> = leaves.iter().map(|leaf| leaf.name.as_str()).collect();
        assert_eq!(names, ["p.0.0", "p.0.2", "p.1"]);
        let tensors: Vec<Tensor> = (0..3).map(|i| Tensor::from_fn(&[2], |j| (i * 2 + j) as f32)).collect();
        let value = assemble(outer, &types, &mut tensors.clone().into_iter());
        let flat = flatten("p", &value);
        assert_eq!(flat.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), names);
        assert_eq!(flat.into_iter().map(|(_, tensor)| tensor).collect::<Vec<_>>(), tensors);
        assert_eq!(assemble(Ty::UNIT, &types, &mut std::iter::empty()), Bound::Tuple(vec![]));
    }

    #[test]
    fn exponential_and_deep_types_are_refused() {
        let mut types = Types::new();
        let mut wide = types.tensor_of(&[2], DType::F32);
        for _ in 0..40 {
            wide = types.tuple(&[wide, wide]);
        }
        assert_eq!(leaves("p", wide, &types), Err(NoLeaves::TooMany));
        let mut empty = Ty::UNIT;
        for _ in 0..100 {
            empty = types.tuple(&[empty]);
        }
        assert_eq!(leaves("p", empty, &types), Err(NoLeaves::TooMany));
        let f = types.func(&[], Ty::UNIT);
        assert_eq!(leaves("p", f, &types), Err(NoLeaves::NotData(f)));
    }
}
