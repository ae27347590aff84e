//! Writes modules from random bytes: each byte decides one choice, and after the last byte every choice is the simplest.
//!
//! Every module is well typed by construction: an expression is written for a wanted type, from the values in scope of fitting
//! types. The writer covers all of language 2 to 4, including forms that TVM prints and does not read: layouts, comments,
//! omitted commas, extra parentheses. Numbers have at most six digits, as many as printing keeps (language 5.5).

mod expr;
mod matching;
mod meta;
mod networks;
mod operators;
mod scope;
mod shapes;
mod ty;
mod values;

use meta::Meta;
use scope::Scope;
use ty::{Adt, Ty};

/// What a module is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// All of the language.
    Read,
    /// `@main` takes two tensors of shape (2, 3) and float32, gives one, and ends: nothing recurses.
    Run,
}

/// The module that these choices make.
pub fn write(choices: &[u8], purpose: Purpose) -> String {
    let mut writer = Writer {
        choices: choices.iter(),
        purpose,
        adts: vec![],
        funcs: vec![],
        callable: vec![],
        favourites: vec![],
        meta: Meta::default(),
        scope: Scope::default(),
        weights: None,
        says_patterns: false,
        wide: false,
        n_graph: 0,
        n_fresh: 0,
    };
    writer.module()
}

/// The choices of a number: some few modules are long, most are short.
pub fn choices(seed: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    let longest = if seed.is_multiple_of(64) { 1500 } else { 200 };
    let n = random.usize(16..longest);
    std::iter::repeat_with(|| random.u8(..)).take(n).collect()
}

/// A global function as its callers know it.
#[derive(Clone)]
struct Signature {
    name: String,
    type_params: Vec<String>,
    params: Vec<Ty>,
    ret: Ty,
    /// The return type is written; else it follows from the body.
    says_ret: bool,
}

struct Writer<'a> {
    choices: std::slice::Iter<'a, u8>,
    purpose: Purpose,
    adts: Vec<Adt>,
    funcs: Vec<Signature>,
    /// Which of them the function that is being written may call.
    callable: Vec<usize>,
    /// Types that come up again and again, so that variables find uses.
    favourites: Vec<Ty>,
    meta: Meta,
    scope: Scope,
    /// Parameters without a type that the function being written gets besides, where it may have such.
    weights: Option<Vec<String>>,
    /// Variables of patterns are written with their types.
    says_patterns: bool,
    /// Some integers have 64 bits, and nothing is left to be inferred: which of two equal types with dimensions of different
    /// widths a hole gets depends on which comes first.
    wide: bool,
    n_graph: usize,
    n_fresh: usize,
}

impl Writer<'_> {
    /// One of `n`; 0 is the simplest.
    fn choose(&mut self, n: usize) -> usize {
        self.choices.next().map_or(0, |&choice| usize::from(choice) % n)
    }

    /// True once in `n`.
    fn once_in(&mut self, n: usize) -> bool {
        self.choose(n) == n - 1
    }

    fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        let at = self.choose(items.len());
        items[at].clone()
    }

    fn is_spent(&self) -> bool {
        self.choices.len() == 0
    }

    fn fresh(&mut self) -> usize {
        self.n_fresh += 1;
        self.n_fresh
    }

    fn module(&mut self) -> String {
        for _ in 0..3 {
            let ty = self.tensor_type();
            self.favourites.push(ty);
        }
        self.wide = self.once_in(3);
        let mut text = String::from("#[version = \"0.0.5\"]\n");
        self.data_types(&mut text);
        self.signatures();
        for index in 0..self.funcs.len() {
            self.function(index, &mut text);
        }
        let meta = std::mem::take(&mut self.meta);
        meta.section(&mut text);
        text
    }

    fn data_types(&mut self, text: &mut String) {
        let n = self.choose(4);
        for index in 0..n {
            let n_params = self.choose(3);
            let params: Vec<String> = (0..n_params).map(|i| format!("{}{index}", ["A", "Elem_"][i])).collect();
            let name = format!(
                "{}{index}",
                self.pick(&["List", "Tree", "Box_", "T/n", "A_type_whose_name_is_longer_than_most_names_are"])
            );
            self.adts.push(Adt { name, params, ctors: vec![] });
        }
        for index in 0..n {
            self.data_type(index, text);
        }
        if self.once_in(24) {
            let params = ["", "[A]"][self.choose(2)];
            text.push_str(&format!("{} Opaque{params}{}\n", ["extern type", "type"][self.choose(2)], self.comment()));
        }
    }

    fn data_type(&mut self, index: usize, text: &mut String) {
        let Adt { name, params, .. } = self.adts[index].clone();
        let own = Ty::Adt(name.clone(), params.iter().cloned().map(Ty::Param).collect());
        let mut ctors = Vec::new();
        for i in 0..1 + self.choose(4) {
            let n_inputs = if i == 0 { self.choose(2) } else { self.choose(4) };
            let inputs: Vec<Ty> = (0..n_inputs)
                .map(|_| match self.choose(if i == 0 { 2 } else { 5 }) {
                    // The first constructor can always be called.
                    0 => self.favourite(),
                    1 if params.is_empty() => self.tensor_type(),
                    1 => Ty::Param(self.pick(&params)),
                    2 => own.clone(),
                    3 => self.closed_type(2),
                    _ => Ty::Tuple(vec![own.clone(), self.favourite()]),
                })
                .collect();
            let word = self.pick(&["Nil", "Cons", "Leaf_", "C/d", "S"]);
            ctors.push((format!("{word}{index}_{i}"), inputs));
        }
        let texts: Vec<String> = ctors
            .iter()
            .map(|(name, inputs)| match inputs.is_empty() && !self.once_in(8) {
                true => name.clone(),
                false => {
                    let inputs: Vec<String> = inputs.iter().map(|input| self.ty(input)).collect();
                    format!("{name}({})", self.list(inputs))
                }
            })
            .collect();
        let params = if params.is_empty() { String::new() } else { format!("[{}]", self.list(params)) };
        text.push_str(&format!("type {name}{params} {{ {} }}{}\n", self.list(texts), self.comment()));
        self.adts[index].ctors = ctors;
    }

    fn signatures(&mut self) {
        if self.purpose == Purpose::Run {
            for i in 0..self.choose(3) {
                let params = (0..1 + self.choose(2)).map(|_| self.favourite()).collect();
                let ret = self.favourite();
                self.funcs.push(Signature { name: format!("f{i}"), type_params: vec![], params, ret, says_ret: true });
            }
            let params = vec![ty::of_run(), ty::of_run()];
            return self.funcs.push(Signature {
                name: "main".into(),
                type_params: vec![],
                params,
                ret: ty::of_run(),
                says_ret: true,
            });
        }
        for i in 0..1 + self.choose(4) {
            let type_params: Vec<String> = match self.once_in(4) {
                true => (0..1 + self.choose(2)).map(|k| format!("{}{i}", ["P", "Q_"][k])).collect(),
                false => vec![],
            };
            let mut params: Vec<Ty> = type_params.iter().cloned().map(Ty::Param).collect();
            for _ in 0..self.choose(4) {
                let ty = self.param_type(&type_params);
                params.push(ty);
            }
            let ret = match self.choose(4) {
                0 => self.favourite(),
                1 if !params.is_empty() => self.pick(&params),
                2 => self.closed_type(3),
                _ => self.tensor_type(),
            };
            let name = match self.choose(6) {
                0 if i == 0 => "main".to_owned(),
                1 => format!("a_name/with/slashes_{i}"),
                2 => format!("{}_{i}", "a_rather_long_name_for_a_function".repeat(3)),
                3 => format!("_{i}"),
                _ => format!("f{i}"),
            };
            let says_ret = !self.once_in(5);
            self.funcs.push(Signature { name, type_params, params, ret, says_ret });
        }
    }

    fn function(&mut self, index: usize, text: &mut String) {
        let Signature { name, type_params, params, ret, says_ret } = self.funcs[index].clone();
        // A function whose return type follows from its body stands in no cycle of calls.
        self.callable = match self.purpose {
            Purpose::Run => (0..index).collect(),
            Purpose::Read if says_ret => {
                (0..self.funcs.len()).filter(|&i| self.funcs[i].says_ret || i < index && self.once_in(2)).collect()
            }
            Purpose::Read => (0..index).filter(|&i| !self.funcs[i].says_ret).collect(),
        };
        self.scope = Scope::default();
        self.n_graph = self.choose(3);
        let is_called = index + 1 < self.funcs.len() || says_ret;
        self.weights = (!is_called && !self.wide).then(Vec::new);
        let mut names: Vec<String> = Vec::new();
        let mut texts: Vec<String> = Vec::new();
        for ty in &params {
            let name = self.var_name(&names);
            texts.push(self.param(&name, ty));
            self.scope.bind(name.clone(), ty.clone());
            names.push(name);
        }
        self.scope.end_params();
        let body = self.block(&ret, 6, Some(&names));
        texts.extend(self.weights.take().unwrap_or_default());
        let attrs = self.func_attrs();
        texts.extend(attrs);
        let params = self.list(texts);
        let type_params = if type_params.is_empty() { String::new() } else { format!("[{}]", self.list(type_params)) };
        let arrow = ["->", "- >"][usize::from(self.once_in(12))];
        let ret = if says_ret { format!(" {arrow} {}", self.ty(&ret)) } else { String::new() };
        text.push_str(&format!("def @{name}{type_params}({params}){ret} {{\n{body}\n}}{}\n", self.comment()));
    }

    /// `%x {virtual_device=…}: T`.
    fn param(&mut self, name: &str, ty: &Ty) -> String {
        let device = match self.once_in(40) {
            true => format!(" {{virtual_device={}}}", self.meta.device()),
            false => String::new(),
        };
        format!("{name}{device}: {}", self.ty(ty))
    }

    fn func_attrs(&mut self) -> Vec<String> {
        const KEYS: [&str; 8] =
            ["Primitive", "hash", "Compiler", "relay.reshape_only", "global_symbol", "T.b", "Inline", "PartitionedFromPattern"];
        let mut attrs = Vec::new();
        if self.once_in(6) {
            let start = self.choose(KEYS.len());
            for i in 0..1 + self.choose(KEYS.len() - 1) {
                let value = self.attr_value(0);
                attrs.push(format!("{}={value}", KEYS[(start + i) % KEYS.len()]));
            }
        }
        attrs
    }

    /// Items with commas between them, some of which may be left out after the first (language 2).
    fn list(&mut self, items: Vec<String>) -> String {
        let style = self.choose(24);
        let mut out = String::new();
        for (i, item) in items.iter().enumerate() {
            // What begins with a parenthesis would be taken for the arguments of what stands before it.
            let may_miss = style == 23 && i > 1 && !item.starts_with(['(', '-']);
            out.push_str(match (i, may_miss) {
                (0, _) => "",
                (_, true) => " ",
                _ if style == 22 => " /* , */ ,\n",
                _ => ", ",
            });
            out.push_str(item);
        }
        if style == 21 && !items.is_empty() {
            out.push(',');
        }
        out
    }

    /// Now and then a comment, or a line break; most often nothing.
    fn comment(&mut self) -> &'static str {
        const COMMENTS: [&str; 8] = [
            " // to the end of the line; }\n",
            " /* one */",
            " /* ty=Tensor[(2), float32] span=x:1:2 */",
            " /* nested /* twice /* thrice */ */ \" */",
            "\n\t\r\n  ",
            " /**/",
            "\n// é \u{1F600} /*\n",
            " /* ** * / */",
        ];
        match self.choose(96) {
            at if at > 0 && at <= COMMENTS.len() => COMMENTS[at - 1],
            _ => "",
        }
    }
}
