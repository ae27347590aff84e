//! The numbers of the parts of a module, each an index into its arena.

use relayc_base::index_type;

index_type! {
    pub struct ExprId;
}
index_type! {
    /// A local variable. Sameness is identity; the name is a hint.
    pub struct VarId;
}
index_type! {
    /// A function, whether defined by `def` or `fn`.
    pub struct FuncId;
}
index_type! {
    /// A name of the module, `@main`.
    pub struct GlobalId;
}
index_type! {
    pub struct ConstId;
}
index_type! {
    pub struct AdtId;
}
index_type! {
    pub struct CtorId;
}
index_type! {
    pub struct PatId;
}
index_type! {
    /// The attributes of one call.
    pub struct AttrsId;
}
