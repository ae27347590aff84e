//! Writes expressions of a wanted type from the values in scope.

use super::ty::Ty;
use super::{Purpose, Signature, Writer};

/// What a text is in the grammar, from the tightest; parentheses make anything the first (language 2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
pub enum Form {
    Prim,
    Proj,
    Call,
    /// Sums and products, which may stand on the left of others.
    Infix,
    Comparison,
    /// A `match` or a block.
    Stmt,
    /// Bindings and a value.
    Bindings,
    /// Statements and a value.
    Seq,
}

/// An expression.
pub struct Text {
    pub text: String,
    pub form: Form,
}

impl Text {
    pub fn new(form: Form, text: impl Into<String>) -> Text {
        Text { text: text.into(), form }
    }

    /// The text as it stands where this form is asked for.
    pub fn at(self, form: Form) -> String {
        if self.form <= form { self.text } else { format!("({})", self.text) }
    }
}

impl Writer<'_> {
    /// An expression of a type, of which there is a value: see [`Writer::can_make`].
    pub fn expr(&mut self, ty: &Ty, depth: usize) -> Text {
        let text = self.bare_expr(ty, depth);
        match self.choose(64) {
            60 => Text::new(Form::Prim, format!("({})", text.text)),
            61 => Text { text: format!("{}{}", self.comment(), text.text), ..text },
            _ => text,
        }
    }

    fn bare_expr(&mut self, ty: &Ty, depth: usize) -> Text {
        if depth == 0 || self.is_spent() {
            return self.simplest(ty);
        }
        let depth = depth - 1;
        let found = match self.choose(20) {
            0..=3 => None,
            4 => Some(self.nested_block(ty, depth)),
            5 => Some(self.branches(ty, depth)),
            6 | 7 => self.call_of_function(ty, depth),
            8 => self.projection(ty, depth),
            9 => self.matching(ty, depth),
            10 => self.reading(ty, depth),
            11 => self.applied(ty, depth),
            _ => match ty {
                Ty::Tensor(..) => self.operator(ty, depth),
                _ => Some(self.built(ty, depth)),
            },
        };
        found.unwrap_or_else(|| self.simplest(ty))
    }

    /// An expression as an argument, an element or a value between braces.
    pub fn arg(&mut self, ty: &Ty, depth: usize) -> String {
        self.expr(ty, depth).text
    }

    /// Whether a value of a type can be written here.
    pub fn can_make(&self, ty: &Ty) -> bool {
        self.scope.has(ty)
            || match ty {
                Ty::Tensor(..) => ty.known().is_some(),
                Ty::Tuple(fields) => fields.iter().all(|field| self.can_make(field)),
                Ty::Fn(params, ret) => params.contains(ret) || self.can_make(ret),
                Ty::Ref(of) => self.can_make(of),
                Ty::Adt(name, args) => {
                    let adt = self.adts.iter().find(|adt| adt.name == *name).expect("types are of the module");
                    let args: Vec<(String, Ty)> = adt.params.iter().cloned().zip(args.iter().cloned()).collect();
                    adt.ctors.first().is_some_and(|(_, inputs)| inputs.iter().all(|input| self.can_make(&input.with(&args))))
                }
                Ty::Param(_) | Ty::Generic(..) => false,
            }
    }

    /// A type of which a value can be written here, often one that something has.
    pub fn type_here(&mut self) -> Ty {
        let types = self.scope.types();
        match self.choose(4) {
            0 if !types.is_empty() => self.pick(&types),
            1 | 2 => self.closed_type(2),
            _ => self.favourite(),
        }
    }

    /// A variable, or the shortest way to make a value.
    pub fn simplest(&mut self, ty: &Ty) -> Text {
        let vars = self.scope.of(ty);
        let is_new = self.once_in(6) && ty.known().is_some();
        if !vars.is_empty() && !is_new {
            return Text::new(Form::Prim, self.pick(&vars));
        }
        match ty.known() {
            Some((shape, dtype)) => self.constant(&shape, dtype),
            None => self.built(ty, 0),
        }
    }

    fn constant(&mut self, shape: &[i64], dtype: &'static str) -> Text {
        if let Some(literal) = shape.is_empty().then(|| self.literal(dtype)).flatten() {
            return Text::new(Form::Prim, literal);
        }
        if self.once_in(6) && shape.iter().product::<i64>() <= 64 {
            let seed = self.choose(256) as u8;
            return Text::new(Form::Prim, self.meta.constant(shape, dtype, seed));
        }
        let name = self.pick(&["zeros", "ones"]);
        let shape = self.ints(shape);
        Text::new(Form::Call, self.call(name, &[], &[format!("shape={shape}"), format!("dtype=\"{dtype}\"")]))
    }

    /// A value made of its parts.
    fn built(&mut self, ty: &Ty, depth: usize) -> Text {
        match ty {
            Ty::Tuple(fields) => {
                let texts: Vec<String> = fields.iter().map(|field| self.arg(field, depth)).collect();
                let text = if let [one] = &texts[..] { format!("({one},)") } else { format!("({})", self.list(texts)) };
                Text::new(Form::Prim, text)
            }
            Ty::Fn(params, ret) => match self.function_value(params, ret) {
                Some(text) if self.once_in(2) => text,
                _ => self.literal_fn(params, ret, depth, true),
            },
            Ty::Ref(of) => Text::new(Form::Prim, format!("ref({})", self.arg(of, depth))),
            Ty::Adt(name, args) => self.construction(name, args, depth),
            Ty::Tensor(..) | Ty::Param(_) | Ty::Generic(..) => {
                // Only asked for where a variable has the type.
                let vars = self.scope.of(ty);
                Text::new(Form::Prim, self.pick(&vars))
            }
        }
    }

    /// A function of the module, or a constructor, as a value.
    fn function_value(&mut self, params: &[Ty], ret: &Ty) -> Option<Text> {
        let fits = |function: &&Signature| function.type_params.is_empty() && function.params == params && function.ret == *ret;
        let functions = self.callable.iter().map(|&index| &self.funcs[index]).filter(fits);
        let mut names: Vec<String> = functions.map(|function| format!("@{}", function.name)).collect();
        if let Ty::Adt(name, args) = ret
            && args.is_empty()
        {
            let ctors = self.adts.iter().filter(|adt| adt.name == *name).flat_map(|adt| &adt.ctors);
            names.extend(ctors.filter(|(_, inputs)| !inputs.is_empty() && inputs == params).map(|(name, _)| name.clone()));
        }
        (!names.is_empty()).then(|| Text::new(Form::Prim, self.pick(&names)))
    }

    fn construction(&mut self, name: &str, args: &[Ty], depth: usize) -> Text {
        let adt = self.adts.iter().find(|adt| adt.name == name).expect("types are of the module").clone();
        let args: Vec<(String, Ty)> = adt.params.iter().cloned().zip(args.iter().cloned()).collect();
        let at = if depth == 0 { 0 } else { self.choose(adt.ctors.len()) };
        let inputs = |at: usize| -> Vec<Ty> { adt.ctors[at].1.iter().map(|input| input.with(&args)).collect() };
        let at = if inputs(at).iter().all(|input| self.can_make(input)) { at } else { 0 };
        let texts: Vec<String> = inputs(at).iter().map(|input| self.arg(input, depth.saturating_sub(1))).collect();
        let ctor = &adt.ctors[at].0;
        match texts.is_empty() && !self.once_in(6) {
            true => Text::new(Form::Prim, ctor),
            false => Text::new(Form::Call, format!("{ctor}({})", self.list(texts))),
        }
    }

    /// `fn (%x: A) -> B { … }`. Types of parameters may be left out where the function is applied at once.
    fn literal_fn(&mut self, params: &[Ty], ret: &Ty, depth: usize, annotated: bool) -> Text {
        let mark = self.scope.mark();
        let mut names = Vec::new();
        let mut texts = Vec::new();
        for ty in params {
            let name = self.var_name(&names);
            texts.push(match annotated || self.once_in(2) {
                true => format!("{name}: {}", self.ty(ty)),
                false => name.clone(),
            });
            names.push(name);
        }
        names.iter().zip(params).for_each(|(name, ty)| self.scope.bind(name.clone(), ty.clone()));
        let body = self.block(ret, depth, Some(&names));
        self.scope.close(&mark);
        if self.once_in(6) {
            texts.extend(self.func_attrs());
        }
        let ret = if self.once_in(3) { format!(" -> {}", self.ty(ret)) } else { String::new() };
        Text::new(Form::Prim, format!("fn ({}){ret} {{ {body} }}", self.list(texts)))
    }

    fn nested_block(&mut self, ty: &Ty, depth: usize) -> Text {
        match self.choose(3) {
            0 => Text::new(Form::Stmt, format!("{{ {} }}", self.block(ty, depth, Some(&[])))),
            _ => Text::new(Form::Prim, format!("({})", self.block(ty, depth, None))),
        }
    }

    fn branches(&mut self, ty: &Ty, depth: usize) -> Text {
        let condition = match self.once_in(2) && depth > 0 {
            true => self.infix(&[], "bool", depth - 1).text,
            false => self.arg(&Ty::bool(), depth),
        };
        let (yes, no) = (self.block(ty, depth, Some(&[])), self.block(ty, depth, Some(&[])));
        Text::new(Form::Prim, format!("if ({condition}) {{ {yes} }} else {{ {no} }}"))
    }

    /// A call of a function whose result can be of the type.
    fn call_of_function(&mut self, ty: &Ty, depth: usize) -> Option<Text> {
        let global = |index: &usize| {
            let function = &self.funcs[*index];
            let mut found = Vec::new();
            let fits = function.ret.matches(ty, &function.type_params, &mut found);
            fits.then(|| (format!("@{}", function.name), (function.type_params.clone(), function.params.clone(), found)))
        };
        let mut callees: Vec<_> = self.callable.iter().filter_map(global).collect();
        callees.extend(self.scope.select(|var| match var {
            Ty::Fn(params, ret) if **ret == *ty => Some((vec![], params.clone(), vec![])),
            Ty::Generic(names, params, ret) => {
                let mut found = Vec::new();
                ret.matches(ty, names, &mut found).then(|| (names.clone(), params.clone(), found))
            }
            _ => None,
        }));
        if callees.is_empty() {
            return None;
        }
        let (name, (type_params, params, mut found)) = self.pick(&callees);
        for param in type_params {
            if !found.iter().any(|(known, _)| *known == param) {
                let ty = self.closed_type(1);
                found.push((param, ty));
            }
        }
        let params: Vec<Ty> = params.iter().map(|param| param.with(&found)).collect();
        if !params.iter().all(|param| self.can_make(param)) {
            return None;
        }
        let args: Vec<String> = params.iter().map(|param| self.arg(param, depth)).collect();
        Some(Text::new(Form::Call, self.call(&name, &args, &[])))
    }

    fn projection(&mut self, ty: &Ty, depth: usize) -> Option<Text> {
        let tuples = self.scope.select(|var| match var {
            Ty::Tuple(fields) => fields.iter().position(|field| field == ty),
            _ => None,
        });
        if !tuples.is_empty() && !self.once_in(3) {
            let (name, index) = self.pick(&tuples);
            return Some(Text::new(Form::Proj, format!("{name}.{index}")));
        }
        let mut fields: Vec<Ty> = (0..self.choose(3)).map(|_| self.type_here()).collect();
        let index = self.choose(fields.len() + 1);
        fields.insert(index, ty.clone());
        if !fields.iter().all(|field| self.can_make(field)) {
            return None;
        }
        let tuple = self.expr(&Ty::Tuple(fields), depth).at(Form::Prim);
        Some(Text::new(Form::Proj, format!("{tuple}.{index}")))
    }

    fn reading(&mut self, ty: &Ty, depth: usize) -> Option<Text> {
        let cell = self.arg(&Ty::Ref(Box::new(ty.clone())), depth);
        Some(Text::new(Form::Prim, format!("ref_read({cell})")))
    }

    /// A function literal that is applied at once, perhaps twice over.
    fn applied(&mut self, ty: &Ty, depth: usize) -> Option<Text> {
        let mut params: Vec<Ty> = (0..self.choose(3)).map(|_| self.type_here()).collect();
        params.retain(|param| self.can_make(param));
        // TVM visits such a callee before the arguments and writes it after them, so the text of a node that both need
        // mentions it above its binding (language 5.4): nothing is shared between them.
        let before = self.scope.hide_graphs();
        if !self.can_make(ty) {
            self.scope.show_graphs(before);
            return None;
        }
        let func = if self.once_in(4) {
            let outer = Ty::Fn(params.clone(), Box::new(ty.clone()));
            self.literal_fn(&[], &outer, depth, true).at(Form::Prim) + "()"
        } else {
            let annotated = self.wide || self.once_in(2);
            self.literal_fn(&params, ty, depth, annotated).at(Form::Prim)
        };
        self.scope.show_graphs(before);
        let args = params.iter().map(|param| self.arg(param, depth)).collect();
        Some(Text::new(Form::Call, format!("{func}({})", self.list(args))))
    }

    /// Statements and a value of the type. `held` are the names of the scope that has just been opened; without one the
    /// statements stand in the scope around them.
    ///
    /// A `let` opens a scope after it. The first one binds in the scope around, which keeps the name, and where the name is
    /// taken there it binds nothing (language 4).
    pub fn block(&mut self, ty: &Ty, depth: usize, held: Option<&[String]>) -> String {
        let mark = self.scope.mark();
        let mut out = String::new();
        let mut is_first = true;
        let n = if depth == 0 || self.is_spent() { 0 } else { self.choose(5) };
        for _ in 0..n {
            let statement = match self.choose(8) {
                0..=2 => self.graph_binding(depth - 1),
                3..=5 => {
                    let taken = if is_first { held } else { Some(&[][..]) };
                    is_first = false;
                    self.let_binding(depth - 1, taken)
                }
                6 => {
                    is_first = false;
                    self.local_function(depth - 1)
                }
                _ => self.effect(depth - 1),
            };
            out.push_str(&statement);
            out.push_str(self.comment());
            out.push('\n');
        }
        let value = self.expr(ty, depth);
        self.scope.close(&mark);
        out + &value.text
    }

    fn graph_binding(&mut self, depth: usize) -> String {
        // What mentions only the parameters is the same wherever it stands.
        let is_shared = self.once_in(3);
        let before = is_shared.then(|| self.scope.hide());
        let mut ty = self.type_here();
        if !self.can_make(&ty) {
            ty = self.favourite();
        }
        // One that nothing mentions says nothing of the types of weights.
        let weights = self.weights.take();
        let value = self.expr(&ty, depth).at(Form::Bindings);
        self.weights = weights;
        if let Some(before) = before {
            self.scope.show(before);
        }
        let gap = 1 + self.choose(30) / 29 * 1000;
        let name = format!("%{}{}", if self.once_in(30) { "0" } else { "" }, self.n_graph);
        self.n_graph += gap;
        match is_shared {
            true => self.scope.share(name.clone(), ty),
            false => self.scope.bind(name.clone(), ty),
        }
        format!("{name} = {value};")
    }

    fn let_binding(&mut self, depth: usize, taken: Option<&[String]>) -> String {
        let mut ty = self.type_here();
        if !self.can_make(&ty) {
            ty = self.favourite();
        }
        let value = self.expr(&ty, depth).at(Form::Bindings);
        // In the value of a function its own name would mean itself.
        let name = match taken {
            Some(taken) if !matches!(ty, Ty::Fn(..)) => self.var_name(taken),
            _ => self.fresh_name("f"),
        };
        let annotation = match self.choose(4) {
            0 => String::new(),
            1 => ": _".to_owned(),
            _ => format!(": {}", self.ty(&ty)),
        };
        self.scope.bind(name.clone(), ty);
        format!("let {name}{annotation} = {value};")
    }

    /// A function bound by `let`: one that calls itself, or one with type parameters.
    fn local_function(&mut self, depth: usize) -> String {
        let name = self.fresh_name("g");
        let params: Vec<Ty> = (0..1 + self.choose(2)).map(|_| self.favourite()).collect();
        if self.once_in(2) || self.purpose == Purpose::Run {
            let param = format!("T{}", self.fresh());
            let own = Ty::Param(param.clone());
            let params = [vec![own.clone()], params].concat();
            let func = self.literal_fn(&params, &own, depth, true).text;
            self.scope.bind(name.clone(), Ty::Generic(vec![param.clone()], params, Box::new(own)));
            return format!("let {name} = fn [{param}]{};", &func["fn ".len()..]);
        }
        let ret = self.favourite();
        let ty = Ty::Fn(params.clone(), Box::new(ret.clone()));
        self.scope.bind(name.clone(), ty.clone());
        let func = self.literal_fn(&params, &ret, depth, true).text;
        format!("let {name}: {} = {func};", self.ty(&ty))
    }

    /// A statement without a name: a cell is written.
    fn effect(&mut self, depth: usize) -> String {
        let cells = self.scope.select(|var| match var {
            Ty::Ref(of) => Some((**of).clone()),
            _ => None,
        });
        let (cell, of) = match cells.is_empty() {
            true => {
                let ty = self.favourite();
                (format!("ref({})", self.arg(&ty, depth)), ty)
            }
            false => self.pick(&cells),
        };
        // A cell of functions or cells may be one that can only be read.
        let value = if self.can_make(&of) { self.arg(&of, depth) } else { format!("ref_read({cell})") };
        let write = format!("ref_write({cell}, {value})");
        match self.choose(3) {
            0 => format!("{write};"),
            1 => format!("let {} = {write};", self.fresh_name("unused")),
            _ => format!("{{ {write} }};"),
        }
    }
}
