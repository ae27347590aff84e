//! Tests one operator in one line, by its name and the types of its operands; see `trial.rs`.

use super::eval::{ArgValue, Trap};
use super::rel::{Fault, Stop};
use super::table;
use super::trial::{self, Trial};
use relayc_ir::attrs::{AttrValue, OpTable};
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, Dim, Solver, Ty, Types};

/// A `?` among dimensions.
pub(crate) const ANY: i64 = i64::MIN;

/// The type of an operand: a tensor, or a tuple of tensors.
#[derive(Clone, Debug)]
pub(crate) enum Operand {
    Tensor(Vec<i64>, DType),
    Tuple(Vec<(Vec<i64>, DType)>),
}

/// The type of a tensor operand.
pub(crate) fn t(shape: &[i64], dtype: DType) -> Operand {
    Operand::Tensor(shape.into(), dtype)
}

/// Attributes by name; the others have their defaults.
pub(crate) type Attrs<'a> = &'a [(&'a str, AttrValue)];

fn trial(name: &str, attrs: Attrs) -> Trial {
    let def = table().def(table().find(name).expect("an operator"));
    attrs.iter().fold(trial::call(def), |trial, (name, value)| trial.attr(name, value.clone()))
}

fn operand_ty(types: &mut Types, operand: &Operand) -> Ty {
    let mut tensor = |shape: &[i64], dtype| {
        let dim = |&value: &i64| if value == ANY { Dim::Any } else { Dim::known(value) };
        let dims: Vec<Dim> = shape.iter().map(dim).collect();
        types.tensor(&dims, dtype)
    };
    match operand {
        Operand::Tensor(shape, dtype) => tensor(shape, *dtype),
        Operand::Tuple(fields) => {
            let fields: Vec<Ty> = fields.iter().map(|(shape, dtype)| tensor(shape, *dtype)).collect();
            types.tuple(&fields)
        }
    }
}

/// The result's type, after one run of the relation.
fn infer(name: &str, operands: &[Operand], attrs: Attrs) -> Result<(Types, Ty), Box<Fault>> {
    let (mut types, mut solver) = (Types::new(), Solver::default());
    let args: Vec<Ty> = operands.iter().map(|operand| operand_ty(&mut types, operand)).collect();
    match trial(name, attrs).relate(&mut types, &mut solver, &args) {
        Ok(out) => Ok((types, out)),
        Err(Stop::Fault(fault)) => Err(fault),
        Err(stop) => panic!("`{name}`: {stop:?}"),
    }
}

/// The result's type as text, or the code and the rule of the fault.
pub(crate) fn rel(name: &str, operands: &[Operand], attrs: Attrs) -> String {
    match infer(name, operands, attrs) {
        Ok((types, out)) => types.text(out),
        Err(fault) => format!("{} {}", fault.code.id(), fault.rule).trim_end().to_owned(),
    }
}

/// The fault of a relation that must fail.
pub(crate) fn fault(name: &str, operands: &[Operand], attrs: Attrs) -> Fault {
    let Err(fault) = infer(name, operands, attrs) else { panic!("`{name}` has to refuse its operands") };
    *fault
}

/// The result's tensors for these operands.
pub(crate) fn eval_all(name: &str, args: &[ArgValue], attrs: Attrs) -> Result<Vec<Tensor>, Trap> {
    trial(name, attrs).eval_values(args)
}

/// The single result for tensor operands.
pub(crate) fn eval(name: &str, args: &[Tensor], attrs: Attrs) -> Result<Tensor, Trap> {
    let args: Vec<ArgValue> = args.iter().cloned().map(ArgValue::Tensor).collect();
    eval_all(name, &args, attrs).map(|mut tensors| tensors.remove(0))
}

/// Runs a relation with every combination of hostile integers in the named attributes: it may fail but not panic.
pub(crate) fn hostile(name: &str, operands: &[Operand], attrs: Attrs, ints: &[&str], lists: &[&str]) {
    let numbers = [i64::MIN, i64::MIN + 1, -5, -4, -3, -2, -1, 0, 1, 2, i64::from(i32::MAX), 1 << 40, i64::MAX - 1, i64::MAX];
    let with = |attr: &str, value: AttrValue| {
        let mut attrs: Vec<(&str, AttrValue)> = attrs.iter().filter(|(name, _)| *name != attr).cloned().collect();
        attrs.push((attr, value));
        rel(name, operands, &attrs);
    };
    for attr in ints {
        for number in numbers {
            with(attr, AttrValue::int(number));
        }
    }
    for attr in lists {
        with(attr, AttrValue::None);
        with(attr, AttrValue::ints(&[]));
        for a in numbers {
            with(attr, AttrValue::ints(&[a]));
            for b in numbers {
                with(attr, AttrValue::ints(&[a, b]));
                for c in [-4, -1, 1, i64::MAX] {
                    with(attr, AttrValue::ints(&[c, a, b]));
                }
            }
        }
    }
}
