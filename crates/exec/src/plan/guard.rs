//! Guards integer divisions: a step that looks for a divisor of 0, and a step that fails if there is one.

use super::group::{Lazy, Value};
use super::lowering::Lowering;
use super::{Guard, Place, Step, Work};
use relayc_ir::ExprId;
use relayc_ir::kernel::{Body, Cmp, Instr, Reduction, ScalarType, Stage, Store, View};
use relayc_ir::types::DType;
use relayc_ops::OpDef;
use relayc_ops::lower::{AxisMap, Call, Read, Rows, Source, Template, Tensor};
use std::sync::Arc;

impl Lowering<'_> {
    /// The operands of a division after its guard; `None` if the divisor is a constant 0. The guard materializes computed
    /// divisors.
    pub(super) fn guarded(&mut self, expr: ExprId, op: &'static OpDef, call: &Call, args: &[Value]) -> Option<Vec<Value>> {
        let [first, Value::Tensor(divisor)] = args else { return None };
        if !call.arg(1).dtype.is_int() || call.out().shape.contains(&0) {
            return Some(args.to_vec());
        }
        if let Instr::Const(bits, _) = divisor.body.instrs[divisor.result.0 as usize] {
            return (bits != 0).then(|| args.to_vec());
        }
        let divisor = self.in_buffers(divisor);
        let tensor = |dtype, shape: &[u64]| Tensor { shape: shape.to_vec(), dtype };
        let zero = self.found_zero(op, &divisor)?;
        let flag = self.buffer(&tensor(DType::BOOL, &[]), Place::Arena(0));
        self.store(&zero, flag, &View::dense(&[]));
        let operands = (0..2).map(|arg| (call.arg(arg).dtype, call.arg(arg).shape.clone())).collect();
        let work = Work::Guard(Guard { call: expr, operands });
        self.plan.steps.push(Step {
            work,
            args: vec![flag],
            writes: [false].into(),
            origin: self.origin,
            ops: [op.name].into(),
            once: false,
        });
        Some(vec![first.clone(), divisor.into()])
    }

    /// Whether any element is 0.
    fn found_zero(&mut self, op: &'static OpDef, lazy: &Lazy) -> Option<Lazy> {
        let axes: Vec<usize> = (0..lazy.dims.len()).collect();
        let Rows { dims, reduce, index } = Rows::new(&lazy.dims, &axes);
        let lane = ScalarType::of(lazy.dtype)?;
        let mut body = Body::new();
        let (zero, x) = (body.push(Instr::Const(0, lane)), body.read(0));
        let found = body.cmp(Cmp::Eq, x, zero);
        let folds = Stage { each: true, body, reductions: vec![(found, Reduction::Max)], stores: vec![] };
        let mut body = Body::new();
        let val = body.folded(0);
        let last = Stage { each: false, body, reductions: vec![], stores: vec![Store { val, write: 0 }] };
        let reads = vec![Read::of(Source::Arg(0), index)];
        let outs: Vec<Vec<AxisMap>> = vec![vec![]];
        let template = Template { dims, reduce, reads, stages: vec![folds, last], outs, ..Template::default() };
        match self.anchored(op, vec![lazy.clone()], template, &Tensor { shape: vec![], dtype: DType::BOOL }) {
            Value::Tensor(lazy) => Some(Arc::unwrap_or_clone(lazy)),
            Value::Tuple(_) => None,
        }
    }
}
