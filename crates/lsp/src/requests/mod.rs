//! The requests about a text, a file each: from a checked text and the parameters to the answer.
//!
//! [`TABLE`] names every one of them. A request whose parameters cannot be read is refused with what is wrong about them.

mod actions;
mod calls;
pub(crate) mod commands;
mod completion;
mod definition;
pub(crate) mod diagnostics;
mod folding;
mod format;
mod highlight;
mod hover;
mod inlay;
mod lenses;
mod links;
mod names;
mod rename;
mod selection;
mod signature;
pub(crate) mod symbols;
mod tokens;

use crate::checked::Checked;
use crate::client::Client;
use crate::rules::Rules;
use crate::settings::Settings;
use lsp_server::ErrorCode;
use lsp_types::request as lsp;
use lsp_types::{
    DocumentChanges, Location, OneOf, OptionalVersionedTextDocumentIdentifier, Position, Range, SemanticTokens, TextDocumentEdit,
    TextEdit, Uri, WorkspaceEdit,
};
use relayc_base::Span;
use relayc_base::diag::Edit;
use serde_json::{Value, json};

/// What a request is answered from.
pub(crate) struct Cx<'a> {
    pub(crate) checked: &'a mut Checked,
    pub(crate) client: &'a Client,
    pub(crate) settings: &'a Settings,
    pub(crate) rules: &'a Rules,
    pub(crate) uri: &'a Uri,
    /// What the client calls this form of the text.
    pub(crate) version: i32,
    /// The outcomes of the tests that were run on this form of the text.
    pub(crate) outcomes: &'a [commands::Outcome],
    /// What the lines of this form of the text take, if that was asked for.
    pub(crate) heat: &'a [commands::Heat],
    /// The last answer with all semantic tokens of the text, in whatever form it was.
    pub(crate) shown_tokens: &'a mut Option<SemanticTokens>,
}

impl Cx<'_> {
    pub(crate) fn range(&self, span: Span) -> Range {
        self.checked.text.range(span)
    }

    pub(crate) fn offset(&self, position: Position) -> u32 {
        self.checked.text.offset(position)
    }

    /// The place of a range.
    pub(crate) fn span(&self, range: Range) -> Span {
        let bytes = self.checked.text.bytes(range);
        Span::new(self.checked.whole().file, bytes.start, bytes.end)
    }

    /// Edits of the text, of the version that was checked where the client can say which it has.
    pub(crate) fn workspace_edit(&self, edits: &[Edit]) -> WorkspaceEdit {
        let edits = edits.iter().map(|edit| TextEdit { range: self.range(edit.span), new_text: edit.text.clone() });
        if self.client.document_changes {
            let text_document = OptionalVersionedTextDocumentIdentifier { uri: self.uri.clone(), version: Some(self.version) };
            let edit = TextDocumentEdit { text_document, edits: edits.map(OneOf::Left).collect() };
            return WorkspaceEdit { document_changes: Some(DocumentChanges::Edits(vec![edit])), ..WorkspaceEdit::default() };
        }
        #[allow(clippy::mutable_key_type, reason = "the map of the protocol has addresses as keys")]
        let changes = std::iter::once((self.uri.clone(), edits.collect())).collect();
        WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }
    }

    pub(crate) fn location(&self, span: Span) -> Location {
        Location { uri: self.uri.clone(), range: self.range(span) }
    }
}

/// An answer, or why there is none.
type Answer = Result<Value, (ErrorCode, String)>;

type Handler = fn(&mut Cx, Value) -> Answer;

/// A request that was refused, in words.
pub(crate) type Refusal = String;

/// Reads the parameters, answers, and writes the answer.
fn on<R: lsp::Request>(cx: &mut Cx, params: Value, answer: fn(&mut Cx, R::Params) -> R::Result) -> Answer {
    try_on::<R>(cx, params, |cx, params| Ok(answer(cx, params)))
}

fn try_on<R: lsp::Request>(
    cx: &mut Cx,
    params: Value,
    answer: impl FnOnce(&mut Cx, R::Params) -> Result<R::Result, Refusal>,
) -> Answer {
    let params = serde_json::from_value(params).map_err(|error| (ErrorCode::InvalidParams, error.to_string()))?;
    let answer = answer(cx, params).map_err(|why| (ErrorCode::RequestFailed, why))?;
    serde_json::to_value(answer).map_err(|error| (ErrorCode::InternalError, error.to_string()))
}

macro_rules! table {
    ($($request:ty => $answer:expr,)*) => {
        &[$((<$request as lsp::Request>::METHOD, |cx, params| on::<$request>(cx, params, $answer)),)*]
    };
}

/// Every request that always has an answer.
const TABLE: &[(&str, Handler)] = table! {
    lsp::CallHierarchyPrepare => calls::prepare,
    lsp::CallHierarchyIncomingCalls => calls::incoming,
    lsp::CallHierarchyOutgoingCalls => calls::outgoing,
    lsp::CodeActionRequest => actions::actions,
    lsp::CodeLensRequest => lenses::lenses,
    lsp::Completion => completion::complete,
    lsp::DocumentDiagnosticRequest => diagnostics::pull,
    lsp::DocumentHighlightRequest => highlight::highlights,
    lsp::DocumentLinkRequest => links::links,
    lsp::DocumentSymbolRequest => symbols::symbols,
    lsp::FoldingRangeRequest => folding::ranges,
    lsp::Formatting => format::whole,
    lsp::RangeFormatting => format::range,
    lsp::OnTypeFormatting => format::on_type,
    lsp::GotoDefinition => definition::definition,
    lsp::GotoTypeDefinition => definition::type_definition,
    lsp::HoverRequest => hover::hover,
    lsp::InlayHintRequest => inlay::hints,
    lsp::InlayHintResolveRequest => inlay::resolve,
    lsp::LinkedEditingRange => rename::linked,
    lsp::References => definition::references,
    lsp::SelectionRangeRequest => selection::ranges,
    lsp::SemanticTokensFullDeltaRequest => tokens::delta,
    lsp::SemanticTokensFullRequest => tokens::full,
    lsp::SemanticTokensRangeRequest => tokens::range,
    lsp::SignatureHelpRequest => signature::help,
};

/// Those that may be refused in words.
const REFUSABLE: &[(&str, Handler)] = &[
    (<lsp::CodeActionResolveRequest as lsp::Request>::METHOD, |cx, params| {
        try_on::<lsp::CodeActionResolveRequest>(cx, params, actions::resolve)
    }),
    (<lsp::PrepareRenameRequest as lsp::Request>::METHOD, |cx, params| {
        try_on::<lsp::PrepareRenameRequest>(cx, params, rename::prepare)
    }),
    (<lsp::Rename as lsp::Request>::METHOD, |cx, params| try_on::<lsp::Rename>(cx, params, rename::rename)),
];

fn handler(method: &str) -> Option<Handler> {
    TABLE.iter().chain(REFUSABLE).find(|(name, _)| *name == method).map(|(_, handler)| *handler)
}

/// Whether a method is a request about a text.
pub(crate) fn is_known(method: &str) -> bool {
    handler(method).is_some()
}

/// Answers a request.
pub(crate) fn answer(cx: &mut Cx, method: &str, params: Value) -> Answer {
    match handler(method) {
        Some(handler) => handler(cx, params),
        None => Err((ErrorCode::MethodNotFound, method.to_owned())),
    }
}

/// The text that parameters are about: `textDocument.uri`, an item's `uri`, or what `data` of an item says.
pub(crate) fn document_of(params: &Value) -> Option<Uri> {
    let uri = params
        .pointer("/textDocument/uri")
        .or_else(|| params.pointer("/textDocumentPosition/textDocument/uri"))
        .or_else(|| params.pointer("/item/uri"))
        .or_else(|| params.pointer("/data/uri"))?;
    uri.as_str()?.parse().ok()
}

/// The name of a text in messages: the last part of its path.
pub(crate) fn name(uri: &Uri) -> String {
    let path = uri.path().as_str();
    path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(path).to_owned()
}

/// What the server can do, for `initialize`.
pub(crate) fn capabilities(client: &Client) -> Value {
    let mut capabilities = json!({
        "positionEncoding": client.encoding.kind(),
        "textDocumentSync": { "openClose": true, "change": 2 },
        "hoverProvider": true,
        "completionProvider": { "triggerCharacters": completion::TRIGGERS },
        "signatureHelpProvider": { "triggerCharacters": ["(", ","], "retriggerCharacters": ["="] },
        "definitionProvider": true,
        "typeDefinitionProvider": true,
        "referencesProvider": true,
        "documentHighlightProvider": true,
        "documentSymbolProvider": true,
        "workspaceSymbolProvider": true,
        "workspace": { "workspaceFolders": { "supported": true, "changeNotifications": true } },
        "callHierarchyProvider": true,
        "codeActionProvider": { "codeActionKinds": actions::KINDS, "resolveProvider": true },
        "documentLinkProvider": {},
        "documentFormattingProvider": true,
        "documentRangeFormattingProvider": true,
        "documentOnTypeFormattingProvider": { "firstTriggerCharacter": "}", "moreTriggerCharacter": [";"] },
        "renameProvider": { "prepareProvider": true },
        "linkedEditingRangeProvider": true,
        "foldingRangeProvider": true,
        "selectionRangeProvider": true,
        "inlayHintProvider": { "resolveProvider": true },
        "semanticTokensProvider": { "legend": tokens::legend(), "full": { "delta": true }, "range": true },
    });
    capabilities["executeCommandProvider"] = json!({ "commands": commands::NAMES });
    if client.trust != Some(false) {
        capabilities["codeLensProvider"] = json!({});
    }
    if client.pulls_diagnostics {
        let pull = json!({ "identifier": "relayc", "interFileDependencies": false, "workspaceDiagnostics": false });
        capabilities["diagnosticProvider"] = pull;
    }
    capabilities
}
