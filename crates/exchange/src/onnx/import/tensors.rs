//! Reads every tensor of a model: initializers, attributes, sparse tensors, and those of subgraphs and functions.
//!
//! The elements of a tensor have one location: `raw_data` with exactly the bytes of its shape, the list of its dtype with
//! exactly as many numbers, or another file. Sizes are checked before anything is allocated.

use super::super::proto::{SparseTensorProto, TensorProto};
use super::build::Builder;
use super::errors::{self, Refusal};
use relayc_base::diag::Diagnostic;
use relayc_ir::tensor::size::checked_size;
use relayc_ir::tensor::{Element, Tensor, with_dtype};
use relayc_ir::types::DType;
use relayc_weights::errors::{no_memory, unsound};

/// Elements in another file: the location that the model states.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outside<'a> {
    /// The parts of the path, none of them empty, `.` or `..`.
    pub path: Vec<&'a str>,
    pub offset: u64,
    pub length: u64,
}

/// Reads a part of another file; the result has the requested length.
pub(crate) type ReadOutside<'a> = &'a dyn Fn(&Outside) -> Result<Vec<u8>, Diagnostic>;

/// The source of tensors.
#[derive(Clone, Copy)]
pub(crate) struct Gate<'a> {
    /// Name of the file, for messages.
    pub(crate) model: &'a str,
    /// Reads other files; `None` forbids that.
    pub(crate) outside: Option<ReadOutside<'a>>,
}

/// The dtype of a `TensorProto.DataType` number. Errors: the name of one that Relay lacks.
pub(crate) fn dtype_of(code: i32) -> Result<DType, String> {
    Err(match code {
        1 => return Ok(DType::F32),
        2 => return Ok(DType::U8),
        3 => return Ok(DType::I8),
        4 => return Ok(DType::U16),
        5 => return Ok(DType::I16),
        6 => return Ok(DType::I32),
        7 => return Ok(DType::I64),
        9 => return Ok(DType::BOOL),
        10 => return Ok(DType::F16),
        11 => return Ok(DType::F64),
        12 => return Ok(DType::U32),
        13 => return Ok(DType::U64),
        16 => return Ok(DType::BF16),
        8 => "tensors of strings".to_owned(),
        14 | 15 => "tensors of complex numbers".to_owned(),
        17..=20 => "tensors of 8-bit floats".to_owned(),
        21 | 22 => "tensors of 4-bit integers".to_owned(),
        23 => "tensors of 4-bit floats".to_owned(),
        24 => "tensors of exponents of 8 bits".to_owned(),
        25 | 26 => "tensors of 2-bit integers".to_owned(),
        other => format!("tensors of the element type {other}"),
    })
}

/// The dtype of a stored tensor: 4-bit integers, two in a byte, are read as 8-bit ones of the same numbers.
fn stored_dtype(code: i32) -> Result<DType, String> {
    match code {
        UINT4 => Ok(DType::U8),
        INT4 => Ok(DType::I8),
        other => dtype_of(other),
    }
}

const UINT4: i32 = 21;
const INT4: i32 = 22;

/// Whether a stored tensor is of 4-bit integers.
pub(crate) fn is_of_nibbles(proto: &TensorProto) -> bool {
    matches!(proto.data_type, Some(UINT4 | INT4))
}

/// The 8-bit integers of `n` 4-bit ones, the first of each byte in its low bits.
fn widened(bytes: &[u8], n: usize, signed: bool) -> Vec<u8> {
    let of = |nibble: u8| if signed && nibble > 7 { nibble | 0xf0 } else { nibble };
    bytes.iter().flat_map(|&byte| [of(byte & 0xf), of(byte >> 4)]).take(n).collect()
}

/// Why a tensor is not read.
#[derive(Debug)]
pub(crate) enum Unread {
    /// Its element type does not exist in Relay.
    Unsupported(String),
    Wrong(Box<Diagnostic>),
}

impl Gate<'_> {
    fn wrong(&self, tensor: &TensorProto, words: impl std::fmt::Display) -> Unread {
        Unread::Wrong(Box::new(unsound(self.model, format_args!("tensor `{}`: {words}", name(tensor)))))
    }

    /// The tensor of a message.
    pub(crate) fn tensor(&self, proto: &TensorProto) -> Result<Tensor, Unread> {
        let dtype = stored_dtype(proto.data_type.unwrap_or(0)).map_err(Unread::Unsupported)?;
        if proto.segment.is_some() {
            return Err(self.wrong(proto, "a part of a tensor, which no reader of ONNX puts together"));
        }
        let (dims, n_bytes) = checked_size(&proto.dims, dtype).map_err(|error| self.wrong(proto, error))?;
        let bytes = if is_of_nibbles(proto) { n_bytes.div_ceil(2) } else { n_bytes };
        let external = proto.data_location == Some(1) || !proto.external_data.is_empty();
        let typed = [
            ("float_data", proto.float_data.len()),
            ("int32_data", proto.int32_data.len()),
            ("int64_data", proto.int64_data.len()),
            ("double_data", proto.double_data.len()),
            ("uint64_data", proto.uint64_data.len()),
            ("string_data", proto.string_data.len()),
        ];
        let used: Vec<&str> = typed.iter().filter(|(_, n)| *n > 0).map(|(name, _)| *name).collect();
        if used.len().saturating_add(usize::from(proto.raw_data.is_some())).saturating_add(usize::from(external)) > 1 {
            return Err(self.wrong(proto, "its elements stand in more than one place"));
        }
        if external {
            let data = self.outside(proto, bytes)?;
            return self.raw(proto, dtype, &dims, &data);
        }
        if let Some(data) = &proto.raw_data {
            if data.len() != bytes {
                let of = if is_of_nibbles(proto) { "4-bit integers".to_owned() } else { dtype.to_string() };
                let words = format!("{} bytes of elements, the shape {dims:?} of {of} has {bytes}", data.len());
                return Err(self.wrong(proto, words));
            }
            return self.raw(proto, dtype, &dims, data);
        }
        self.typed(proto, dtype, &dims, used.first().copied())
    }

    /// Reads little-endian bytes, exactly as many as the shape has.
    fn raw(&self, proto: &TensorProto, dtype: DType, dims: &[usize], data: &[u8]) -> Result<Tensor, Unread> {
        if dtype.is_bool() && data.iter().any(|&byte| byte > 1) {
            return Err(self.wrong(proto, "a bool that is neither 0 nor 1"));
        }
        let mut room: Vec<u8> = Vec::new();
        room.try_reserve_exact(data.len()).map_err(|_| Unread::Wrong(Box::new(no_memory(self.model, data.len()))))?;
        drop(room);
        if is_of_nibbles(proto) {
            let n = dims.iter().fold(1usize, |n, &dim| n.saturating_mul(dim));
            let wide = widened(data, n, dtype == DType::I8);
            return Tensor::from_le_bytes(dtype, dims, &wide).ok_or_else(|| self.wrong(proto, "no tensor can hold it"));
        }
        Tensor::from_le_bytes(dtype, dims, data).ok_or_else(|| self.wrong(proto, "no tensor can hold it"))
    }

    /// Reads the list for the numbers of a dtype.
    fn typed(&self, proto: &TensorProto, dtype: DType, dims: &[usize], used: Option<&str>) -> Result<Tensor, Unread> {
        let (list, found) = match dtype {
            DType::F32 => ("float_data", proto.float_data.len()),
            DType::F64 => ("double_data", proto.double_data.len()),
            DType::I64 => ("int64_data", proto.int64_data.len()),
            DType::U32 | DType::U64 => ("uint64_data", proto.uint64_data.len()),
            _ => ("int32_data", proto.int32_data.len()),
        };
        if used.is_some_and(|used| used != list) {
            return Err(
                self.wrong(proto, format!("elements of {dtype} stand in `{}`, not in `{list}`", used.unwrap_or_default()))
            );
        }
        // Each is at most the greatest element count.
        let n = dims.iter().fold(1usize, |n, &dim| n.saturating_mul(dim));
        if is_of_nibbles(proto) {
            let bytes: Option<Vec<u8>> = proto.int32_data.iter().map(|&pair| u8::try_from(pair).ok()).collect();
            let bytes = bytes.filter(|bytes| bytes.len() == n.div_ceil(2));
            let bytes = bytes.ok_or_else(|| {
                self.wrong(proto, format!("{found} pairs of 4-bit integers, the shape {dims:?} has {n} integers"))
            })?;
            return self.raw(proto, dtype, dims, &bytes);
        }
        if found != n {
            return Err(self.wrong(proto, format!("{found} elements, the shape {dims:?} has {n}")));
        }
        let narrow = |value: i32| self.narrow(proto, dtype, value);
        match dtype {
            DType::F32 => Ok(Tensor::from_vec(dims, proto.float_data.clone())),
            DType::F64 => Ok(Tensor::from_vec(dims, proto.double_data.clone())),
            DType::I64 => Ok(Tensor::from_vec(dims, proto.int64_data.clone())),
            DType::U64 => Ok(Tensor::from_vec(dims, proto.uint64_data.clone())),
            DType::U32 => {
                let values = proto.uint64_data.iter().map(|&value| u32::try_from(value));
                let values: Result<Vec<u32>, _> = values.collect();
                Ok(Tensor::from_vec(dims, values.map_err(|_| self.wrong(proto, "a number that no uint32 holds"))?))
            }
            DType::I32 => Ok(Tensor::from_vec(dims, proto.int32_data.clone())),
            DType::F16 | DType::BF16 => {
                let bits: Vec<u16> = proto.int32_data.iter().map(|&value| narrow(value)).collect::<Result<_, _>>()?;
                let bytes: Vec<u8> = bits.into_iter().flat_map(u16::to_le_bytes).collect();
                self.raw(proto, dtype, dims, &bytes)
            }
            _ => {
                let values = proto.int32_data.iter().map(|&value| narrow(value).map(|_| value));
                let values: Vec<i32> = values.collect::<Result<_, _>>()?;
                let cast = with_dtype!(dtype, |T| {
                    let values: Vec<T> = values.into_iter().map(|value| <T as Element>::from_int(value.into())).collect();
                    Tensor::from_vec(dims, values)
                });
                cast.ok_or_else(|| self.wrong(proto, "no tensor can hold it"))
            }
        }
    }

    /// A number of `int32_data`, which must be in range of the dtype; for floats it is the bits.
    fn narrow(&self, proto: &TensorProto, dtype: DType, value: i32) -> Result<u16, Unread> {
        let fits = match dtype {
            DType::BOOL => (0..=1).contains(&value),
            DType::I8 => i8::try_from(value).is_ok(),
            DType::U8 => u8::try_from(value).is_ok(),
            DType::I16 => i16::try_from(value).is_ok(),
            _ => u16::try_from(value).is_ok(),
        };
        let wrong = || self.wrong(proto, format!("{value}, which is no element of {dtype}"));
        if fits { Ok(u16::try_from(value).unwrap_or(0)) } else { Err(wrong()) }
    }

    /// Reads elements in another file.
    fn outside(&self, proto: &TensorProto, bytes: usize) -> Result<Vec<u8>, Unread> {
        let outside = self.place(proto, bytes).map_err(|error| Unread::Wrong(Box::new(error)))?;
        let shown = outside.path.join("/");
        let Some(read) = self.outside else {
            return Err(Unread::Wrong(Box::new(errors::outside(self.model, &name(proto), &shown))));
        };
        let data = read(&outside).map_err(|error| Unread::Wrong(Box::new(error)))?;
        match data.len() == bytes {
            true => Ok(data),
            false => Err(self.wrong(proto, format!("{} bytes in `{}`, expected {bytes}", data.len(), errors::shown(&shown)))),
        }
    }

    fn place<'p>(&self, proto: &'p TensorProto, bytes: usize) -> Result<Outside<'p>, Diagnostic> {
        let (mut location, mut offset, mut length) = (None, 0, None);
        for entry in &proto.external_data {
            let (key, value) = (entry.key.as_deref().unwrap_or_default(), entry.value.as_deref().unwrap_or_default());
            let number = || {
                let words = format_args!("tensor `{}`: `{}` is no number", name(proto), errors::shown(value)).to_string();
                value.parse::<u64>().map_err(|_| unsound(self.model, words))
            };
            match key {
                "location" if location.is_none() => location = Some(value),
                "offset" => offset = number()?,
                "length" => length = Some(number()?),
                // A hash, which nobody writes; and what the writers of external data note for themselves.
                "checksum" | "basepath" => {}
                other => {
                    let words = format!("tensor `{}`: external data with `{}`", name(proto), errors::shown(other));
                    return Err(unsound(self.model, words));
                }
            }
        }
        let location = location.unwrap_or_default();
        let refuse = |why: &str| Err(errors::no_place(self.model, &name(proto), location, why));
        if location.starts_with('/') {
            return refuse("is an absolute path");
        }
        if location.contains(['\\', '\0']) {
            return refuse("is no path");
        }
        // Some exporters begin it with `./`.
        let path: Vec<&str> = location.split('/').filter(|part| *part != ".").collect();
        if path.is_empty() || path.iter().any(|part| part.is_empty()) {
            return refuse("has an empty part");
        }
        if path.contains(&"..") {
            return refuse("leaves the folder");
        }
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        if length.is_some_and(|length| length != bytes) {
            let words = format!("tensor `{}`: {} bytes of elements, its shape has {bytes}", name(proto), length.unwrap_or(0));
            return Err(unsound(self.model, words));
        }
        Ok(Outside { path, offset, length: bytes })
    }

    /// Converts a sparse tensor to a dense one, whose elements are charged as made.
    pub(crate) fn sparse(&self, proto: &SparseTensorProto, b: &mut Builder) -> Result<Tensor, Unread> {
        let wrong = |words: &str| Unread::Wrong(Box::new(unsound(self.model, format_args!("a sparse tensor {words}"))));
        let (Some(values), Some(indices)) = (&proto.values, &proto.indices) else {
            return Err(wrong("without values or indices"));
        };
        let (values, indices) = (self.tensor(values)?, self.tensor(indices)?);
        let (dims, bytes) = checked_size(&proto.dims, values.dtype()).map_err(|error| wrong(&format!("of {error}")))?;
        let n: usize = dims.iter().fold(1, |n, &dim| n.saturating_mul(dim));
        if values.rank() != 1 || indices.dtype() != DType::I64 || indices.shape().first() != values.shape().first() {
            return Err(wrong("whose indices do not fit its values"));
        }
        let row = match indices.rank() {
            1 => 1,
            2 if indices.shape().get(1) == Some(&dims.len()) => dims.len(),
            _ => return Err(wrong("whose indices do not fit its shape")),
        };
        let at = indices.to_vec::<i64>().unwrap_or_default();
        let mut places = Vec::with_capacity(values.len());
        for index in 0..values.len() {
            let start = index.saturating_mul(row);
            let parts = at.get(start..start.saturating_add(row)).unwrap_or_default();
            let place = match indices.rank() {
                1 => parts.first().and_then(|&at| usize::try_from(at).ok()),
                _ => parts.iter().zip(&dims).try_fold(0usize, |place, (&at, &dim)| {
                    let at = usize::try_from(at).ok().filter(|&at| at < dim)?;
                    place.checked_mul(dim)?.checked_add(at)
                }),
            };
            places.push(place.filter(|&place| place < n).ok_or_else(|| wrong("with an index outside of its shape"))?);
        }
        if places.windows(2).any(|pair| pair.first() >= pair.last()) {
            return Err(wrong("whose indices do not ascend"));
        }
        b.charge_elements(n, values.dtype()).map_err(|refusal| self.refused(refusal))?;
        let no_memory = |_| Unread::Wrong(Box::new(no_memory(self.model, bytes)));
        let dense = with_dtype!(values.dtype(), |T| {
            let mut dense: Vec<T> = vec![];
            dense.try_reserve_exact(n).map_err(no_memory)?;
            dense.resize(n, <T as Element>::from_f64(0.0));
            for (place, value) in places.into_iter().zip(values.to_vec::<T>().unwrap_or_default()) {
                if let Some(slot) = dense.get_mut(place) {
                    *slot = value;
                }
            }
            Tensor::from_vec(&dims, dense)
        });
        dense.ok_or_else(|| wrong("that no tensor can hold"))
    }

    /// Turns a refusal into one about the file.
    fn refused(&self, refusal: Refusal) -> Unread {
        match refusal {
            Refusal::Unsupported(what) => Unread::Unsupported(what),
            Refusal::Wrong(found) => {
                let message = format!("`{}`: {}", self.model, found.message);
                Unread::Wrong(Box::new(Diagnostic { message, ..*found }))
            }
        }
    }
}

fn name(proto: &TensorProto) -> String {
    errors::shown(proto.name.as_deref().unwrap_or_default())
}

#[cfg(test)]
mod tests;
