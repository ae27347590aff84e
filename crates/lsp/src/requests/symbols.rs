//! The symbols of a text: its functions with their parameters, its types with their constructors. Those of texts that were only parsed
//! are for the index of the workspace.

use super::Cx;
use crate::text::Text;
use lsp_types::{DocumentSymbol, DocumentSymbolParams, DocumentSymbolResponse, Range, SymbolInformation, SymbolKind};
use relayc_base::Span;
use relayc_check::resolve::Meaning;
use relayc_syntax::ast::{Ast, Def};

pub(super) fn symbols(cx: &mut Cx, _: DocumentSymbolParams) -> Option<DocumentSymbolResponse> {
    let ast = cx.checked.ast();
    let nested: Vec<DocumentSymbol> = ast.defs.iter().map(|def| definition(cx, def)).collect();
    if cx.client.nested_symbols {
        return Some(DocumentSymbolResponse::Nested(nested));
    }
    let mut flat = vec![];
    for symbol in nested {
        let container = symbol.name.clone();
        flat.push(information(cx, &symbol, None));
        flat.extend(symbol.children.iter().flatten().map(|child| information(cx, child, Some(container.clone()))));
    }
    Some(DocumentSymbolResponse::Flat(flat))
}

fn definition(cx: &Cx, def: &Def) -> DocumentSymbol {
    let ast = cx.checked.ast();
    match def {
        Def::Func { span, name, func } => {
            let params = ast.items(ast.funcs[*func].params);
            let children = params.iter().map(|param| symbol(cx, param.name, param.span, SymbolKind::VARIABLE, vec![])).collect();
            symbol(cx, *name, *span, SymbolKind::FUNCTION, children)
        }
        Def::Type { span, name, ctors, .. } => {
            let ctors = ast.items(*ctors);
            let children = ctors.iter().map(|ctor| symbol(cx, ctor.name, ctor.span, SymbolKind::ENUM_MEMBER, vec![])).collect();
            symbol(cx, *name, *span, SymbolKind::ENUM, children)
        }
    }
}

fn symbol(cx: &Cx, name: Span, whole: Span, kind: SymbolKind, children: Vec<DocumentSymbol>) -> DocumentSymbol {
    #[allow(deprecated, reason = "the field must be there")]
    DocumentSymbol {
        name: cx.checked.slice(name).to_owned(),
        detail: detail(cx, name),
        kind,
        tags: None,
        deprecated: None,
        range: cx.range(whole.to(name)),
        selection_range: cx.range(name),
        children: (!children.is_empty()).then_some(children),
    }
}

/// The type of what is bound at a name; of a function its result.
fn detail(cx: &Cx, name: Span) -> Option<String> {
    let mention = cx.checked.mention_at(name.start).filter(|mention| mention.span == name)?;
    let is_shown = matches!(mention.meaning, Meaning::Local(_) | Meaning::Global(_));
    let ty = cx.checked.ty(mention.meaning).filter(|_| is_shown)?;
    const MAX: usize = 80;
    Some(crate::words::short(cx.checked, ty, MAX))
}

fn information(cx: &Cx, symbol: &DocumentSymbol, container: Option<String>) -> SymbolInformation {
    #[allow(deprecated, reason = "the field must be there")]
    SymbolInformation {
        name: symbol.name.clone(),
        kind: symbol.kind,
        tags: None,
        deprecated: None,
        location: lsp_types::Location { uri: cx.uri.clone(), range: symbol.range },
        container_name: container,
    }
}

/// A symbol that may be looked for in the whole workspace.
pub(crate) struct Found {
    pub(crate) name: String,
    pub(crate) kind: SymbolKind,
    /// Where its name is bound.
    pub(crate) range: Range,
    /// The type of a constructor.
    pub(crate) container: Option<String>,
}

/// The functions, types and constructors of a text.
pub(crate) fn symbols_of(ast: &Ast, text: &Text) -> Vec<Found> {
    let mut found = vec![];
    let mut add = |name: Span, kind: SymbolKind, container: Option<&str>| {
        let container = container.map(str::to_owned);
        found.push(Found { name: ast.text(name).to_owned(), kind, range: text.range(name), container });
    };
    for def in &ast.defs {
        match def {
            Def::Func { name, .. } => add(*name, SymbolKind::FUNCTION, None),
            Def::Type { name, ctors, .. } => {
                add(*name, SymbolKind::ENUM, None);
                ast.items(*ctors).iter().for_each(|ctor| add(ctor.name, SymbolKind::ENUM_MEMBER, Some(ast.text(*name))));
            }
        }
    }
    found
}
