//! Runs one operator on its own, for the unit tests of the families.

use super::OpDef;
use super::eval::{ArgValue, EvalCx, OutTy, Outputs, Trap};
use super::rel::{Fault, Origins, RelCx, Stop};
use relayc_ir::attrs::{AttrValue, Kind};
use relayc_ir::tensor::Tensor;
use relayc_ir::types::{DType, Dim, Solver, Ty, Types};

/// A call with its attributes.
pub(crate) struct Trial {
    def: &'static OpDef,
    attrs: Vec<AttrValue>,
}

/// The result of a relation.
#[derive(Debug)]
pub(crate) struct Inferred {
    /// The types of the operands afterwards, `_` if unknown.
    pub(crate) args: Vec<String>,
    pub(crate) out: String,
    pub(crate) origins: Origins,
}

/// A call of an operator with default attributes.
pub(crate) fn call(def: &'static OpDef) -> Trial {
    let fields = def.attrs.map_or(&[][..], |schema| schema.fields);
    Trial { def, attrs: fields.iter().map(|field| field.default.map_or(AttrValue::None, |default| default())).collect() }
}

impl Trial {
    pub(crate) fn attr(mut self, name: &str, value: AttrValue) -> Trial {
        let fields = self.def.attrs.expect("an operator with attributes").fields;
        let at = fields.iter().position(|field| field.name == name).expect("one of its attributes");
        self.attrs[at] = value;
        self
    }

    pub(crate) fn int(self, name: &str, value: i64) -> Trial {
        self.attr(name, AttrValue::int(value))
    }

    pub(crate) fn ints(self, name: &str, values: &[i64]) -> Trial {
        self.attr(name, AttrValue::ints(values))
    }

    pub(crate) fn text(self, name: &str, value: &str) -> Trial {
        self.attr(name, AttrValue::str(value))
    }

    /// Runs the relation on operands written `(1, ?, 3i64) float32`, or `_` for an unknown type.
    pub(crate) fn infer(&self, args: &[&str]) -> Result<Inferred, Stop> {
        let (mut types, mut solver) = (Types::new(), Solver::default());
        let args: Vec<Ty> = args.iter().map(|arg| read_type(&mut types, &mut solver, arg)).collect();
        let out = solver.fresh(&mut types);
        let mut cx = RelCx::new(&mut types, &mut solver, &self.attrs, &args, out);
        cx.traced = Some(0);
        (self.def.rel)(&mut cx)?;
        let origins = cx.origins;
        let mut text = |ty: Ty| {
            let ty = solver.resolve(&mut types, ty);
            if types.has_hole(ty) { "_".into() } else { types.text(ty) }
        };
        Ok(Inferred { args: args.into_iter().map(&mut text).collect(), out: text(out), origins })
    }

    /// The type of the result.
    pub(crate) fn out(&self, args: &[&str]) -> String {
        self.infer(args).expect("the relation holds").out
    }

    /// The fault of a call that breaks a rule.
    pub(crate) fn fault(&self, args: &[&str]) -> Fault {
        match self.infer(args) {
            Err(Stop::Fault(fault)) => *fault,
            other => panic!("expected a fault, found {other:?}"),
        }
    }

    /// Runs the relation on the tensors' types, then the evaluator on the tensors.
    pub(crate) fn eval(&self, args: &[&Tensor]) -> Result<Vec<Tensor>, Trap> {
        let args: Vec<ArgValue> = args.iter().map(|&arg| ArgValue::Tensor(arg.clone())).collect();
        self.eval_values(&args)
    }

    /// As [`Trial::eval`], for operands that may be tuples.
    pub(crate) fn eval_values(&self, args: &[ArgValue]) -> Result<Vec<Tensor>, Trap> {
        let (mut types, mut solver) = (Types::new(), Solver::default());
        let tys: Vec<Ty> = args.iter().map(|arg| arg.ty(&mut types)).collect();
        let out = self.relate(&mut types, &mut solver, &tys).expect("the relation holds");
        let fields = types.as_tuple(out).map_or(vec![out], <[Ty]>::to_vec);
        let concrete = |ty: &Ty| {
            let (shape, dtype) = types.as_tensor(*ty).expect("a tensor type");
            let shape: Option<Vec<usize>> = shape.iter().map(|dim| dim.value().map(|dim| dim as usize)).collect();
            Some(OutTy { shape: shape?, dtype })
        };
        // What only the data can tell has no types, as when a program runs.
        let known: Option<Vec<OutTy>> = fields.iter().map(concrete).collect();
        let cx = EvalCx { args, attrs: &self.attrs, out: known.as_deref().unwrap_or_default(), max_bytes: 1 << 30 };
        let outputs = match (self.def.eval)(&cx)? {
            Outputs::One(tensor) => vec![tensor],
            Outputs::Tuple(tensors) => tensors,
        };
        let found: Vec<OutTy> =
            outputs.iter().map(|tensor| OutTy { shape: tensor.shape().into(), dtype: tensor.dtype() }).collect();
        assert_eq!(found, known.unwrap_or(found.clone()), "the evaluation of `{}` agrees with its relation", self.def.name);
        Ok(outputs)
    }

    /// The result's type after one run of the relation. A fault must cite a rule that the operator declares.
    pub(crate) fn relate(&self, types: &mut Types, solver: &mut Solver, args: &[Ty]) -> Result<Ty, Stop> {
        let out = solver.fresh(types);
        let result = (self.def.rel)(&mut RelCx::new(types, solver, &self.attrs, args, out));
        if let Err(Stop::Fault(fault)) = &result {
            let cites = |rule: &&str| rule.starts_with(&format!("{}:", fault.rule));
            assert!(fault.rule.is_empty() || self.def.rules.iter().any(cites), "`{}` has a rule {}", self.def.name, fault.rule);
        }
        result.map(|()| solver.resolve(types, out))
    }

    /// The first result's elements.
    pub(crate) fn values(&self, args: &[&Tensor]) -> Vec<f64> {
        self.eval(args).expect("it runs")[0].to_f64s()
    }
}

/// Runs the relation with each attribute in turn at extreme values: it may fail but not panic.
pub(crate) fn extremes(trial: impl Fn() -> Trial, args: &[&str]) {
    const INTS: [i64; 8] = [i64::MIN, -2, -1, 0, 1, 2, 1 << 40, i64::MAX];
    let def = trial().def;
    for field in def.attrs.map_or(&[][..], |schema| schema.fields) {
        let values: Vec<AttrValue> = match field.kind {
            Kind::Ints | Kind::OptInts => {
                let lists = INTS.iter().flat_map(|&v| (0..5).map(move |n| AttrValue::ints(&vec![v; n])));
                lists.chain([AttrValue::None, AttrValue::List([AttrValue::Any, AttrValue::Any].into())]).collect()
            }
            Kind::Str => {
                ["", "NCHW", "C", "WHCN4n2c", "NCHW99999999999999999999c", "\u{0}é", "OIHW2i"].map(AttrValue::str).into()
            }
            Kind::Float => [f64::NAN, f64::INFINITY, -1.0, 0.0].map(AttrValue::float).into(),
            _ => INTS.map(AttrValue::int).into_iter().chain([AttrValue::None, AttrValue::Any]).collect(),
        };
        for value in values {
            let _ = trial().attr(field.name, value).infer(args);
        }
    }
    for rank in 0..4 {
        for dim in ["0", "1", "?", "9223372036854775807"] {
            let arg = format!("({}) float32", vec![dim; rank].join(", "));
            let mut operands = args.to_vec();
            for at in 0..args.len() {
                operands[at] = &arg;
                let _ = trial().infer(&operands);
            }
        }
    }
}

fn read_type(types: &mut Types, solver: &mut Solver, text: &str) -> Ty {
    let Some((shape, dtype)) = text.strip_prefix('(').and_then(|text| text.split_once(')')) else {
        return solver.fresh(types);
    };
    let dim = |text: &str| match text.trim() {
        "?" => Dim::Any,
        text => Dim::Known { value: text.trim_end_matches("i64").parse().expect("a dimension"), wide: text.ends_with("i64") },
    };
    let dims: Vec<Dim> = shape.split(',').filter(|text| !text.trim().is_empty()).map(dim).collect();
    types.tensor(&dims, DType::parse(dtype.trim()).expect("a dtype"))
}
