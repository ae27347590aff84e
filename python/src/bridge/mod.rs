//! Nodes of `relayc.tvm`, which are Python objects, to the IR and back.
//!
//! [`read`] makes a module of the IR from nodes and keeps which node each part came from ([`Known`]). [`write`] makes nodes from a module;
//! a part that a pass left as it was comes back as the node that it came from, so that identity survives passes. Nothing recurses
//! over nodes. Nodes are told apart by the class attribute `_kind`; their other attributes are those of TVM v0.14.

pub(crate) mod classes;
pub(crate) mod read;
pub(crate) mod tensors;
mod types;
mod values;
pub(crate) mod write;

use pyo3::prelude::*;
use relayc_ir::types::SymbolId;
use relayc_ir::{AdtId, AttrsId, ConstId, CtorId, ExprId, VarId};
use rustc_hash::FxHashMap;

/// The nodes that the parts of a module were read from.
#[derive(Default)]
pub(crate) struct Known {
    pub(crate) exprs: FxHashMap<ExprId, Py<PyAny>>,
    pub(crate) vars: FxHashMap<VarId, Py<PyAny>>,
    pub(crate) consts: FxHashMap<ConstId, Py<PyAny>>,
    pub(crate) attrs: FxHashMap<AttrsId, Py<PyAny>>,
    /// The variables of functions, by name: a pass that removes functions gives the others new numbers.
    pub(crate) globals: FxHashMap<String, Py<PyAny>>,
    pub(crate) ctors: FxHashMap<CtorId, Py<PyAny>>,
    pub(crate) adts: FxHashMap<AdtId, Py<PyAny>>,
    /// The headers of data types, by their names.
    pub(crate) headers: FxHashMap<String, Py<PyAny>>,
    /// Type parameters, by the numbers of [`relayc_ir::types::TyData::Param`].
    pub(crate) params: FxHashMap<u32, Py<PyAny>>,
    pub(crate) symbols: FxHashMap<SymbolId, Py<PyAny>>,
    /// The functions of the module, by name.
    pub(crate) functions: FxHashMap<String, Py<PyAny>>,
}

/// The address of an object, by which it is recognized while it lives.
pub(crate) fn address(object: &Bound<'_, PyAny>) -> usize {
    object.as_ptr() as usize
}
