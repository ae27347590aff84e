//! Prints a module as TVM v0.14.0 does, byte for byte (language 5; `src/relay/printer/relay_text_printer.cc`).
//!
//! This is the algorithm of language 5.4 with its recursion turned into a list of steps, so that depth costs heap, not stack. A
//! node is first *visited*, which computes its text. It is then *printed* wherever it is used: inline, or as a temporary `%n`,
//! numbered when its first user is printed. A stack of buffers collects the texts of scopes.

mod attr_order;
mod data;
mod json;
mod nest;
mod section;

pub use data::pattern;

use super::attrs::{AttrValue, Field, Kind, OpTable};
use super::object::{FieldValue, Object, ObjectId};
use super::{AttrsId, ExprId, ExprKind, FuncId, Module, Root, VarId};
use crate::tensor::{Data, Tensor};
use crate::types::{HoleId, MAX_SHOWN, Symbol, SymbolId, Ty, TypeNames};
use nest::Nest;
use relayc_base::text::{format_exact, format_g};
use relayc_base::{Idx, Span};
use rustc_hash::{FxHashMap, FxHashSet};
use section::Section;

#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Whether to print inferred types, as `/* ty=… */` comments.
    pub types: bool,
    /// Whether to print the metadata section, if the text refers to it; otherwise a comment says that it is left out.
    pub meta: bool,
    /// Whether to print floats with the fewest digits that read back to the same value, if TVM's six digits do not; and whether the
    /// parameters of `@main` keep their names where earlier functions have the same.
    pub exact: bool,
    /// Whether to write sizes by their names, `2*batch`, where text can (language 3.1).
    pub dim_names: bool,
}

/// The comment that replaces an omitted metadata section (`src/relay/printer/text_printer.cc`).
const OMITTED: &str = "/* For debugging purposes the metadata section has been omitted.
 * If you would like to see the full metadata section you can set the 
 * option to `True` when invoking `astext`. 
 */";

/// The most that the types in a printed program take, without its comments: as much as a text that is read may have.
const MAX_CODE: usize = 64 << 20;

/// The most that types in comments take in all, apart from short ones. After that they are cut to be short.
const MAX_COMMENTS: usize = 16 << 20;

/// A type of so many bytes is short.
const SHORT: usize = 1024;

/// The header of every printed program.
pub const HEADER: &str = "#[version = \"0.0.5\"]\n";

/// The module with its header, as `astext` prints it.
pub fn print(module: &Module, ops: &dyn OpTable, options: Options) -> String {
    print_with_origins(module, ops, options, &|_| None)
}

/// As [`print`], with a comment for each node that gives its origin by its span: ` /* ty=… span=… */`. TVM writes this for a
/// module whose nodes have spans (language 5.8). Text from `origin` is escaped for use in a comment.
pub fn print_with_origins(
    module: &Module,
    ops: &dyn OpTable,
    options: Options,
    origin: &dyn Fn(Span) -> Option<String>,
) -> String {
    let mut printer = Printer::new(module, ops, options, origin);
    let mut out = String::from(HEADER);
    match module.root {
        Root::Globals => {
            let mut adts: Vec<_> = module.adts.iter_ids().collect();
            adts.sort_by(|(_, a), (_, b)| a.name.cmp(&b.name));
            let mut globals: Vec<_> = module.globals.iter().collect();
            globals.sort_by(|a, b| a.name.cmp(&b.name));
            if options.exact
                && let Some(main) = module.find_global("main")
            {
                printer.reserve(&module.funcs[module.globals[main].func].params);
            }
            let mut texts: Vec<String> = adts.into_iter().map(|(adt, _)| printer.data_type(adt) + "\n").collect();
            for global in globals {
                let head = format!("def @{}", global.name);
                texts.push(printer.function(&head, global.func) + "\n");
            }
            out.push_str(&printer.nest.expand(&texts.join("\n")));
        }
        Root::Expr(expr) => {
            let text = printer.scope(expr);
            out.push_str(&printer.nest.expand(&text));
        }
    }
    if !printer.section.is_empty() {
        out.push('\n');
        if options.meta {
            out.push_str("#[metadata]\n");
            out.push_str(&printer.section.text(module));
        } else {
            out.push_str(OMITTED);
        }
    }
    out
}

/// A string literal as TVM prints it: bytes outside printable ASCII escaped (`src/support/str_escape.h`).
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'\\' => out.push_str("\\\\"),
            b'"' => out.push_str("\\\""),
            b'\t' => out.push_str("\\t"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            0x20..=0x7e => out.push(byte as char),
            _ => out.push_str(&format!("\\x{byte:02X}")),
        }
    }
    out.push('"');
    out
}

/// The known text of a node.
#[derive(Clone, Debug, PartialEq)]
enum Memo {
    None,
    Text(String),
    /// The node has the temporary `%n`.
    Temp(u32),
}

/// One step of the printer; the next one to do is on top of the stack.
enum Step {
    /// Computes the node's text, if it has none yet.
    Visit(ExprId),
    /// Writes a call, tuple or projection whose operands are done.
    Leaf(ExprId),
    /// Opens a buffer, prints the node as the value of a scope, and closes the buffer.
    Scope(ExprId),
    ScopeEnd(ExprId),
    IfCond(ExprId),
    IfEnd(ExprId),
    FnEnd(ExprId),
    MatchHead(ExprId),
    MatchClause {
        expr: ExprId,
        index: usize,
    },
    Reference(ExprId),
    RefWriteEnd(ExprId),
    LetBind {
        first: ExprId,
        at: ExprId,
        n: usize,
    },
    LetEnd {
        first: ExprId,
        n: usize,
    },
}

struct Printer<'a> {
    module: &'a Module,
    ops: &'a dyn OpTable,
    options: Options,
    origin: &'a dyn Fn(Span) -> Option<String>,
    /// How many edges lead into each node.
    uses: Vec<u32>,
    memo: Vec<Memo>,
    nest: Nest,
    /// Whether the node's comment has been printed.
    commented: Vec<bool>,
    var_names: Vec<Option<Box<str>>>,
    /// Names of variables that are not declared yet.
    reserved: FxHashMap<VarId, String>,
    /// Declarations of free variables whose `free_var` line is not printed yet.
    free_decls: FxHashMap<VarId, String>,
    /// Names in use, with the number last tried for each hint.
    names: FxHashMap<String, u32>,
    n_temps: u32,
    section: Section,
    sizes: SizeNames<'a>,
    /// How many more bytes the types in the program may take.
    code_left: usize,
    /// How many more bytes long types in comments may take.
    comments_left: usize,
    buffers: Vec<String>,
    results: Vec<String>,
    steps: Vec<Step>,
}

impl<'a> Printer<'a> {
    fn new(module: &'a Module, ops: &'a dyn OpTable, options: Options, origin: &'a dyn Fn(Span) -> Option<String>) -> Self {
        Printer {
            module,
            ops,
            options,
            origin,
            uses: module.use_counts(&module.roots()),
            memo: vec![Memo::None; module.exprs.len()],
            nest: Nest::default(),
            commented: vec![false; module.exprs.len()],
            var_names: vec![None; module.vars.len()],
            reserved: FxHashMap::default(),
            free_decls: FxHashMap::default(),
            names: FxHashMap::default(),
            n_temps: 0,
            section: Section::default(),
            sizes: if options.dim_names { SizeNames::of(module) } else { SizeNames::default() },
            code_left: MAX_CODE,
            comments_left: MAX_COMMENTS,
            buffers: vec![],
            results: vec![],
            steps: vec![],
        }
    }

    /// `head(params, attrs) -> ret {␤  body␤}`.
    fn function(&mut self, head: &str, func: FuncId) -> String {
        let head = self.fn_head(head, func);
        let body = self.scope(self.module.funcs[func].body);
        self.fn_text(&head, body)
    }

    /// The text of an expression in a scope of its own.
    fn scope(&mut self, expr: ExprId) -> String {
        self.steps.push(Step::Scope(expr));
        while let Some(step) = self.steps.pop() {
            self.step(step);
        }
        self.pop_result()
    }

    fn pop_result(&mut self) -> String {
        self.results.pop().expect("every part of a text was pushed before its end")
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Visit(expr) => self.visit(expr),
            Step::Leaf(expr) => self.leaf(expr),
            Step::Scope(expr) => {
                self.buffers.push(String::new());
                self.steps.extend([Step::ScopeEnd(expr), Step::Visit(expr)]);
            }
            Step::ScopeEnd(expr) => {
                let value = self.print(expr, true);
                let mut text = self.buffers.pop().expect("the scope's buffer");
                text.push_str(&value);
                self.results.push(text);
            }
            Step::IfCond(expr) => {
                let ExprKind::If { cond, then_branch, else_branch } = self.module.exprs[expr].kind else { return };
                let cond = self.print(cond, false);
                self.results.push(cond);
                self.steps.extend([Step::IfEnd(expr), Step::Scope(else_branch), Step::Scope(then_branch)]);
            }
            Step::IfEnd(expr) => {
                let (else_text, then_text, cond) = (self.pop_result(), self.pop_result(), self.pop_result());
                let (then_text, else_text) = (self.nest.indent(then_text), self.nest.indent(else_text));
                let text = format!("if ({cond}) {{\n  {then_text}\n}} else {{\n  {else_text}\n}}");
                self.memo[expr.index()] = Memo::Text(text);
            }
            Step::FnEnd(expr) => {
                let (body, head) = (self.pop_result(), self.pop_result());
                self.memo[expr.index()] = Memo::Text(self.fn_text(&head, body));
            }
            Step::MatchHead(expr) => self.match_head(expr),
            Step::MatchClause { expr, index } => self.match_clause(expr, index),
            Step::Reference(expr) => self.reference(expr),
            Step::RefWriteEnd(expr) => self.ref_write_end(expr),
            Step::LetBind { first, at, n } => self.let_bind(first, at, n),
            Step::LetEnd { first, n } => {
                let body = self.pop_result();
                let lines = self.buffers.split_off(self.buffers.len() - n);
                self.memo[first.index()] = Memo::Text(lines.concat() + &body);
            }
        }
    }

    fn visit(&mut self, expr: ExprId) {
        if self.memo[expr.index()] != Memo::None {
            return;
        }
        match self.module.exprs[expr].kind {
            ExprKind::Error | ExprKind::Const(_) | ExprKind::Global(_) | ExprKind::Op(_) | ExprKind::Ctor(_) => {}
            ExprKind::Var(var) => {
                if self.var_names[var.index()].is_none() {
                    let decl = self.declare(var);
                    self.free_decls.insert(var, decl);
                }
            }
            ExprKind::Call { .. } | ExprKind::Tuple(_) | ExprKind::Proj { .. } => {
                self.steps.push(Step::Leaf(expr));
                let mut children = Vec::new();
                self.module.children(expr, &mut children);
                self.steps.extend(children.into_iter().rev().map(Step::Visit));
            }
            ExprKind::If { cond, .. } => self.steps.extend([Step::IfCond(expr), Step::Visit(cond)]),
            ExprKind::Fn(func) => {
                let head = self.fn_head("fn ", func);
                self.results.push(head);
                self.steps.extend([Step::FnEnd(expr), Step::Scope(self.module.funcs[func].body)]);
            }
            ExprKind::Let { .. } => self.let_start(expr, expr, 0),
            ExprKind::Match { scrutinee, .. } => self.steps.extend([Step::MatchHead(expr), Step::Visit(scrutinee)]),
            ExprKind::RefNew(operand) | ExprKind::RefRead(operand) | ExprKind::RefWrite { cell: operand, .. } => {
                self.steps.extend([Step::Reference(expr), Step::Visit(operand)]);
            }
        }
    }

    fn let_start(&mut self, first: ExprId, at: ExprId, n: usize) {
        let ExprKind::Let { var, value, .. } = self.module.exprs[at].kind else { return };
        let decl = self.declare(var);
        self.results.push(decl);
        self.steps.extend([Step::LetBind { first, at, n: n + 1 }, Step::Visit(value)]);
    }

    /// A let's line becomes the buffer of what follows, so that the next value's temporaries stand after it.
    fn let_bind(&mut self, first: ExprId, at: ExprId, n: usize) {
        let ExprKind::Let { value, body, .. } = self.module.exprs[at].kind else { return };
        let mut text = self.print(value, true);
        if matches!(self.module.exprs[value].kind, ExprKind::Let { .. }) {
            text = self.nest.flat(text);
        }
        let decl = self.pop_result();
        self.buffers.push(format!("let {decl} = {text};\n"));
        // TVM goes on with a let that others share too and so writes its variables twice; here it is one node with a number.
        if matches!(self.module.exprs[body].kind, ExprKind::Let { .. }) && self.uses[body.index()] <= 1 {
            self.let_start(first, body, n);
        } else {
            self.steps.extend([Step::LetEnd { first, n }, Step::Scope(body)]);
        }
    }

    fn leaf(&mut self, expr: ExprId) {
        if self.memo[expr.index()] != Memo::None {
            return;
        }
        let text = match self.module.exprs[expr].kind {
            ExprKind::Tuple(fields) => {
                let module = self.module;
                let texts: Vec<String> = module.items(fields).iter().map(|field| self.print(field.expr, false)).collect();
                if let [one] = texts.as_slice() { format!("({one},)") } else { format!("({})", texts.join(", ")) }
            }
            ExprKind::Proj { tuple, index } => format!("{}.{index}", self.print(tuple, false)),
            ExprKind::Call { callee, args, attrs } => {
                let module = self.module;
                let mut texts: Vec<String> = module.items(args).iter().map(|arg| self.print(arg.expr, false)).collect();
                if let Some(attrs) = attrs {
                    self.call_attrs(callee, attrs, &mut texts);
                }
                let callee = self.print(callee, false);
                // A constructor without inputs stands alone.
                let is_bare = texts.is_empty() && module.called_ctor(expr).is_some();
                if is_bare { callee } else { format!("{callee}({})", texts.join(", ")) }
            }
            _ => return,
        };
        self.memo[expr.index()] = Memo::Text(text);
    }

    /// The text by which a visited node is used; gives it a temporary where it needs one.
    fn print(&mut self, expr: ExprId, tail: bool) -> String {
        let kind = self.module.exprs[expr].kind;
        if let Memo::Temp(n) = self.memo[expr.index()] {
            return format!("%{n}");
        }
        match kind {
            ExprKind::Var(var) => {
                if let Some(decl) = self.free_decls.remove(&var) {
                    self.top().push_str(&format!("free_var {decl};\n"));
                }
                return format!("%{}", self.var_names[var.index()].as_deref().unwrap_or("v"));
            }
            ExprKind::Global(global) => return format!("@{}", self.module.globals[global].name),
            ExprKind::Op(op) => return self.ops.name(op).to_owned(),
            ExprKind::Ctor(ctor) => return self.module.ctors[ctor].name.to_string(),
            ExprKind::Const(id) => {
                let ty = self.module.expr_tys.get(expr).copied().flatten();
                let text = self.constant(id, ty);
                return text + &self.comment(ty, self.module.exprs[expr].span);
            }
            _ => {}
        }
        let Memo::Text(mut text) = std::mem::replace(&mut self.memo[expr.index()], Memo::None) else {
            return "<error>".to_owned();
        };
        let inline = tail && self.uses[expr.index()] <= 1;
        if !inline && matches!(kind, ExprKind::Let { .. }) {
            text = format!("(\n  {}\n)", self.nest.indent(text));
        }
        let has_comment = matches!(kind, ExprKind::Call { .. } | ExprKind::Fn(_) | ExprKind::Tuple(_) | ExprKind::Proj { .. });
        if has_comment && !std::mem::replace(&mut self.commented[expr.index()], true) {
            text += &self.comment(self.module.expr_tys.get(expr).copied().flatten(), self.module.exprs[expr].span);
        }
        if inline {
            return text;
        }
        let n = self.n_temps;
        self.n_temps += 1;
        self.memo[expr.index()] = Memo::Temp(n);
        self.top().push_str(&format!("%{n} = {text};\n"));
        format!("%{n}")
    }

    fn top(&mut self) -> &mut String {
        self.buffers.last_mut().expect("printing happens inside a scope")
    }

    /// ` /* ty=… span=… */`, as much of it as there is, or nothing.
    fn comment(&mut self, ty: Option<Ty>, span: Span) -> String {
        let mut parts = String::new();
        if let Some(ty) = ty.filter(|_| self.options.types) {
            parts = format!(" ty={}", self.ty_in_comment(ty));
        }
        if let Some(origin) = (self.origin)(span) {
            parts += &format!(" span={}", fit_for_comment(&origin));
        }
        if parts.is_empty() { parts } else { format!(" /*{parts} */") }
    }

    /// A type in the program itself, which must read back: cut only where the text is too long to be read anyway.
    fn ty(&mut self, ty: Ty) -> String {
        let text = self.ty_within(ty, self.code_left);
        self.code_left = self.code_left.saturating_sub(text.len());
        text
    }

    fn ty_in_comment(&mut self, ty: Ty) -> String {
        let max = if self.comments_left == 0 { SHORT } else { MAX_SHOWN };
        let text = self.ty_within(ty, max);
        if text.len() > SHORT {
            self.comments_left = self.comments_left.saturating_sub(text.len());
        }
        text
    }

    fn ty_within(&mut self, ty: Ty, max: usize) -> String {
        struct Names<'b>(&'b Module, &'b mut Section, &'b SizeNames<'b>);
        impl TypeNames for Names<'_> {
            fn hole(&mut self, id: HoleId) -> String {
                self.1.hole(id)
            }

            fn symbol(&mut self, symbol: Symbol) -> String {
                let named = self.2.in_type(self.0, symbol);
                named.unwrap_or_else(|| self.1.symbol(self.0, symbol.id))
            }
        }
        let mut out = String::new();
        self.module.types.print(ty, &mut Names(self.module, &mut self.section, &self.sizes), max, &mut out);
        out
    }

    /// Gives variables their names before all others.
    fn reserve(&mut self, vars: &[VarId]) {
        for &var in vars {
            let name = self.unique_name(&self.module.vars[var].name);
            self.reserved.insert(var, name);
        }
    }

    /// `%name {virtual_device=…}: T /* ty=T */`, after giving the variable its name.
    fn declare(&mut self, var: VarId) -> String {
        let module = self.module;
        let decl = &module.vars[var];
        let name = self.reserved.remove(&var).unwrap_or_else(|| self.unique_name(&decl.name));
        self.var_names[var.index()] = Some(name.clone().into());
        let device = match module.var_devices.get(&var) {
            Some(&device) => format!(" {{virtual_device={}}}", self.object_text(&AttrValue::Object(device))),
            None => String::new(),
        };
        let annotation = decl.ty.map_or(String::new(), |ty| format!(": {}", self.ty(ty)));
        format!("%{name}{device}{annotation}{}", self.comment(decl.checked_ty, decl.span))
    }

    fn fn_text(&mut self, head: &str, body: String) -> String {
        format!("{head}{{\n  {}\n}}", self.nest.indent(body))
    }

    /// The hint, or the hint and the first free number (language 5.10).
    fn unique_name(&mut self, hint: &str) -> String {
        let starts_well = hint.starts_with(|c: char| c.is_ascii_alphabetic());
        let hint = if starts_well { hint.to_owned() } else { format!("v{hint}") };
        let Some(&last) = self.names.get(&hint) else {
            self.names.insert(hint.clone(), 0);
            return hint;
        };
        let mut n = last + 1;
        while self.names.contains_key(&format!("{hint}{n}")) {
            n += 1;
        }
        self.names.insert(hint.clone(), n);
        self.names.insert(format!("{hint}{n}"), 0);
        format!("{hint}{n}")
    }

    /// `def @f[A](%x: T, Primitive=1) -> R ` up to the brace.
    fn fn_head(&mut self, head: &str, func: FuncId) -> String {
        let module = self.module;
        let func = &module.funcs[func];
        let mut parts: Vec<String> = func.params.iter().map(|&var| self.declare(var)).collect();
        let keys: Vec<&str> = func.attrs.iter().map(|(key, _)| &**key).collect();
        for index in attr_order::printed_order(&keys) {
            let (key, value) = &func.attrs[index];
            parts.push(format!("{key}={}", self.object_text(value)));
        }
        let type_params: Vec<String> = func.type_params.iter().map(|&ty| self.ty(ty)).collect();
        let type_params = if type_params.is_empty() { String::new() } else { format!("[{}]", type_params.join(", ")) };
        let ret = func.ret.map_or(String::new(), |ty| format!("-> {} ", self.ty(ty)));
        format!("{head}{type_params}({}) {ret}", parts.join(", "))
    }

    fn call_attrs(&mut self, callee: ExprId, attrs: AttrsId, texts: &mut Vec<String>) {
        let ExprKind::Op(op) = self.module.exprs[callee].kind else { return self.named_attrs(attrs, texts) };
        let declared = self.ops.schema(op);
        let Some(schema) = declared.or(self.ops.meta_schema(op)) else { return };
        if declared.is_none() && self.options.meta {
            return texts.push(self.section.attrs(schema, attrs));
        }
        let module = self.module;
        for (field, value) in schema.fields.iter().zip(&module.attrs[attrs].values) {
            let is_default = field.default.is_some_and(|default| match self.options.exact {
                true => default() == *value,
                false => default().same(value),
            });
            if !is_default {
                texts.push(format!("{}={}", field.name, self.field_text(field, value)));
            }
        }
    }

    /// The attributes of a call whose callee is no operator, followed by their type.
    fn named_attrs(&mut self, attrs: AttrsId, texts: &mut Vec<String>) {
        let module = self.module;
        let Some(named) = module.attr_names.get(&attrs) else { return };
        for (name, value) in named.names.iter().zip(&module.attrs[attrs].values) {
            texts.push(format!("{name}={}", self.object_text(value)));
        }
        texts.push(format!("attrs_type_key={}", self.object_text(&AttrValue::str(&named.type_key))));
    }

    /// A literal where the scalar has one, else its entry of the metadata section.
    fn constant(&mut self, id: super::ConstId, ty: Option<Ty>) -> String {
        literal(&self.module.consts[id], self.options.exact).unwrap_or_else(|| self.section.constant(id, ty))
    }

    /// A float of an attribute, which is a double. With `exact`, a number too large for float32 gets the suffix of float64.
    fn double(&self, value: f64, suffix: &str) -> String {
        match self.options.exact {
            false => format!("{}{suffix}", format_g(value)),
            true if value.is_finite() && value.abs() > f64::from(f32::MAX) => {
                format!("{}f64", format_exact(value, |read| read == value))
            }
            true => format!("{}{suffix}", format_exact(value, |read| read == value)),
        }
    }

    /// An attribute of a call, by its declared kind (language 5.7).
    fn field_text(&mut self, field: &Field, value: &AttrValue) -> String {
        match (field.kind, value) {
            (Kind::Int, AttrValue::Int { value, .. }) => value.to_string(),
            (Kind::Float, AttrValue::Float { value, .. }) => self.double(*value, "f"),
            (kind, value) if self.options.dim_names && kind.holds_sizes() => self.size_text(value),
            _ => self.object_text(value),
        }
    }

    /// A value that may hold sizes, with their names.
    fn size_text(&mut self, value: &AttrValue) -> String {
        let named = match value {
            AttrValue::Symbol(symbol) => self.sizes.in_attr(self.module, *symbol),
            // Lists nest no deeper than kinds of attributes.
            AttrValue::List(items) => {
                let items: Vec<String> = items.iter().map(|item| self.size_text(item)).collect();
                Some(format!("[{}]", items.join(", ")))
            }
            _ => None,
        };
        named.unwrap_or_else(|| self.object_text(value))
    }

    /// An attribute value that carries its own type.
    fn object_text(&mut self, value: &AttrValue) -> String {
        match value {
            AttrValue::None => "None".to_owned(),
            AttrValue::Bool(value) => if *value { "True" } else { "False" }.to_owned(),
            AttrValue::Int { value, bits: 16 } => format!("{value}i16"),
            AttrValue::Int { value, bits: 64 } => format!("{value}i64"),
            AttrValue::Int { value, .. } => value.to_string(),
            AttrValue::Float { value, bits: 16 } => self.double(*value, "f16"),
            AttrValue::Float { value, bits: 64 } => self.double(*value, "f64"),
            AttrValue::Float { value, .. } => self.double(*value, "f"),
            AttrValue::Str(text) => quoted(text),
            AttrValue::DType(dtype) => quoted(&dtype.map_or(String::new(), |dtype| dtype.to_string())),
            AttrValue::List(items) => {
                let items: Vec<String> = items.iter().map(|item| self.object_text(item)).collect();
                format!("[{}]", items.join(", "))
            }
            AttrValue::Any => "?".to_owned(),
            AttrValue::Symbol(symbol) => self.section.symbol(self.module, symbol.id),
            AttrValue::Object(id) if !self.options.meta => {
                device_text(self.module, *id).unwrap_or_else(|| self.section.object(self.module, *id))
            }
            AttrValue::Object(id) | AttrValue::Expr(id) => self.section.object(self.module, *id),
            // Unlike as an operand, a constant is never written in place here.
            AttrValue::Const(id, _) => self.section.constant(*id, None),
        }
    }
}

/// The names that sizes are written by.
#[derive(Default)]
struct SizeNames<'a> {
    names: FxHashMap<SymbolId, &'a str>,
    /// The sizes in annotations: only those can be named in attributes.
    annotated: FxHashSet<SymbolId>,
}

impl<'a> SizeNames<'a> {
    fn of(module: &'a Module) -> Self {
        let names = module.size_names();
        let annotated = if names.is_empty() { FxHashSet::default() } else { module.annotated_sizes() };
        SizeNames { names, annotated }
    }

    /// A size as a type has it; `None` if it has no name.
    fn in_type(&self, module: &Module, symbol: Symbol) -> Option<String> {
        module.types.symbols.text_with(symbol, &|id| self.names.get(&id).copied())
    }

    /// A size as an attribute has it: in parentheses, unless it is a name or a number.
    fn in_attr(&self, module: &Module, symbol: Symbol) -> Option<String> {
        let name = |id: SymbolId| self.names.get(&id).copied().filter(|_| self.annotated.contains(&id));
        let text = module.types.symbols.text_with(symbol, &name)?;
        let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        Some(if plain { text } else { format!("({text})") })
    }
}

/// A name that ends no comment, begins none and stays in its line.
fn fit_for_comment(name: &str) -> String {
    let plain: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    plain.replace("*/", "* /").replace("/*", "/ *")
}

/// A device in text without a metadata section: `VirtualDevice(device_type=1, virtual_device_id=0)`.
fn device_text(module: &Module, id: ObjectId) -> Option<String> {
    let Object::Record { record, fields } = &module.objects[id] else { return None };
    if record.type_key != "VirtualDevice" {
        return None;
    }
    let part = |at: usize, name: &str| match fields.get(at) {
        Some(FieldValue::Text(value)) => format!("{name}={value}"),
        _ => format!("{name}=-1"),
    };
    Some(format!("VirtualDevice({}, {})", part(0, "device_type"), part(1, "virtual_device_id")))
}

/// The literal of a rank-0 constant (language 5.5); `None` for dtypes without a literal form. With `exact`, floats have as many
/// digits as they need.
pub fn literal(value: &Tensor, exact: bool) -> Option<String> {
    if value.rank() != 0 {
        return None;
    }
    let float = value.to_f64s().first().copied().unwrap_or(0.0);
    let int = value.to_ints().first().copied().unwrap_or(0);
    // A literal is a magnitude behind its sign, and the least integer has none: exactly it stands in the metadata section.
    let least = match value.data {
        Data::I16(_) => Some(i128::from(i16::MIN)),
        Data::I32(_) => Some(i128::from(i32::MIN)),
        Data::I64(_) => Some(i128::from(i64::MIN)),
        _ => None,
    };
    if exact && least == Some(int) {
        return None;
    }
    let digits = |same: fn(f64, f64) -> bool| match exact {
        true => format_exact(float, |read| same(read, float)),
        false => format_g(float),
    };
    match value.data {
        Data::I16(_) => Some(format!("{int}i16")),
        Data::I32(_) => Some(int.to_string()),
        Data::I64(_) => Some(format!("{int}i64")),
        Data::F16(_) => Some(format!("{}f16", digits(|a, b| half::f16::from_f64(a) == half::f16::from_f64(b)))),
        Data::F32(_) => Some(format!("{}f", digits(|a, b| a as f32 == b as f32))),
        Data::F64(_) => Some(format!("{}f64", digits(|a, b| a == b))),
        Data::Bool(_) => Some(if int == 0 { "False" } else { "True" }.to_owned()),
        _ => None,
    }
}
