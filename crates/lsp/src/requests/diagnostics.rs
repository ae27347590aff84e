//! Diagnostics: what `relayc check` says, at its places.

use super::Cx;
use crate::client::Client;
use crate::text::Text;
use lsp_types::{
    CodeDescription, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag, DocumentDiagnosticParams,
    DocumentDiagnosticReport, DocumentDiagnosticReportResult, FullDocumentDiagnosticReport, Location, NumberOrString,
    RelatedFullDocumentDiagnosticReport, Uri,
};
use relayc_base::Span;
use relayc_base::diag::{self, Code, Severity, codes};

/// Warnings about text that has no effect, which editors fade.
const UNNECESSARY: [Code; 5] = [codes::W0003, codes::W0005, codes::W0006, codes::W0007, codes::W0013];

/// All diagnostics of a text.
pub(crate) fn of(cx: &Cx) -> Vec<Diagnostic> {
    cx.checked.analysis.program.diagnostics.iter().map(|diagnostic| one(cx, diagnostic)).collect()
}

/// One diagnostic in the form of the protocol.
pub(super) fn one(cx: &Cx, diagnostic: &diag::Diagnostic) -> Diagnostic {
    shown_in(cx.client, &cx.checked.text, cx.uri, diagnostic)
}

/// One diagnostic of any text in the form of the protocol.
pub(crate) fn shown_in(client: &Client, text: &Text, uri: &Uri, diagnostic: &diag::Diagnostic) -> Diagnostic {
    let location = |span: Span| Location { uri: uri.clone(), range: text.range(shown(span)) };
    let span = shown(diagnostic.span());
    let related = diagnostic.labels.iter().filter(|label| !label.primary || label.span != diagnostic.span());
    let related: Vec<DiagnosticRelatedInformation> = related
        .map(|label| DiagnosticRelatedInformation { location: location(label.span), message: label.text.clone() })
        .collect();
    let tags = if UNNECESSARY.contains(&diagnostic.code) {
        Some(vec![DiagnosticTag::UNNECESSARY])
    } else if diagnostic.code == codes::W0010 {
        Some(vec![DiagnosticTag::DEPRECATED])
    } else {
        None
    };
    Diagnostic {
        range: text.range(span),
        severity: Some(match diagnostic.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
        }),
        code: Some(NumberOrString::String(diagnostic.code.id().to_owned())),
        code_description: page(client, diagnostic.code),
        source: Some("relayc".to_owned()),
        message: words(diagnostic),
        related_information: (!related.is_empty()).then_some(related),
        tags,
        data: None,
    }
}

/// Where the page of a code is, for a client that opens such pages.
fn page(client: &Client, code: Code) -> Option<CodeDescription> {
    let href = client.explanations.then(|| format!("relayc:explain/{}", code.id()).parse().ok())??;
    Some(CodeDescription { href })
}

/// The message with what the excerpt of the command line shows beside it: the label, the equation, notes and helps.
fn words(diagnostic: &diag::Diagnostic) -> String {
    let mut lines = vec![diagnostic.message.clone()];
    let primary = diagnostic.labels.iter().find(|label| label.primary).map(|label| &label.text);
    lines.extend(primary.filter(|text| !text.is_empty()).cloned());
    if let Some(equation) = &diagnostic.equation {
        lines.push(format!("rule: {}, here {}", equation.rule, equation.values));
    }
    lines.extend(diagnostic.notes.iter().map(|note| format!("note: {note}")));
    lines.extend(diagnostic.helps.iter().map(|help| format!("help: {}", help.text)));
    lines.join("\n")
}

/// The place to show: the start of the text for what is about the whole.
fn shown(span: Span) -> Span {
    if span.is_none() { Span { start: 0, end: 0, ..span } } else { span }
}

pub(super) fn pull(cx: &mut Cx, _: DocumentDiagnosticParams) -> DocumentDiagnosticReportResult {
    let full = FullDocumentDiagnosticReport { result_id: None, items: of(cx) };
    let report = RelatedFullDocumentDiagnosticReport { related_documents: None, full_document_diagnostic_report: full };
    DocumentDiagnosticReportResult::Report(DocumentDiagnosticReport::Full(report))
}
