//! What a client can do, as it says when it starts.

use crate::text::Encoding;
use lsp_types::{ClientCapabilities, MarkupKind};

/// The abilities of a client that answers depend on.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is an ability of its own in the protocol")]
pub(crate) struct Client {
    pub(crate) encoding: Encoding,
    /// Whether hovers may be Markdown.
    pub(crate) markdown: bool,
    /// Whether it takes edits of a certain version of a text.
    pub(crate) document_changes: bool,
    /// Whether the parameters of a signature may be places in its text.
    pub(crate) label_offsets: bool,
    /// Whether completions may have places to fill in.
    pub(crate) snippets: bool,
    /// Whether it asks for diagnostics itself.
    pub(crate) pulls_diagnostics: bool,
    /// Whether it asks for them again when it is told to.
    pub(crate) refreshes_diagnostics: bool,
    /// Whether places of definitions may say what they were asked from.
    pub(crate) links: bool,
    /// Whether symbols may be nested.
    pub(crate) nested_symbols: bool,
    /// Whether a list of actions may have edits in it, rather than commands only.
    pub(crate) action_literals: bool,
    /// Whether it asks for the edit of an action when it is chosen.
    pub(crate) resolves_edits: bool,
    /// Whether it takes a request to ask for lenses again.
    pub(crate) refreshes_lenses: bool,
    /// Whether it takes a request to ask for inlay hints again.
    pub(crate) refreshes_hints: bool,
    /// Whether it can show a picture: has the command `relayc.showPicture`.
    pub(crate) shows_pictures: bool,
    /// Whether it shows profiles in a way of its own: has the command `relayc.showProfile`.
    pub(crate) shows_profiles: bool,
    /// Whether it can show what a pass makes of a text: has the command `relayc.showPass`.
    pub(crate) shows_passes: bool,
    /// Whether it opens pages of codes, `relayc:explain/E0301`.
    pub(crate) explanations: bool,
    /// Whether the user trusts the workspace, if the client says it (`initializationOptions.trusted`). Without a word, tests and passes are
    /// run on request, and no file outside of the workspace is read.
    pub(crate) trust: Option<bool>,
    /// Whether it shows how work goes on.
    pub(crate) progress: bool,
    /// Whether it is told at run time that the settings are wanted.
    pub(crate) registers_settings: bool,
}

impl Client {
    pub(crate) fn of(capabilities: &ClientCapabilities) -> Client {
        let general = capabilities.general.as_ref();
        let text = capabilities.text_document.as_ref();
        let encodings = general.and_then(|general| general.position_encodings.as_deref()).unwrap_or_default();
        let formats = text.and_then(|text| text.hover.as_ref()?.content_format.as_deref()).unwrap_or_default();
        let item = text.and_then(|text| text.completion.as_ref()?.completion_item.as_ref());
        let workspace = capabilities.workspace.as_ref();
        let signature = text.and_then(|text| text.signature_help.as_ref()?.signature_information.as_ref());
        let label_offsets = signature.and_then(|signature| signature.parameter_information.as_ref()?.label_offset_support);
        let resolved = text.and_then(|text| text.code_action.as_ref()?.resolve_support.as_ref());
        let own = capabilities.experimental.as_ref().and_then(|own| own.get("relayc"));
        let commands = own.and_then(|own| own.get("commands")?.as_array()).map_or(&[][..], Vec::as_slice);
        let has = |name: &str| commands.iter().any(|command| command == name);
        let window = capabilities.window.as_ref();
        let settings = workspace.and_then(|w| w.did_change_configuration.as_ref()?.dynamic_registration);
        Client {
            resolves_edits: resolved.is_some_and(|resolved| resolved.properties.iter().any(|property| property == "edit")),
            refreshes_lenses: workspace.and_then(|w| w.code_lens.as_ref()?.refresh_support).unwrap_or(false),
            refreshes_hints: workspace.and_then(|w| w.inlay_hint.as_ref()?.refresh_support).unwrap_or(false),
            shows_pictures: has("relayc.showPicture"),
            shows_profiles: has("relayc.showProfile"),
            shows_passes: has("relayc.showPass"),
            explanations: own.and_then(|own| own.get("explanations")?.as_bool()).unwrap_or(false),
            trust: None,
            progress: window.and_then(|window| window.work_done_progress).unwrap_or(false),
            registers_settings: settings.unwrap_or(false),
            document_changes: workspace.and_then(|w| w.workspace_edit.as_ref()?.document_changes).unwrap_or(false),
            label_offsets: label_offsets.unwrap_or(false),
            encoding: Encoding::negotiated(encodings),
            markdown: formats.contains(&MarkupKind::Markdown),
            snippets: item.and_then(|item| item.snippet_support).unwrap_or(false),
            pulls_diagnostics: text.is_some_and(|text| text.diagnostic.is_some()),
            refreshes_diagnostics: workspace.and_then(|w| w.diagnostic.as_ref()?.refresh_support).unwrap_or(false),
            links: text.and_then(|text| text.definition.as_ref()?.link_support).unwrap_or(false),
            nested_symbols: text
                .and_then(|text| text.document_symbol.as_ref()?.hierarchical_document_symbol_support)
                .unwrap_or(false),
            action_literals: text
                .is_some_and(|text| text.code_action.as_ref().is_some_and(|action| action.code_action_literal_support.is_some())),
        }
    }
}
