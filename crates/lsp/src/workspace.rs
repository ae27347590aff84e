//! The workspace: its folders, and the `relayc.toml` files above texts.
//!
//! Promises to read no file outside of its folders unless the client says that the user trusts the workspace; links that lead out of
//! them lead nowhere. A text that is in no folder of the workspace has its own folder.

use crate::client::Client;
use crate::index::{Index, Task};
use crate::paths::{path_of, uri_of};
use crate::requests::diagnostics;
use crate::rules::Rules;
use crate::settings::Settings;
use crate::text::Text;
use lsp_server::{Message, Request};
use lsp_types::{
    DidChangeWatchedFilesParams, FileChangeType, FileEvent, InitializeParams, Registration, RegistrationParams, Uri,
    WorkspaceFolder, WorkspaceFoldersChangeEvent,
};
use relayc_driver::config::{self, Project, Reach, WeightFiles};
use relayc_driver::programs;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is wrong in a `relayc.toml`.
pub(crate) type Report = (Uri, Vec<lsp_types::Diagnostic>);

#[derive(Default)]
pub(crate) struct Workspace {
    folders: Vec<PathBuf>,
    is_trusted: bool,
    /// Whether the client tells of files that change.
    can_watch: bool,
    /// The configurations that were read, by their paths; the reach may differ for texts outside of the folders.
    projects: FxHashMap<(PathBuf, Reach), Arc<Project>>,
    weights: WeightFiles,
    /// What is wrong in them, to be told.
    reports: Vec<Report>,
    /// The files of which something was told.
    told: Vec<Uri>,
    index: Index,
}

impl Workspace {
    /// The workspace that a client opens; `answers` is where answers about symbols go.
    pub(crate) fn open(params: &InitializeParams, client: &Client, answers: crossbeam_channel::Sender<Message>) -> Workspace {
        let folders = params.workspace_folders.as_deref().unwrap_or_default().iter().filter_map(|folder| path_of(&folder.uri));
        let mut folders: Vec<PathBuf> = folders.collect();
        if params.workspace_folders.is_none() {
            #[allow(deprecated, reason = "what clients said before there were several")]
            folders.extend(params.root_uri.as_ref().and_then(path_of));
        }
        let workspace = params.capabilities.workspace.as_ref();
        let can_watch =
            workspace.and_then(|workspace| workspace.did_change_watched_files.as_ref()?.dynamic_registration).unwrap_or(false);
        let index = Index::start(client.encoding, can_watch, answers);
        let workspace = Workspace { folders, is_trusted: client.trust == Some(true), can_watch, index, ..Workspace::default() };
        workspace.index.send(Task::Folders(workspace.folders.clone()));
        workspace
    }

    /// The request that has the client watch files, if it can.
    pub(crate) fn registration(&self) -> Option<Request> {
        const WATCHED: [&str; 3] = ["**/*.relay", "**/relayc.toml", "**/*.{params,npz,safetensors}"];
        let watchers: Vec<Value> = WATCHED.iter().map(|pattern| json!({ "globPattern": pattern })).collect();
        let registration = Registration {
            id: "relayc.files".to_owned(),
            method: "workspace/didChangeWatchedFiles".to_owned(),
            register_options: Some(json!({ "watchers": watchers })),
        };
        let params = RegistrationParams { registrations: vec![registration] };
        self.can_watch.then(|| Request::new("relayc.files".to_owned().into(), "client/registerCapability".to_owned(), params))
    }

    /// Takes and leaves folders.
    pub(crate) fn change_folders(&mut self, event: &WorkspaceFoldersChangeEvent) {
        let paths =
            |folders: &[WorkspaceFolder]| folders.iter().filter_map(|folder| path_of(&folder.uri)).collect::<Vec<PathBuf>>();
        let removed = paths(&event.removed);
        self.folders.retain(|folder| !removed.contains(folder));
        for folder in paths(&event.added) {
            if !self.folders.contains(&folder) {
                self.folders.push(folder);
            }
        }
        self.forget();
        self.index.send(Task::Folders(self.folders.clone()));
    }

    /// Takes note of files that have changed; whether texts have to be checked again.
    pub(crate) fn change_files(&mut self, params: &DidChangeWatchedFilesParams) -> bool {
        let paths: Vec<PathBuf> = params.changes.iter().filter_map(|change| path_of(&change.uri)).collect();
        if paths.iter().any(|path| programs::is_program(path) || path.extension().is_none()) {
            self.index.send(Task::Changed);
        }
        // Configurations may name programs that come and go.
        let is_relevant = |change: &FileEvent| {
            change.typ != FileChangeType::CHANGED || path_of(&change.uri).is_some_and(|path| !programs::is_program(&path))
        };
        let is_relevant = params.changes.iter().any(is_relevant);
        if is_relevant {
            self.forget();
        }
        is_relevant
    }

    /// Reads the configurations anew when they are next asked for.
    fn forget(&mut self) {
        self.projects.clear();
        // What is not wrong any more is taken back when nothing else is told of the file.
        self.reports.extend(self.told.drain(..).map(|uri| (uri, vec![])));
    }

    /// The rules for a text that is opened: if the client does not tell of files that change, they are read anew.
    pub(crate) fn rules_anew(&mut self, uri: &Uri, settings: &Settings, client: &Client) -> Arc<Rules> {
        if !self.can_watch {
            self.forget();
        }
        self.rules(uri, settings, client)
    }

    /// The rules for a text.
    pub(crate) fn rules(&mut self, uri: &Uri, settings: &Settings, client: &Client) -> Arc<Rules> {
        let mut rules = Rules::default();
        if let Some(path) = path_of(uri) {
            let reach = self.reach(&path);
            if let Some(file) = config::find(&path, &reach) {
                let project = self.project(file, &reach, client);
                rules.style = project.style;
                rules.how.levels = project.levels.clone();
                rules.how.weights = project.weights(&path, &mut self.weights);
            }
        }
        settings.apply(&mut rules.how.levels, &mut rules.style);
        Arc::new(rules)
    }

    /// The files that may be read for a text.
    fn reach(&self, path: &Path) -> Reach {
        if self.is_trusted {
            return Reach::Everything;
        }
        let own = path.parent().filter(|_| !self.folders.iter().any(|folder| path.starts_with(folder)));
        Reach::inside(self.folders.iter().map(PathBuf::as_path).chain(own))
    }

    fn project(&mut self, file: PathBuf, reach: &Reach, client: &Client) -> Arc<Project> {
        let key = (file, reach.clone());
        if let Some(project) = self.projects.get(&key) {
            return project.clone();
        }
        let project = Arc::new(Project::open(&key.0, reach));
        if let Some(uri) = uri_of(&key.0) {
            let text = project.sources.files().next().map_or(String::new(), |file| file.text.to_string());
            let text = Text::new(&text, client.encoding);
            let found: Vec<_> =
                project.diagnostics.iter().map(|diagnostic| diagnostics::shown_in(client, &text, &uri, diagnostic)).collect();
            if !found.is_empty() {
                self.told.push(uri.clone());
                self.reports.push((uri, found));
            }
        }
        self.projects.insert(key, project.clone());
        project
    }

    /// What is wrong in the configurations that were read or have gone since the last time.
    pub(crate) fn take_reports(&mut self) -> Vec<Report> {
        std::mem::take(&mut self.reports)
    }

    /// Tells the index of an open text, or that it was closed.
    pub(crate) fn note(&self, uri: &Uri, text: Option<&Text>) {
        self.index.send(Task::Open(uri.clone(), text.cloned()));
    }

    /// Has `workspace/symbol` answered, when all that was said before is in the index. Errors: the request, if there is no index.
    pub(crate) fn symbols(&self, request: Request) -> Result<(), Request> {
        if !self.index.is_there() {
            return Err(request);
        }
        self.index.send(Task::Ask(request));
        Ok(())
    }
}
