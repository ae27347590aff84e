//! Executables of programs with open dimensions: compiled once for each size of their inputs, when a call comes with it.
//!
//! * *Before sizes are known*, the passes run that see more than layouts and groups. So constants are folded once, and every size
//!   starts from the same tensors. If numbers give no pass more to do, operators are grouped once as well.
//! * *A size* is the shapes of all inputs. Its program is the open one with numbers for its dimensions, compiled like any other,
//!   and gives the same bytes as if these had been in its text. It is kept, up to [`super::library::Options::sizes`] of them,
//!   and the least recently used goes first. A call with a size that is kept looks it up, and does nothing else.
//! * *Weights* are packed once for all sizes, and kernels that are the same at several sizes have their code once
//!   (`relayc_exec::shared`).
//! * *Memory* of runs belongs to a session, and grows to what its largest size needs.
//!
//! Whoever calls first with a size compiles it; who comes meanwhile with the same size waits, with another one that is kept runs.
//! A size that is refused leaves nothing behind. Sizes that grow by the same step are compiled one ahead ([`ahead`]). Absent:
//! buckets of sizes; each has code of its own.

mod ahead;

use super::compile::{self, Compiled, OfSizes, Refused, Settings};
use super::library::{Error, Inner, Network, Options, Session};
use ahead::Ahead;
use relayc_base::Sources;
use relayc_base::diag::Diagnostic;
use relayc_check::infer::TypeClasses;
use relayc_codegen::pool::Pool;
use relayc_driver::Program;
use relayc_driver::bind::{Slot, fit_shapes, leaves};
use relayc_driver::optimise::{self, PassPlan};
use relayc_driver::run::{self, Entry, Limits};
use relayc_driver::specialise::{dataflow_to_shapes, to_shapes};
use relayc_exec::constants::Keep;
use relayc_exec::plan::{GroupPlans, NotCompiled, Structure};
use relayc_exec::program::Workspace;
use relayc_exec::shared::Shared;
use relayc_ir::attrs::AttrValue;
use relayc_ir::types::{DType, Dim};
use relayc_ir::{FuncId, Module};
use relayc_passes as passes;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An entry for inputs of any size, with the code of the sizes that it was called with. Clones share it.
///
/// ```
/// # use relayc_engine::library as relayc;
/// use relayc::{bytes_of, bytes_of_mut};
///
/// let network = relayc::Network::parse("net.relay", "def @main(%x: Tensor[(n, 2), float32]) { sum(%x, axis=[1]) }")?;
/// let executable = network.compile_open(&relayc::Options::default())?;
/// assert_eq!(executable.inputs()[0].dims, ["n", "2"]);
///
/// let mut session = executable.session();
/// for n in [1, 3, 1] {
///     let (x, mut out) = (vec![0.5f32; 2 * n], vec![0f32; n]);
///     let session = session.at(&[&[n as u64, 2]])?;
///     assert_eq!(session.outputs()[0].shape, [n as u64]);
///     session.run(&[bytes_of(&x)], &mut [bytes_of_mut(&mut out)])?;
///     assert!(out.iter().all(|&out| out == 1.0));
/// }
/// assert_eq!(executable.n_sizes(), 2);
/// # Ok::<(), relayc::Error>(())
/// ```
#[derive(Clone)]
pub struct OpenExecutable {
    open: Arc<Open>,
}

/// An input whose dimensions a call gives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenPort {
    /// As in [`super::library::Port`].
    pub name: String,
    /// The type of its elements.
    pub dtype: DType,
    /// The extent of each axis: a number, the name of a size, an expression of such names, or `?`.
    pub dims: Vec<String>,
}

struct Open {
    sources: Sources,
    /// Optimized as far as it can be without sizes.
    module: Module,
    /// The same in groups, if these are those of any size.
    grouped: Option<Grouped>,
    entry: String,
    slots: Vec<Slot>,
    inputs: Vec<OpenPort>,
    /// The names of the outputs.
    results: Vec<String>,
    settings: Settings,
    limits: Limits,
    shared: Shared,
    cache: Mutex<Cache>,
    max_sizes: usize,
}

/// A program in groups, and what is found out about it once for all sizes.
struct Grouped {
    module: Arc<Module>,
    classes: TypeClasses,
    structure: Structure,
    /// A clone of the module with the numbers of some size. To replace them costs less than another clone.
    spare: Mutex<Option<Module>>,
}

/// The number for every size of the program that packs the weights.
const ANY_SIZE: i64 = 2;

/// The shapes of the inputs in order, each preceded by its rank.
type Key = Box<[u64]>;

#[derive(Default)]
struct Cache {
    sizes: FxHashMap<Key, Kept>,
    /// Counter of calls.
    now: u64,
}

/// A size, which its first caller compiles, and its sessions that no caller uses.
///
/// A call with a size that is kept touches little memory: the run before it has filled all caches. So there is one lock, sessions
/// stay where they are whoever has them, and one of them is not behind the list of the others.
struct Kept {
    size: Place,
    used: u64,
    idle: Option<Box<Session>>,
    #[expect(clippy::vec_box, reason = "moving a session costs more than the list of them")]
    others: Vec<Box<Session>>,
}

#[derive(Clone)]
enum Place {
    /// Somebody compiles it, and others wait.
    Open(Arc<Mutex<Option<Arc<Inner>>>>),
    Taken(Arc<Inner>),
}

impl Network {
    /// Compiles an entry whose inputs have dimensions that each call gives, and which may be known as well.
    ///
    /// Its code is made once for each size, its weights are packed once for all of them. Errors: those of [`Network::compile`]
    /// that do not depend on sizes.
    pub fn compile_open(&self, options: &Options) -> Result<OpenExecutable, Error> {
        OpenExecutable::of(&self.program, options, options.settings()?)
    }
}

impl OpenExecutable {
    fn of(program: &Program, options: &Options, settings: Settings) -> Result<OpenExecutable, Error> {
        let sources = program.sources.clone();
        let wrong = |diagnostic| Error::new(vec![diagnostic], &program.sources);
        let slots = run::entry(&program.module, &options.entry).map_err(wrong)?.slots;
        let mut inputs = vec![];
        for slot in &slots {
            let leaves = leaves::leaves(&slot.name, slot.ty, &program.module.types).map_err(|_| {
                wrong(run::not_compiled(&options.entry, &format!("`{}` is neither a tensor nor a tuple of tensors", slot.name)))
            })?;
            inputs.extend(leaves.into_iter().map(|leaf| OpenPort { dims: leaf.dim_texts(), name: leaf.name, dtype: leaf.dtype }));
        }
        let mut module = program.module.clone();
        let how = compile::how(&options.entry, &settings);
        let before = PassPlan { passes: passes::before_sizes(settings.level), ..how.clone() };
        optimise::optimise(&mut module, &before, &mut ()).map_err(wrong)?;
        let Entry { slots, results, .. } = run::entry(&module, &options.entry).map_err(wrong)?;
        let shared = Shared::of(module.consts.iter());
        let how = PassPlan { passes: passes::with_sizes(settings.level), ..how };
        let grouped = grouped(&module, how, &shared.groups).map_err(wrong)?;
        let (entry, max_sizes) = (options.entry.clone(), options.sizes.max(1));
        let cache = Mutex::default();
        let limits = options.limits();
        let open = Open { sources, module, grouped, entry, slots, inputs, results, settings, limits, shared, cache, max_sizes };
        open.pack_weights();
        Ok(OpenExecutable { open: Arc::new(open) })
    }

    /// The inputs of a run, in order.
    pub fn inputs(&self) -> &[OpenPort] {
        &self.open.inputs
    }

    /// Starts threads for runs. Sessions are independent of each other.
    pub fn session(&self) -> OpenSession {
        let workspace = Workspace::for_sizes(Arc::new(Pool::new(self.open.settings.threads)));
        OpenSession { open: self.open.clone(), workspace: Some(workspace), key: vec![], current: None, ahead: Ahead::default() }
    }

    /// Number of sizes whose code is kept.
    pub fn n_sizes(&self) -> usize {
        self.open.cache().sizes.len()
    }

    /// Bytes of the packed weights that sizes share.
    pub fn weight_bytes(&self) -> u64 {
        self.open.shared.weight_bytes()
    }
}

impl Open {
    fn cache(&self) -> MutexGuard<'_, Cache> {
        locked(&self.cache)
    }

    /// Whether a size has its code, or somebody makes it.
    fn keeps(&self, key: &[u64]) -> bool {
        self.cache().sizes.contains_key(key)
    }

    /// Packs the weights that all sizes share, for which a size is compiled and dropped. What cannot be compiled for that size
    /// packs its weights when it is called.
    fn pack_weights(&self) {
        if self.grouped.is_none() {
            return;
        }
        let types = &self.module.types;
        let leaves = self.slots.iter().flat_map(|slot| leaves::leaves(&slot.name, slot.ty, types).unwrap_or_default());
        let length = |dim: &Dim| types.symbols.evaluate(*dim, &|_| Some(ANY_SIZE)).and_then(|length| u64::try_from(length).ok());
        let shapes = leaves.map(|leaf| leaf.dims.iter().map(length).collect());
        let Some(shapes) = shapes.collect::<Option<Vec<Vec<u64>>>>() else { return };
        let _ = self.compiled(&shapes.iter().map(Vec::as_slice).collect::<Vec<_>>());
    }

    /// The program of a size, compiled at its first call.
    #[cold]
    fn size(&self, key: &[u64], shapes: &[&[u64]]) -> Result<Arc<Inner>, Error> {
        let place = match self.cache().place(key, self.max_sizes) {
            Place::Open(place) => place,
            Place::Taken(inner) => return Ok(inner),
        };
        let mut size = locked(&place);
        if let Some(inner) = &*size {
            return Ok(inner.clone());
        }
        let compiled = self.compiled(shapes).map_err(|diagnostic| {
            self.cache().sizes.remove(key);
            Error::new(vec![*diagnostic], &self.sources)
        })?;
        let compiled = Arc::new(compiled);
        *size = Some(compiled.clone());
        if let Some(kept) = self.cache().sizes.get_mut(key) {
            kept.size = Place::Taken(compiled.clone());
        }
        Ok(compiled)
    }

    fn compiled(&self, shapes: &[&[u64]]) -> Result<Inner, Box<Diagnostic>> {
        let shapes: Vec<Vec<usize>> = shapes.iter().map(|shape| shape.iter().map(|&dim| dim as usize).collect()).collect();
        let shapes: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
        fit_shapes(&self.slots, &self.module.types, &shapes)?;
        if let Some(inner) = self.of_groups(&shapes)? {
            return Ok(inner);
        }
        let mut module = self.module.clone();
        let func = self.func(&module)?;
        if let Err(wrong) = to_shapes(&mut module, func, &shapes) {
            let unknown = || run::not_compiled(&self.entry, NotCompiled::UnknownShape.text());
            return Err(Box::new(wrong.into_iter().next().unwrap_or_else(unknown)));
        }
        let how = compile::how(&self.entry, &self.settings);
        let mut own = module.clone();
        Inner::compiled(&module, &self.entry, (&self.settings, &self.limits), || self.compile(&mut own, &how, None))
    }

    /// The program of a size from the groups of all sizes. `None` if there are no such groups, or they are not for this size.
    fn of_groups(&self, shapes: &[&[usize]]) -> Result<Option<Inner>, Box<Diagnostic>> {
        let Some(grouped) = &self.grouped else { return Ok(None) };
        let mut module = grouped.open();
        let func = self.func(&module)?;
        if !dataflow_to_shapes(&mut module, func, &grouped.classes, shapes) {
            return Ok(None);
        }
        let how = PassPlan { passes: vec![], ..compile::how(&self.entry, &self.settings) };
        match self.compile(&mut module, &how, Some(grouped)) {
            Ok(compiled) => {
                grouped.give_back(module);
                let inputs = self.inputs.iter().map(|port| port.name.clone()).collect();
                Ok(Some(Inner::whole(compiled, inputs, self.results.clone())))
            }
            Err(Refused::Wrong(diagnostic)) => Err(diagnostic),
            Err(Refused::Not(_)) => Ok(None),
        }
    }

    fn func(&self, module: &Module) -> Result<FuncId, Diagnostic> {
        let global = module.find_global(&self.entry).ok_or_else(|| run::no_entry(module, &self.entry))?;
        Ok(module.globals[global].func)
    }

    fn compile(&self, module: &mut Module, how: &PassPlan, grouped: Option<&Grouped>) -> Result<Compiled, Refused> {
        let sizes = OfSizes { shared: &self.shared, open: grouped.map(|grouped| (&grouped.module, &grouped.structure)) };
        compile::compile_to(module, how, &self.settings, self.limits.clone(), Keep::All, Some(sizes))
    }
}

/// The module in groups of operators, if these are those of any size.
fn grouped(module: &Module, how: PassPlan, groups: &GroupPlans) -> Result<Option<Grouped>, Diagnostic> {
    let entry = how.entry.as_deref().unwrap_or_default();
    let Some(global) = module.find_global(entry) else { return Ok(None) };
    if !optimise::is_ready_for_any_size(module, &how, module.globals[global].func) {
        return Ok(None);
    }
    let mut module = module.clone();
    optimise::optimise(&mut module, &how, &mut ())?;
    let Some(global) = module.find_global(entry) else { return Ok(None) };
    let func = module.globals[global].func;
    let (classes, structure) = (TypeClasses::of(&mut module, func), Structure::of(&module, func, groups).ok());
    let Some((classes, structure)) = classes.zip(structure) else { return Ok(None) };
    classes.forget(&mut module);
    Ok(Some(Grouped { module: Arc::new(module), classes, structure, spare: Mutex::default() }))
}

/// A spare module has at most so many times the types of the open one: every size leaves its own.
const MOST_TYPES: usize = 8;

impl Grouped {
    /// A clone of the module. The types of its expressions may be those of another size.
    fn open(&self) -> Module {
        let Some(mut module) = locked(&self.spare).take() else { return Module::clone(&self.module) };
        for (own, open) in module.vars.iter_mut().zip(self.module.vars.iter()) {
            (own.ty, own.checked_ty) = (open.ty, open.checked_ty);
        }
        for (own, open) in module.funcs.iter_mut().zip(self.module.funcs.iter()) {
            own.ret = open.ret;
            own.attrs.clone_from(&open.attrs);
        }
        for (own, open) in module.attrs.iter_mut().zip(self.module.attrs.iter()) {
            if open.values.iter().any(has_size) {
                own.values.clone_from(&open.values);
            }
        }
        module.ctors.clone_from(&self.module.ctors);
        module
    }

    /// Takes a module for the next size, unless a program has kept it.
    fn give_back(&self, module: Module) {
        if !module.exprs.is_empty() && module.types.n_types() <= MOST_TYPES * self.module.types.n_types() {
            *locked(&self.spare) = Some(module);
        }
    }
}

fn has_size(value: &AttrValue) -> bool {
    match value {
        AttrValue::Symbol(_) => true,
        AttrValue::List(items) => items.iter().any(has_size),
        _ => false,
    }
}

impl Cache {
    /// A session of a size, which no caller uses.
    fn take(&mut self, key: &[u64]) -> Option<Box<Session>> {
        let kept = self.sizes.get_mut(key)?;
        let session = kept.idle.take().or_else(|| kept.others.pop())?;
        self.now += 1;
        kept.used = self.now;
        Some(session)
    }

    /// Puts a session of a size where any caller finds it, if the size is still kept.
    fn give_back(&mut self, key: &[u64], session: Box<Session>) {
        let Some(kept) = self.sizes.get_mut(key) else { return };
        if matches!(&kept.size, Place::Taken(inner) if Arc::ptr_eq(inner, &session.inner))
            && let Some(other) = kept.idle.replace(session)
        {
            kept.others.push(other);
        }
    }

    /// The place of a size. A new one takes that of the least recently used, if there are `max` of them.
    fn place(&mut self, key: &[u64], max: usize) -> Place {
        self.now += 1;
        if let Some(kept) = self.sizes.get_mut(key) {
            kept.used = self.now;
            return kept.size.clone();
        }
        while self.sizes.len() >= max {
            let oldest = self.sizes.iter().min_by_key(|(_, kept)| kept.used).map(|(key, _)| key.clone());
            oldest.map(|oldest| self.sizes.remove(&oldest));
        }
        let kept = Kept { size: Place::Open(Arc::default()), used: self.now, idle: None, others: vec![] };
        let size = kept.size.clone();
        self.sizes.insert(key.into(), kept);
        size
    }
}

/// Runs one after the other, of any sizes, in the same memory and threads.
pub struct OpenSession {
    open: Arc<Open>,
    /// Absent while the session of a size has it.
    workspace: Option<Workspace>,
    /// The size of the last call, and its session.
    key: Vec<u64>,
    current: Option<Box<Session>>,
    ahead: Ahead,
}

impl OpenSession {
    /// The session for inputs of these shapes; a tuple has one for each of its fields. Its first call compiles, later ones look it
    /// up. If two steps from one size to the next are equal, a thread of its own compiles the size that follows. The session is
    /// valid until the next call, and holds no values between runs.
    ///
    /// Errors: E0705 for shapes that contradict the types or each other, those of inference if the program has no types with them,
    /// E0601 if nothing can be compiled, E0803 if the system lacks memory. The session can be used after them.
    pub fn at(&mut self, shapes: &[&[u64]]) -> Result<&mut Session, Error> {
        if self.current.is_none() || !is_key_of(&self.key, shapes) {
            let mut cache = self.open.cache();
            if let Some(session) = leave(&mut self.current, &mut self.workspace) {
                cache.give_back(&self.key, session);
            }
            let again = self.ahead.step(&mut self.key, shapes);
            let found = cache.take(&self.key);
            drop(cache);
            let mut session = found.map_or_else(|| self.made(shapes), Ok)?;
            if let Some(session) = &mut session.session {
                session.enter(&mut self.workspace).map_err(|error| Error::said(*compile::too_large(error)))?;
            }
            self.current = Some(session);
            if again {
                self.ahead.compile(&self.open, &self.key);
            }
        }
        Ok(self.current.as_mut().expect("it was set"))
    }

    /// A new session of a size.
    #[cold]
    fn made(&self, shapes: &[&[u64]]) -> Result<Box<Session>, Error> {
        let inner = self.open.size(&self.key, shapes)?;
        let session = inner.session_without_memory();
        Ok(Box::new(Session { inner, session }))
    }

    /// Bytes of the memory of runs.
    pub fn bytes(&self) -> usize {
        let own = self.workspace.as_ref().map(Workspace::bytes);
        let lent = self.current.as_ref().and_then(|lent| Some(lent.session.as_ref()?.workspace()?.bytes()));
        own.or(lent).unwrap_or(0)
    }
}

impl Drop for OpenSession {
    fn drop(&mut self) {
        if let Some(session) = leave(&mut self.current, &mut self.workspace) {
            self.open.cache().give_back(&self.key, session);
        }
    }
}

/// The session of the last size, without the workspace.
fn leave(current: &mut Option<Box<Session>>, workspace: &mut Option<Workspace>) -> Option<Box<Session>> {
    let mut session = current.take()?;
    if let Some(session) = &mut session.session {
        *workspace = session.leave();
    }
    Some(session)
}

/// Whether a key is that of these shapes.
fn is_key_of(mut key: &[u64], shapes: &[&[u64]]) -> bool {
    for shape in shapes {
        let Some((&rank, rest)) = key.split_first() else { return false };
        let Some((dims, rest)) = rest.split_at_checked(shape.len()) else { return false };
        if rank != shape.len() as u64 || dims != *shape {
            return false;
        }
        key = rest;
    }
    key.is_empty()
}

/// What a panic elsewhere left is as whole as before it: changes are single.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
