//! The pipeline of every command: read, parse, resolve, infer, run on the interpreter.
//!
//! Promises that a step never stops at the first error, and that the next step runs only if the last one found none. Reads and
//! writes files with `relayc-sys`. Absent: machine code (`relayc-engine`) and the command line.

pub mod bind;
pub mod compare;
pub mod config;
pub mod detect;
pub mod draw;
pub mod emit;
pub mod endings;
pub mod error;
pub mod example;
pub mod export;
pub mod fix;
pub mod group;
pub mod import;
mod input_names;
pub mod inputs;
pub mod inspect;
pub mod lint;
pub mod manual;
mod misplaced;
pub mod model;
pub mod optimise;
pub mod outputs;
mod package;
pub mod params;
pub mod programs;
pub mod quantize;
pub mod reduce;
pub mod run;
pub mod show;
pub mod sized;
mod sizes;
pub mod specialise;
pub mod steps;
pub mod tensors;
pub mod timings;
pub mod top;
pub mod viz;
mod written;

pub use package::left_open;
use relayc_base::diag::{self, Code, Diagnostic, Edit, codes};
use relayc_base::limits::DIAGNOSTICS;
use relayc_base::{FileId, Sources, Span};
use relayc_check::infer::{self, Clean, DimOrigins};
use relayc_check::resolve::{self, Mention};
use relayc_ir::Module;
use relayc_ops as ops;
use relayc_syntax as syntax;
pub use relayc_syntax::Dialect;
use relayc_syntax::Parsed;
use relayc_syntax::ast::{Ast, ExprKind};
use relayc_syntax::lexer::{self, Lexed};
use relayc_syntax::walk::Node;
use relayc_sys as sys;
use relayc_weights::foreign::PROGRAM;
use std::path::Path;
use std::sync::Arc;
use timings::Timings;

/// A program, as far as it was understood.
#[derive(Clone)]
pub struct Program {
    /// The last text is its own; that of a model stands before it.
    pub sources: Sources,
    pub module: Module,
    /// In text order.
    pub diagnostics: Vec<Diagnostic>,
    /// The time of each step so far.
    pub timings: Timings,
    /// The weights that came with it.
    pub packed: bind::Packed,
}

impl Program {
    pub fn has_errors(&self) -> bool {
        diag::has_errors(&self.diagnostics)
    }

    /// Its text, of which there is none for one that could not be read.
    pub fn text(&self) -> Option<&Arc<str>> {
        self.sources.files().next_back().map(|file| &file.text)
    }
}

/// The options for reading a program.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    pub dialect: Dialect,
    /// The level of each lint.
    pub levels: lint::Levels,
    /// `--set`: sizes for dynamic dimensions of the parameters of `entry`.
    pub set: Vec<String>,
    pub entry: String,
    /// `--external-data`: whether the parts of a model in other files of its folder are read.
    pub external_data: bool,
    /// The weights that belong to the program, which the lints compare with the parameters of `entry`.
    pub weights: Option<config::Weights>,
}

impl ReadOptions {
    /// The options of every command without flags.
    pub fn of(dialect: Dialect) -> ReadOptions {
        let (levels, entry) = (lint::Levels::default(), "main".to_owned());
        ReadOptions { dialect, levels, set: vec![], entry, external_data: false, weights: None }
    }
}

/// The last step to run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Phase {
    /// Parse the text; the module stays empty.
    Parse,
    /// Resolve names.
    Resolve,
    /// Infer types, except for a bare expression, which TVM does not infer either.
    InferModule,
    /// Infer types.
    Infer,
    /// Turn a bare expression into `@main` of a module, and infer types.
    Main,
    /// Infer types, and run the lints on a program without errors.
    Lint,
}

/// Reads and checks a file; `-` is standard input. An archive in Model Library Format gives its program with its weights, and so
/// does an ONNX model.
pub fn check_file(path: &Path, until: Phase, how: &ReadOptions) -> Program {
    checked_file(path, until, how).unwrap_or_else(|unread| *unread)
}

/// As [`check_file`]. Errors: those of a file in which there is no program.
pub fn read_file(path: &Path, until: Phase, how: &ReadOptions) -> Result<Program, error::Error> {
    checked_file(path, until, how).map_err(|unread| error::Error::new(unread.diagnostics, &unread.sources))
}

/// The program of a file; `Err` if there is none, for which an empty one says why.
fn checked_file(path: &Path, until: Phase, how: &ReadOptions) -> Result<Program, Box<Program>> {
    let mut sources = Sources::new();
    let mut timings = Timings::default();
    let read = timings.time("read", || match package::open(path, how, &mut sources)? {
        Some(package) => Ok((package.file, Some(package))),
        None => read_source(path, &mut sources).map(|file| (file, None)),
    });
    let (file, package) = match read {
        Ok(read) => read,
        Err(diagnostics) => {
            let (module, packed) = (Module::new(), bind::Packed::default());
            return Err(Box::new(Program { sources, module, diagnostics, timings, packed }));
        }
    };
    let left = package.as_ref().map(|package| ReadOptions { set: package.set.clone(), ..how.clone() });
    let mut program = check(sources, file, until, left.as_ref().unwrap_or(how), timings);
    if let Some(mut package) = package {
        program.diagnostics.append(&mut package.warnings);
        // TVM leaves the version line out there.
        program.diagnostics.retain(|diagnostic| diagnostic.code != codes::W0001);
        if matches!(until, Phase::Infer | Phase::Main) && !program.has_errors() {
            program.packed = package.weights(&program.module);
        }
    }
    Ok(program)
}

/// Checks a text.
pub fn check_text(name: &str, text: &str, until: Phase) -> Program {
    check_text_as(name, text, until, &ReadOptions::of(Dialect::Today))
}

/// Checks a text with other options.
pub fn check_text_as(name: &str, text: &str, until: Phase, how: &ReadOptions) -> Program {
    let mut sources = Sources::new();
    let file = sources.add(name, text);
    check(sources, file, until, how, Timings::default())
}

fn check(sources: Sources, file: FileId, until: Phase, how: &ReadOptions, timings: Timings) -> Program {
    let text = sources.file(file).expect("it was added").text.clone();
    let mut program = Program { sources, module: Module::new(), diagnostics: vec![], timings, packed: bind::Packed::default() };
    let (ast, diagnostics) = program.timings.time("parse", || syntax::parse_as(file, text, how.dialect));
    program.diagnostics = diagnostics;
    if how.dialect == Dialect::Old {
        // Old calls were rewritten: messages show the text that was read.
        program.sources.replace(file, ast.source.clone());
    }
    if until > Phase::Parse {
        let (module, found) = program.timings.time("resolve", || resolve::resolve(&ast, ops::table()));
        program.module = module;
        finish(&mut program, (file, &ast), found, until, how, |module, text| {
            let infer = if how.set.is_empty() { infer::infer_text } else { infer::infer_sized };
            infer(module, ops::table(), text)
        });
    }
    program
}

/// A program with its tree and what its names mean, for tools that show and follow them.
pub struct Analysis {
    pub program: Program,
    /// The tokens as written.
    pub lexed: Lexed,
    pub ast: Arc<Ast>,
    /// In text order.
    pub mentions: Vec<Mention>,
    pub origins: DimOrigins,
    /// How many functions were inferred; the others have the types of an earlier form of the text.
    pub n_inferred: usize,
    clean: Clean,
    /// Of this form of the text, or of the last one that was understood.
    parsed: Option<Arc<Parsed>>,
    /// The last form of the text whose tokens are whole, and they.
    whole: Option<(Arc<str>, Lexed)>,
}

/// Checks a text as [`Phase::Lint`] does, and keeps what was found on the way.
pub fn analyse(name: &str, text: &str, how: &ReadOptions) -> Analysis {
    analyse_again(name, text.into(), how, None)
}

/// As [`analyse`], with the analysis of an earlier form of the text: what has not changed is not found again. The result does not depend
/// on it.
pub fn analyse_again(name: &str, text: Arc<str>, how: &ReadOptions, earlier: Option<&Analysis>) -> Analysis {
    let mut sources = Sources::new();
    let file = sources.add(name, text.clone());
    let whole = earlier.and_then(|earlier| earlier.whole.as_ref());
    let lexed = lexer::lex_again(file, &text, whole.map(|(text, lexed)| (&**text, lexed)));
    let whole = if lexed.has_no_problem() { Some((text.clone(), lexed.clone())) } else { whole.cloned() };
    let known = earlier.and_then(|earlier| earlier.parsed.clone());
    let (ast, diagnostics, parsed) = syntax::parse_again(file, text, how.dialect, lexed.clone(), known.as_deref());
    // While a text is broken, the last form that was understood stays the one to start from.
    let parsed = match (parsed, known) {
        (Some(parsed), Some(known)) if parsed.is_poorer_than(&known) => Some(known),
        (Some(parsed), _) => Some(Arc::new(parsed)),
        (None, known) => known,
    };
    let (module, found, mentions) = resolve::resolve_with_mentions(&ast, ops::table());
    let packed = bind::Packed::default();
    let mut program = Program { sources, module, diagnostics, timings: Timings::default(), packed };
    let (mut origins, mut clean, mut n_inferred) = (DimOrigins::default(), Clean::default(), 0);
    finish(&mut program, (file, &ast), found, Phase::Lint, how, |module, text| {
        let earlier = earlier.map(|earlier| infer::Earlier {
            module: &earlier.program.module,
            origins: &earlier.origins,
            clean: &earlier.clean,
        });
        let found = infer::infer_again(module, ops::table(), text, earlier);
        (origins, clean, n_inferred) = (found.origins, found.clean, found.n_inferred);
        found.errors
    });
    Analysis { program, lexed, ast, mentions, origins, n_inferred, clean, parsed, whole }
}

/// The steps after names were resolved, with what that reported.
fn finish(
    program: &mut Program,
    (file, ast): (FileId, &Ast),
    mut found: Vec<Diagnostic>,
    until: Phase,
    how: &ReadOptions,
    infer: impl FnOnce(&mut Module, &str) -> (Vec<Diagnostic>, usize),
) {
    let Program { sources, module, diagnostics, timings, .. } = program;
    // A string or a list among the arguments is an attribute without its name where the operator has one.
    let named: Vec<Span> = found.iter().filter(|d| d.code == codes::E0302).map(Diagnostic::span).collect();
    let is_named = |span: Span| named.iter().any(|all| all.start <= span.start && span.end <= all.end);
    diagnostics.retain(|d| d.code != codes::E0105 || !is_named(d.span()));
    if diag::has_errors(diagnostics) {
        // Definitions in text that was not understood are lost: what they define only seems unknown.
        // A name that is not called may be a variable without its sign, whose binding was not understood.
        let is_called = |d: &Diagnostic| ast.source[d.span().end as usize..].trim_start().starts_with('(');
        let is_lost = |d: &Diagnostic| d.code == codes::E0204 && d.helps.is_empty() && !d.span().is_none() && !is_called(d);
        found.retain(|d| !LOST_WITH_TEXT.contains(&d.code) && !is_lost(d));
    }
    let misread: Vec<(FileId, usize)> = diagnostics.iter().filter(|d| d.is_error()).filter_map(|d| line(sources, d)).collect();
    // A call that was not understood in full only seems to lack what was left out. The syntax errors themselves stay.
    let wrong: Vec<Span> = diagnostics.iter().filter(|d| d.is_error()).map(Diagnostic::span).collect();
    let is_wrong_inside = |d: &Diagnostic| wrong.iter().any(|&place| is_inside(place, d.span()));
    let follows = |d: &Diagnostic| {
        let is_misread = MISREAD.contains(&d.code) && line(sources, d).is_some_and(|line| misread.contains(&line));
        // A list whose brackets were mended may have become another value than was meant; a fix mends both.
        is_misread || (d.code == codes::E0403 && d.helps.is_empty() && is_wrong_inside(d))
    };
    found.retain(|d| !follows(d));
    diagnostics.extend(found);
    let bare = !matches!(module.root, relayc_ir::Root::Globals);
    let infer_wanted = match until {
        Phase::Parse | Phase::Resolve => false,
        Phase::InferModule => !bare,
        Phase::Infer | Phase::Main | Phase::Lint => true,
    };
    if until == Phase::Main {
        module.wrap_as_main();
    }
    let mut n_dropped = 0;
    let unset = if infer_wanted { specialise::specialise(module, &how.entry, &how.set) } else { vec![] };
    if !unset.is_empty() {
        diagnostics.extend(unset);
    } else if infer_wanted {
        let (found, more) = timings.time("infer", || infer(module, &ast.source));
        n_dropped += more;
        let unclosed: Vec<u32> = diagnostics.iter().filter(|d| d.code == codes::E0103).flat_map(insertions).collect();
        diagnostics.extend(found.into_iter().filter(|d| !follows(d) && !is_open_match(ast, d, &unclosed)));
    }
    if until == Phase::Lint && !diag::has_errors(diagnostics) {
        let mut found = lint::run(file, &ast.source, ast, module, &how.levels);
        // What cannot be reached is not also called unused.
        found.retain(|lint| diagnostics.iter().all(|said| said.span() != lint.span()));
        diagnostics.extend(found);
        diagnostics.extend(how.weights.iter().flat_map(|weights| weights.check(module, &how.entry)));
    }
    // A rule that suggests a value does not know that the value is there already.
    let changes = |edit: &Edit| ast.source.get(edit.span.start as usize..edit.span.end as usize) != Some(&edit.text);
    for diagnostic in diagnostics.iter_mut() {
        diagnostic.helps.retain(|help| help.edits.is_empty() || help.edits.iter().any(changes));
    }
    lint::apply_comments(file, ast, &how.levels, diagnostics, until == Phase::Lint);
    how.levels.apply(diagnostics);
    diag::sort_and_limit(diagnostics, DIAGNOSTICS.count(), n_dropped);
}

fn is_inside(place: Span, of: Span) -> bool {
    place.file == of.file && of.start <= place.start && place.end <= of.end
}

/// The places where a fix inserts text.
fn insertions(diagnostic: &Diagnostic) -> impl Iterator<Item = u32> {
    let edits = diagnostic.helps.iter().flat_map(|help| &help.edits);
    edits.filter(|edit| edit.span.start == edit.span.end).map(|edit| edit.span.start)
}

/// Whether a report is of a `match` without its closing bracket that lacks cases: its clauses are still being written.
fn is_open_match(ast: &Ast, report: &Diagnostic, unclosed: &[u32]) -> bool {
    let at = report.span();
    let is_open = |node: &Node| {
        let Node::Expr(expr) = node else { return false };
        let expr = &ast.exprs[*expr];
        let ExprKind::Match { scrutinee, .. } = expr.kind else { return false };
        is_inside(at, ast.exprs[scrutinee].span) && unclosed.contains(&expr.span.end)
    };
    report.code == codes::E0311 && !unclosed.is_empty() && ast.path(at.start).iter().any(is_open)
}

/// Errors that missing text can cause.
const LOST_WITH_TEXT: [Code; 5] = [codes::E0102, codes::E0201, codes::E0202, codes::E0203, codes::E0208];

/// Errors that a syntax error in their line can cause.
const MISREAD: [Code; 3] = [codes::E0204, codes::E0302, codes::E0402];

/// The line of a diagnostic.
fn line(sources: &Sources, diagnostic: &Diagnostic) -> Option<(FileId, usize)> {
    let span = diagnostic.span();
    sources.line_col(span).map(|(line, _)| (span.file, line))
}

/// Reads the text of a file or of standard input; reports invalid bytes.
pub fn read_source(path: &Path, sources: &mut Sources) -> Result<FileId, Vec<Diagnostic>> {
    let name = if sys::is_standard(path) { sys::STDIN.to_owned() } else { path.display().to_string() };
    let bytes = sys::read_file_if(path, sys::Limit::source(), &|start| misplaced::no_binary(&name, start));
    let bytes = bytes.map_err(|diagnostic| vec![too_long(path, &name).unwrap_or(diagnostic)])?;
    if let Some(misplaced) = misplaced::no_text(&name, &bytes) {
        return Err(vec![misplaced]);
    }
    let (text, reports) = syntax::decode(sources.next_id(), &bytes);
    let file = sources.add(name, text);
    if reports.is_empty() { Ok(file) } else { Err(reports) }
}

/// E0725 for a file that could not be read as a text, such as one that is too long, if it begins as another kind of file.
fn too_long(path: &Path, name: &str) -> Option<Diagnostic> {
    if name == sys::STDIN || !path.is_file() {
        return None;
    }
    let start = sys::open_file(path, sys::Limit::data()).and_then(|file| file.start::<512>()).ok()?;
    misplaced::misplaced(name, &start, PROGRAM)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Functions of a few operators; each third calls the one above it.
    fn functions(n: usize) -> String {
        let mut text = String::from("#[version = \"0.0.5\"]\n");
        for i in 0..n {
            let last = if i % 3 == 1 { format!("@f{}(%x, %w)", i - 1) } else { "tanh(%y)".to_owned() };
            text.push_str(&format!(
                "def @f{i}(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) {{\n  %0 = nn.dense(%x, %w, units=4);\n  \
                 let %y = nn.relu(%0);\n  (%y, {last})\n}}\n"
            ));
        }
        text
    }

    fn again(text: &str, earlier: Option<&Analysis>) -> Analysis {
        analyse_again("test", text.into(), &ReadOptions::of(Dialect::Today), earlier)
    }

    /// All that inference found, as text.
    fn found(analysis: &Analysis) -> String {
        let module = &analysis.program.module;
        let ty = |ty: Option<relayc_ir::types::Ty>| ty.map_or("-".to_owned(), |ty| module.types.text(ty));
        let exprs = module.exprs.ids().map(|expr| ty(module.expr_tys.get(expr).copied().flatten()));
        let vars = module.vars.iter().map(|var| format!("{} {}", ty(var.ty), ty(var.checked_ty)));
        let funcs = module.funcs.iter().map(|func| ty(func.ret));
        let mut origins: Vec<String> = format!("{:?}", analysis.origins).split("), ").map(str::to_owned).collect();
        origins.sort();
        let lines: Vec<String> = exprs.chain(vars).chain(funcs).chain(origins).collect();
        format!("{}\n{:?}", lines.join("\n"), analysis.program.diagnostics)
    }

    #[test]
    fn a_change_infers_its_function_and_those_whose_callees_changed() {
        let text = functions(100);
        let earlier = again(&text, None);
        assert_eq!((earlier.n_inferred, earlier.program.diagnostics.len()), (100, 0));
        let inferred = |from: &str, to: &str| {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text);
            let now = again(&changed, Some(&earlier));
            assert!(found(&now) == found(&again(&changed, None)), "`{to}`");
            now.n_inferred
        };
        assert_eq!(inferred("def @f0", "// Above all of them.\ndef @f0"), 0);
        assert_eq!(inferred("def @f50(", "def @g50("), 1);
        assert_eq!(inferred("nn.relu(%0)", "sigmoid(%0)"), 1);
        // Another result is another signature.
        assert_eq!(inferred("nn.relu(%0)", "(%0, %0)"), 2);
        assert_eq!(inferred("(%y, tanh(%y))", "(%y, tanh(%0), %y)"), 2);
        // A mistake stays in its function as long as its result is known.
        assert_eq!(inferred("%0 = nn.dense(%x, %w, units=4)", "%0 = nn.dense(%x, %x, units=4)"), 2);
    }
}
