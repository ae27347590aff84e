//! Passes: rewrites from IR to IR, one file each. The head of the file says what the pass does and why it is sound, with an
//! example.
//!
//! A pass gets a typed module without errors. It may leave new expressions without types, because [`run`] infers again after each
//! pass that changed something. It must keep the answer of every function that is left, and the types of the functions that a caller can name. A new
//! expression has the span of the expression it replaces, so that a profile can name the line that a kernel came from.
//!
//! Facts about operators are absent from this crate: they are declared with the operators.

mod alter_op_layout;
mod annotate_used_memory;
mod any_size;
mod beta_reduce;
mod bind_params;
mod bindings;
mod bound_shapes;
pub mod build;
mod callers;
mod cancel_transposes;
mod canonicalise;
mod canonicalise_qnn;
mod canonicalize_cast;
mod combine_parallel;
mod constructors;
mod convert_layout;
mod copy;
mod cps;
mod crop_windows;
mod dead_code;
mod defunctionalization;
mod defuse_ops;
mod div_to_mul;
mod dynamic_to_static;
mod effects;
mod einsum_to_batch_matmul;
mod elementwise_before_join;
mod elementwise_before_transpose;
mod eliminate_common_subexpr;
mod eta_expand;
mod external_compilers;
mod fake_quantization;
mod fast_math;
mod flatten_atrous_conv;
mod flatten_concatenate;
mod fold_constants;
mod fold_explicit_padding;
mod fold_scale_axis;
mod fuse_ops;
mod gradient;
mod half_compute_legalize;
mod inline;
mod inline_globals;
mod integer_products;
mod lambda_lift;
mod let_list;
mod liveness;
mod manifest_lifetimes;
mod names;
mod partial_evaluate;
mod partition;
mod pipeline;
mod pointwise_convolutions;
mod pool_before_conv;
mod push_strides_up;
pub mod quantize;
mod refined;
pub mod regions;
mod regions_channels_last;
mod remove_unused_functions;
pub mod rewrite;
mod separate_pool_windows;
mod simplify_expr;
mod simplify_fc_transpose;
mod simplify_inference;
mod split_args;
mod split_windows;
mod step;
mod tanh_of_softplus;
mod to_a_normal_form;
mod to_basic_block_normal_form;
mod to_graph_normal_form;
mod to_mixed_precision;
mod type_params;
mod unroll_loops;
mod users;

pub use any_size::is_ready_for_any_size;
pub use bind_params::{bind_params, unbind_params};
pub use bound_shapes::bound_shapes;
pub use build::PassCx;
pub use dynamic_to_static::dynamic_to_static;
pub use fuse_ops::{Edge, explain as explain_fusion};
pub use partition::{DataDependent, partition};
pub use pipeline::{Observer, Settings, broken, run};
pub use step::{Arg, ArgKind, Args, Param, Step, unknown_pass};

use relayc_base::Span;
use relayc_base::diag::{Diagnostic, codes};
use relayc_ir::{ExprId, GlobalId, Module};

/// A pass, as `relayc passes` shows it.
#[derive(Debug)]
pub struct Pass {
    /// The name on the command line: `fold-constants` for `fold_constants.rs`.
    pub name: &'static str,
    /// What it does; the first sentence is the summary.
    pub doc: &'static str,
    /// The lowest `-O` that runs it; [`ON_REQUEST`] if only `--passes` does.
    pub level: u8,
    pub params: &'static [Param],
    /// Whether every function keeps its type, and its results up to the order of sums.
    pub keeps_answers: bool,
    /// Whether it adds and multiplies in another order. A result that was infinite may be NaN then, or the reverse.
    pub reorders_terms: bool,
    /// Whether it needs types; one that does not works on a program without them too, and gives none.
    pub needs_types: bool,
    /// Returns false if it left the program as it was, with all its types. Errors: E0743, for a program that it cannot rewrite.
    pub run: fn(&mut Module, &PassCx) -> Result<bool, Box<Diagnostic>>,
}

/// The level of a pass that belongs to no level of `-O`.
pub const ON_REQUEST: u8 = u8::MAX;

/// The highest level.
pub const MAX_LEVEL: u8 = 3;

/// Every pass in the order of the pipeline, one line each; one that is worth running again has another line.
const PASSES: &[Pass] = &[
    inline::PASS,
    beta_reduce::PASS,
    unroll_loops::PASS,
    to_a_normal_form::PASS,
    to_basic_block_normal_form::PASS,
    to_graph_normal_form::PASS,
    cancel_transposes::PASS,
    integer_products::PASS,
    fold_constants::PASS,
    simplify_inference::PASS,
    crop_windows::PASS,
    einsum_to_batch_matmul::PASS,
    separate_pool_windows::PASS,
    fold_constants::PASS,
    simplify_expr::PASS,
    fold_scale_axis::PASS,
    canonicalise::PASS,
    eliminate_common_subexpr::PASS,
    combine_parallel::CONV2D_PASS,
    combine_parallel::DENSE_PASS,
    combine_parallel::BATCH_MATMUL_PASS,
    pool_before_conv::PASS,
    tanh_of_softplus::PASS,
    push_strides_up::PASS,
    flatten_concatenate::PASS,
    elementwise_before_join::PASS,
    elementwise_before_transpose::PASS,
    pointwise_convolutions::PASS,
    regions_channels_last::PASS,
    split_windows::PASS,
    half_compute_legalize::PASS,
    alter_op_layout::PASS,
    fold_constants::PASS,
    dead_code::PASS,
    fuse_ops::PASS,
    partition::PASS,
    eta_expand::PASS,
    lambda_lift::PASS,
    remove_unused_functions::PASS,
    fold_explicit_padding::PASS,
    flatten_atrous_conv::PASS,
    simplify_fc_transpose::PASS,
    split_args::PASS,
    defuse_ops::PASS,
    canonicalise::OPS_PASS,
    canonicalize_cast::PASS,
    div_to_mul::PASS,
    dynamic_to_static::PASS,
    fast_math::PASS,
    inline_globals::PASS,
    manifest_lifetimes::PASS,
    annotate_used_memory::PASS,
    fake_quantization::PASS,
    convert_layout::PASS,
    to_mixed_precision::PASS,
    external_compilers::annotate_target::PASS,
    external_compilers::merge_compiler_regions::PASS,
    external_compilers::partition_graph::PASS,
    defunctionalization::PASS,
    partial_evaluate::PASS,
    cps::convert::PASS,
    cps::revert::PASS,
    gradient::first_order::PASS,
    gradient::higher_order::PASS,
];

/// The pass that [`explain_fusion`] explains.
pub const FUSION: &str = fuse_ops::PASS.name;

/// The passes, each once, in the order of the pipeline.
pub fn all() -> Vec<&'static Pass> {
    let mut all: Vec<&Pass> = Vec::new();
    for pass in PASSES {
        if all.iter().all(|known| known.name != pass.name) {
            all.push(pass);
        }
    }
    all
}

/// Finds a pass by its name, or by that of TVM's pass that does the same.
pub fn find(name: &str) -> Option<&'static Pass> {
    let other = OF_TVM.iter().find(|(theirs, _)| *theirs == name).map_or(name, |(_, ours)| ours);
    PASSES.iter().find(|pass| pass.name == other || is_of_tvm(other, pass.name))
}

/// TVM's names of passes that are called otherwise here.
const OF_TVM: [(&str, &str); 6] = [
    ("FoldConstant", "fold-constants"),
    ("DeadCodeElimination", "dead-code"),
    ("ForwardFoldScaleAxis", "fold-scale-axis"),
    ("BackwardFoldScaleAxis", "fold-scale-axis"),
    ("to_cps", "to-cps"),
    ("un_cps", "un-cps"),
];

/// Whether a name is this one as TVM writes it: `SimplifyFCTranspose` is `simplify-fc-transpose`.
fn is_of_tvm(theirs: &str, ours: &str) -> bool {
    theirs.starts_with(|first: char| first.is_ascii_uppercase())
        && ours.bytes().filter(|&byte| byte != b'-').eq(theirs.bytes().map(|byte| byte.to_ascii_lowercase()))
}

/// The passes of a level, in order.
pub fn of_level(level: u8) -> Vec<Step> {
    steps(level, |_| true)
}

/// The passes of a level for a program whose sizes are known later: those that choose neither layouts nor groups.
pub fn before_sizes(level: u8) -> Vec<Step> {
    steps(level, |pass| !needs_sizes(pass))
}

/// The passes of a level that [`before_sizes`] leaves.
pub fn with_sizes(level: u8) -> Vec<Step> {
    steps(level, needs_sizes)
}

fn steps(level: u8, wanted: fn(&Pass) -> bool) -> Vec<Step> {
    PASSES.iter().filter(|pass| pass.level <= level && wanted(pass)).map(Step::from).collect()
}

fn needs_sizes(pass: &Pass) -> bool {
    [alter_op_layout::PASS.name, fuse_ops::PASS.name].contains(&pass.name)
}

/// The passes of a level that a program goes through before it becomes an artifact: an artifact has no room in which a tensor grows
/// from one turn of a loop to the next.
pub fn before_artifact(level: u8) -> Vec<Step> {
    let passes: [&Pass; 3] = [&inline::PASS, &beta_reduce::PASS, &unroll_loops::ARTIFACT_PASS];
    passes.into_iter().filter(|pass| pass.level <= level).map(Step::from).collect()
}

/// The passes of a level for a program whose subgraphs are compiled one by one: those that must see more than one subgraph.
/// Layouts and groups are chosen within each subgraph.
pub fn before_partition(level: u8) -> Vec<Step> {
    let mut passes = before_sizes(level);
    // Dataflow is followed along shared expressions.
    if passes.iter().all(|step| step.pass.name != to_graph_normal_form::PASS.name) {
        passes.push(Step::from(&to_graph_normal_form::PASS));
    }
    passes
}

impl Pass {
    /// For `..Pass::BASE`: on request, without parameters.
    pub(crate) const BASE: Pass = Pass {
        name: "",
        doc: "",
        level: ON_REQUEST,
        params: &[],
        keeps_answers: true,
        reorders_terms: false,
        needs_types: true,
        run: |_, _| Ok(false),
    };

    /// The first sentence of the documentation.
    pub fn summary(&self) -> &'static str {
        self.doc.split_once(". ").map_or(self.doc, |(first, _)| first).trim_end_matches('.')
    }
}

/// The function of a name that a pass was given. Errors: E0743.
pub(crate) fn function(module: &Module, pass: &Pass, name: &str) -> Result<GlobalId, Box<Diagnostic>> {
    module.find_global(name).ok_or_else(|| refused(pass, format!("there is no function `@{name}`")))
}

/// Checks that inference found the types of expressions. Errors: the first whose type it left open, at least in part.
pub(crate) fn require_types(module: &Module, exprs: &[ExprId]) -> Result<(), Stop> {
    let open = exprs.iter().find(|&&expr| module.types.has_hole(module.ty(expr)));
    open.map_or(Ok(()), |&expr| Err(Stop::from("a type is not known").at(module.exprs[expr].span)))
}

/// Why a pass cannot rewrite a program, in words, and the place; [`Span::NONE`] if no place in the program is the reason.
#[derive(Debug)]
pub(crate) struct Stop {
    why: String,
    span: Span,
}

impl Stop {
    /// Adds the place, unless a place inside it is known.
    pub(crate) fn at(self, span: Span) -> Stop {
        Stop { span: if self.span.is_none() { span } else { self.span }, ..self }
    }
}

impl From<String> for Stop {
    fn from(why: String) -> Stop {
        Stop { why, span: Span::NONE }
    }
}

impl From<&str> for Stop {
    fn from(why: &str) -> Stop {
        why.to_owned().into()
    }
}

/// The error for a program that a pass cannot rewrite.
pub(crate) fn refused(pass: &Pass, stop: impl Into<Stop>) -> Box<Diagnostic> {
    let Stop { why, span } = stop.into();
    let refused = Diagnostic::new(codes::E0743, format!("the pass `{}` cannot rewrite this program: {why}", pass.name));
    if span.is_none() { refused.into() } else { refused.at(span, "").into() }
}
