//! The main loop: messages in, answers out, and texts that are checked on a thread of their own.
//!
//! A request about a text waits until its newest form has been checked; the check of an older form is not waited for. Everything
//! else is answered at once, in the order it came. A panic while one message is handled is an error answer to that message.

use crate::checked::Checked;
use crate::client::Client;
use crate::document::Document;
use crate::jobs::{self, Jobs};
use crate::requests::commands::{self, Command, Work};
use crate::requests::{self, Cx};
use crate::rules::Rules;
use crate::settings::Settings;
use crate::text::Text;
use crate::workspace::Workspace;
use crossbeam_channel::{Receiver, Sender, select, unbounded};
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::notification::{
    Cancel, DidChangeConfiguration, DidChangeTextDocument, DidChangeWatchedFiles, DidChangeWorkspaceFolders,
    DidCloseTextDocument, DidOpenTextDocument, Exit, Initialized, LogMessage, Notification as _, Progress, PublishDiagnostics,
    SetTrace,
};
use lsp_types::request::{
    CodeLensRefresh, DocumentDiagnosticRequest, ExecuteCommand, Initialize, Request as _, Shutdown, WorkspaceDiagnosticRefresh,
    WorkspaceSymbolRequest,
};
use lsp_types::{
    DidChangeWatchedFilesParams, DidChangeWorkspaceFoldersParams, ExecuteCommandParams, InitializeParams, LogMessageParams,
    MessageType, NumberOrString, ProgressParams, ProgressParamsValue, PublishDiagnosticsParams, Uri, WorkDoneProgress,
    WorkDoneProgressBegin, WorkDoneProgressEnd,
};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// How far a conversation is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Before `initialize`.
    Fresh,
    Running,
    /// After `shutdown`.
    Down,
}

/// A text to check.
struct Job {
    uri: Uri,
    revision: u64,
    text: Text,
    rules: Arc<Rules>,
}

/// A check that ended; no result if it panicked.
struct Done {
    uri: Uri,
    revision: u64,
    result: Result<Box<Checked>, String>,
}

struct Server {
    sender: Sender<Message>,
    checks: Sender<Job>,
    /// Commands that are carried out.
    jobs: Jobs,
    phase: Phase,
    client: Client,
    settings: Settings,
    workspace: Workspace,
    documents: FxHashMap<Uri, Document>,
    /// Whether answers still go anywhere.
    is_heard: Cell<bool>,
    /// How many forms of texts there were: a number of its own for each, whatever versions the client says.
    revisions: u64,
    /// How many requests the server has sent.
    n_asked: u64,
}

/// Serves one editor over a connection until it says `exit` or is gone. True if it said `shutdown` before.
pub fn serve_over(connection: Connection) -> bool {
    let Connection { sender, receiver } = connection;
    let (checks, todo) = unbounded::<Job>();
    let (finished, done) = unbounded::<Done>();
    let worker = std::thread::Builder::new().name("check".to_owned());
    if worker.spawn(move || check_texts(&todo, &finished)).is_err() {
        return false;
    }
    let client = Client::of(&Default::default());
    let (jobs, outputs) = Jobs::new();
    let mut server = Server {
        sender,
        checks,
        jobs,
        phase: Phase::Fresh,
        client,
        settings: Settings::default(),
        workspace: Workspace::default(),
        documents: FxHashMap::default(),
        is_heard: Cell::new(true),
        revisions: 0,
        n_asked: 0,
    };
    while server.is_heard.get() {
        select! {
            recv(receiver) -> message => match message {
                Ok(Message::Notification(notification)) if notification.method == Exit::METHOD => break,
                Ok(message) => server.message(message),
                Err(_) => break,
            },
            recv(done) -> done => {
                if let Ok(done) = done {
                    server.checked(done);
                }
            }
            recv(outputs) -> output => {
                if let Ok(output) = output {
                    server.worked(output);
                }
            }
        }
    }
    server.phase == Phase::Down
}

/// Checks texts one after another; of several forms of one text the newest only.
fn check_texts(todo: &Receiver<Job>, finished: &Sender<Done>) {
    while let Ok(first) = todo.recv() {
        let mut jobs = vec![first];
        jobs.extend(todo.try_iter());
        while !jobs.is_empty() {
            let job = jobs.remove(0);
            if jobs.iter().any(|later| later.uri == job.uri) {
                continue;
            }
            let Job { uri, revision, text, rules } = job;
            let name = requests::name(&uri);
            let check = || Box::new(Checked::new(&name, revision, text, &rules.how));
            let result = catch_unwind(AssertUnwindSafe(check)).map_err(|panic| panic_text(&*panic));
            if finished.send(Done { uri, revision, result }).is_err() {
                return;
            }
            jobs.extend(todo.try_iter());
        }
    }
}

/// A message for the log of the client.
pub(crate) fn log(kind: MessageType, text: &str) -> Message {
    let params = LogMessageParams { typ: kind, message: text.to_owned() };
    Notification::new(LogMessage::METHOD.to_owned(), params).into()
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("relayc panicked: {}; this is a bug in relayc, not in your program", text.unwrap_or("no message"))
}

impl Server {
    fn send(&self, message: impl Into<Message>) {
        if self.sender.send(message.into()).is_err() {
            self.is_heard.set(false);
        }
    }

    fn message(&mut self, message: Message) {
        match message {
            Message::Request(request) => {
                let id = request.id.clone();
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.request(request))) {
                    self.fail(id, ErrorCode::InternalError, &panic_text(&*panic));
                }
            }
            Message::Notification(notification) => {
                let handle = || self.notification(notification);
                if let Err(panic) = catch_unwind(AssertUnwindSafe(handle)) {
                    self.send(log(MessageType::ERROR, &panic_text(&*panic)));
                }
            }
            // Nothing that the server asks for has an answer that it needs.
            Message::Response(_) => {}
        }
    }

    fn fail(&self, id: RequestId, code: ErrorCode, why: &str) {
        self.send(Response::new_err(id, code as i32, why.to_owned()));
    }

    fn request(&mut self, request: Request) {
        match (self.phase, request.method.as_str()) {
            (Phase::Fresh, Initialize::METHOD) => self.initialize(request),
            (Phase::Fresh, _) => self.fail(request.id, ErrorCode::ServerNotInitialized, "expected `initialize` first"),
            (Phase::Running, Shutdown::METHOD) => {
                self.phase = Phase::Down;
                self.send(Response::new_ok(request.id, Value::Null));
            }
            (Phase::Running, Initialize::METHOD) => {
                self.fail(request.id, ErrorCode::InvalidRequest, "`initialize` comes once");
            }
            (Phase::Running, WorkspaceSymbolRequest::METHOD) => {
                if let Err(request) = self.workspace.symbols(request) {
                    self.fail(request.id, ErrorCode::InternalError, "the workspace is not indexed");
                }
            }
            (Phase::Running, ExecuteCommand::METHOD) => self.execute(request),
            (Phase::Running, _) => self.about_text(request),
            (Phase::Down, _) => self.fail(request.id, ErrorCode::InvalidRequest, "the server was shut down"),
        }
    }

    fn initialize(&mut self, request: Request) {
        let params: InitializeParams = match serde_json::from_value(request.params) {
            Ok(params) => params,
            Err(error) => return self.fail(request.id, ErrorCode::InvalidParams, &error.to_string()),
        };
        self.client = Client::of(&params.capabilities);
        if let Some(options) = &params.initialization_options {
            self.settings = Settings::of(options.get("relayc").unwrap_or(options));
            self.client.trust = options.get("trusted").and_then(Value::as_bool);
        }
        self.workspace = Workspace::open(&params, &self.client, self.sender.clone());
        self.phase = Phase::Running;
        let result = json!({
            "capabilities": requests::capabilities(&self.client),
            "serverInfo": { "name": "relayc", "version": env!("CARGO_PKG_VERSION") },
        });
        self.send(Response::new_ok(request.id, result));
    }

    /// Answers a request about a text, or keeps it until the text has been checked.
    fn about_text(&mut self, request: Request) {
        if !requests::is_known(&request.method) {
            let why = format!("`{}` is not a request of this server", request.method);
            return self.fail(request.id, ErrorCode::MethodNotFound, &why);
        }
        let Some(uri) = requests::document_of(&request.params) else {
            return self.fail(request.id, ErrorCode::InvalidParams, "no document is named");
        };
        let Some(document) = self.documents.get_mut(&uri) else {
            return self.fail(request.id, ErrorCode::InvalidParams, &format!("`{}` is not open", uri.as_str()));
        };
        if document.is_checked() {
            self.answer(&uri, request);
        } else {
            document.waiting.push(request);
        }
    }

    fn answer(&mut self, uri: &Uri, request: Request) {
        let Some(document) = self.documents.get_mut(uri) else { return };
        let version = document.version;
        let Some(checked) = document.checked.as_mut() else { return };
        let outcomes = &document.outcomes;
        let mut cx =
            Cx { checked, client: &self.client, settings: &self.settings, rules: &document.rules, uri, version, outcomes };
        let Request { id, method, params } = request;
        let answer = catch_unwind(AssertUnwindSafe(|| requests::answer(&mut cx, &method, params)));
        match answer {
            Ok(Ok(value)) => self.send(Response::new_ok(id, value)),
            Ok(Err((code, why))) => self.fail(id, code, &why),
            Err(panic) => self.fail(id, ErrorCode::InternalError, &panic_text(&*panic)),
        }
    }

    /// Carries a command out: at once, or, on a text, in a process of its own.
    fn execute(&mut self, request: Request) {
        let Request { id, params, .. } = request;
        let params: ExecuteCommandParams = match serde_json::from_value(params) {
            Ok(params) => params,
            Err(error) => return self.fail(id, ErrorCode::InvalidParams, &error.to_string()),
        };
        let (what, args) = match commands::read(&params.command, params.arguments) {
            Ok(Command::Answered(value)) => return self.send(Response::new_ok(id, value)),
            Ok(Command::Work(what, args)) => (what, args),
            Err(why) => return self.fail(id, ErrorCode::InvalidParams, &why),
        };
        if self.client.trust == Some(false) {
            return self.fail(id, ErrorCode::RequestFailed, "nothing is run in a workspace that is not trusted");
        }
        let Some(uri) = args.text_document.as_ref().map(|document| document.uri.clone()) else {
            return self.fail(id, ErrorCode::InvalidParams, "no document is named");
        };
        let Some(document) = self.documents.get(&uri) else {
            return self.fail(id, ErrorCode::InvalidParams, &format!("`{}` is not open", uri.as_str()));
        };
        let (revision, text) = (document.revision, document.text.clone());
        let work = Work::new(what, args, &uri, &text);
        let progress = params.work_done_progress_params.work_done_token;
        let title = work.title();
        let begin = WorkDoneProgressBegin { title, cancellable: Some(true), message: None, percentage: None };
        self.progress(progress.as_ref(), WorkDoneProgress::Begin(begin));
        self.jobs.add(jobs::Job { request: id, uri, revision, text, work, progress });
        self.start_jobs();
    }

    fn start_jobs(&mut self) {
        for (job, why) in self.jobs.start() {
            self.done(job, Err((ErrorCode::InternalError, why)));
        }
    }

    /// Takes what the process of a job has written.
    fn worked(&mut self, output: jobs::Output) {
        if let Some((job, found)) = self.jobs.ended(output) {
            let answer = match found {
                Ok(found) => {
                    self.keep_outcomes(&job, &found);
                    Ok(commands::finished(&job.work, &job.text, found))
                }
                Err(why) => Err((ErrorCode::RequestFailed, why)),
            };
            self.done(job, answer);
        }
        self.start_jobs();
    }

    /// Keeps what tests gave, as long as the text is the one they ran on, and has the lenses asked for again.
    fn keep_outcomes(&mut self, job: &jobs::Job, found: &Value) {
        let document = self.documents.get_mut(&job.uri).filter(|document| document.revision == job.revision);
        let Some(document) = document.filter(|_| job.work.is_run()) else { return };
        let outcomes = commands::outcomes(found);
        document.outcomes.retain(|old| outcomes.iter().all(|new| new.line != old.line));
        document.outcomes.extend(outcomes);
        if self.client.refreshes_lenses {
            self.n_asked += 1;
            let id = RequestId::from(format!("lenses-{}", self.n_asked));
            self.send(Request { id, method: CodeLensRefresh::METHOD.to_owned(), params: Value::Null });
        }
    }

    fn done(&self, job: jobs::Job, answer: Result<Value, (ErrorCode, String)>) {
        self.progress(job.progress.as_ref(), WorkDoneProgress::End(WorkDoneProgressEnd { message: None }));
        match answer {
            Ok(value) => self.send(Response::new_ok(job.request, value)),
            Err((code, why)) => self.fail(job.request, code, &why),
        }
    }

    fn progress(&self, token: Option<&lsp_types::ProgressToken>, value: WorkDoneProgress) {
        if let Some(token) = token {
            let params = ProgressParams { token: token.clone(), value: ProgressParamsValue::WorkDone(value) };
            self.send(Notification::new(Progress::METHOD.to_owned(), params));
        }
    }

    fn notification(&mut self, notification: Notification) {
        if self.phase != Phase::Running {
            return;
        }
        let Notification { method, params } = notification;
        let done = match method.as_str() {
            DidOpenTextDocument::METHOD => read(params).map(|params| self.open(params)),
            DidChangeTextDocument::METHOD => read(params).map(|params| self.change(&params)),
            DidCloseTextDocument::METHOD => read(params).map(|params| self.close(&params)),
            DidChangeConfiguration::METHOD => {
                // Some clients say so without any settings: those that are known stay.
                if let Some(section) = params.pointer("/settings/relayc") {
                    let before = std::mem::replace(&mut self.settings, Settings::of(section));
                    if !self.settings.has_rules_of(&before) {
                        self.check_all();
                    }
                }
                Ok(())
            }
            Initialized::METHOD => {
                self.workspace.registration().into_iter().for_each(|request| self.send(request));
                Ok(())
            }
            DidChangeWorkspaceFolders::METHOD => read(params).map(|params: DidChangeWorkspaceFoldersParams| {
                self.workspace.change_folders(&params.event);
                self.check_all();
            }),
            DidChangeWatchedFiles::METHOD => read(params).map(|params: DidChangeWatchedFilesParams| {
                if self.workspace.change_files(&params) {
                    self.check_all();
                }
            }),
            Cancel::METHOD => read(params).map(|params| self.cancel(params)),
            SetTrace::METHOD => Ok(()),
            // What else is told needs no answer.
            _ => Ok(()),
        };
        if let Err(why) = done {
            self.send(log(MessageType::ERROR, &format!("`{method}` was not understood: {why}")));
        }
    }

    fn open(&mut self, params: lsp_types::DidOpenTextDocumentParams) {
        let lsp_types::TextDocumentItem { uri, version, text, .. } = params.text_document;
        let text = Text::new(&text, self.client.encoding);
        self.forget(&uri);
        self.workspace.note(&uri, Some(&text));
        let rules = self.workspace.rules_anew(&uri, &self.settings, &self.client);
        self.publish_configurations();
        self.documents.insert(uri.clone(), Document::new(version, text, rules));
        self.check(&uri);
    }

    fn change(&mut self, params: &lsp_types::DidChangeTextDocumentParams) {
        let uri = &params.text_document.uri;
        let Some(document) = self.documents.get_mut(uri) else { return };
        document.text = document.text.changed(&params.content_changes);
        document.version = params.text_document.version;
        document.outcomes.clear();
        self.workspace.note(uri, Some(&document.text));
        // What was asked with positions is about the text before.
        let waiting = std::mem::take(&mut document.waiting).into_iter();
        let (about_all, stale) = waiting.partition(|request| request.method == DocumentDiagnosticRequest::METHOD);
        document.waiting = about_all;
        for Request { id, .. } in stale {
            self.fail(id, ErrorCode::ContentModified, "the text has changed since");
        }
        self.check(uri);
    }

    fn close(&mut self, params: &lsp_types::DidCloseTextDocumentParams) {
        let uri = &params.text_document.uri;
        if self.forget(uri) && !self.client.pulls_diagnostics {
            self.publish(uri, vec![], None);
        }
    }

    /// Forgets a text; what was asked of it is answered with an error. Whether it was open.
    fn forget(&mut self, uri: &Uri) -> bool {
        let Some(document) = self.documents.remove(uri) else { return false };
        self.workspace.note(uri, None);
        for request in document.waiting {
            self.fail(request.id, ErrorCode::ContentModified, "the text was closed");
        }
        true
    }

    fn cancel(&mut self, params: lsp_types::CancelParams) {
        let id = match params.id {
            NumberOrString::Number(id) => RequestId::from(id),
            NumberOrString::String(id) => RequestId::from(id),
        };
        for document in self.documents.values_mut() {
            if let Some(at) = document.waiting.iter().position(|request| request.id == id) {
                document.waiting.remove(at);
                return self.fail(id, ErrorCode::RequestCanceled, "cancelled");
            }
        }
        if let Some(job) = self.jobs.cancel(&id) {
            self.done(job, Err((ErrorCode::RequestCanceled, "cancelled".to_owned())));
            self.start_jobs();
        }
    }

    /// Has the newest form of a text checked.
    fn check(&mut self, uri: &Uri) {
        let Some(document) = self.documents.get_mut(uri) else { return };
        self.revisions += 1;
        document.revision = self.revisions;
        let (text, rules) = (document.text.clone(), document.rules.clone());
        let _ = self.checks.send(Job { uri: uri.clone(), revision: document.revision, text, rules });
    }

    /// Tells what is wrong in configurations, and what is not any more.
    fn publish_configurations(&mut self) {
        self.workspace.take_reports().into_iter().for_each(|(uri, found)| self.publish(&uri, found, None));
    }

    /// Checks all texts again, as the rules may be others.
    fn check_all(&mut self) {
        let uris: Vec<Uri> = self.documents.keys().cloned().collect();
        for uri in uris {
            let rules = self.workspace.rules(&uri, &self.settings, &self.client);
            if let Some(document) = self.documents.get_mut(&uri) {
                document.rules = rules;
            }
            self.check(&uri);
        }
        self.publish_configurations();
        if self.client.refreshes_diagnostics {
            self.send(Request::new(
                format!("relayc.refresh.{}", self.revisions).into(),
                WorkspaceDiagnosticRefresh::METHOD.to_owned(),
                Value::Null,
            ));
        }
    }

    /// Takes the result of a check, and answers what has waited for it.
    fn checked(&mut self, done: Done) {
        let Done { uri, revision, result } = done;
        let Some(document) = self.documents.get_mut(&uri).filter(|document| document.revision == revision) else { return };
        let waiting = std::mem::take(&mut document.waiting);
        match result {
            Ok(checked) => {
                document.checked = Some(*checked);
                if !self.client.pulls_diagnostics {
                    self.publish_of(&uri);
                }
                waiting.into_iter().for_each(|request| self.answer(&uri, request));
            }
            Err(why) => {
                self.send(log(MessageType::ERROR, &why));
                waiting.into_iter().for_each(|request| self.fail(request.id, ErrorCode::InternalError, &why));
            }
        }
    }

    fn publish_of(&mut self, uri: &Uri) {
        let Some(document) = self.documents.get_mut(uri) else { return };
        let version = document.version;
        let Some(checked) = document.checked.as_mut() else { return };
        let outcomes = &document.outcomes;
        let cx = Cx { checked, client: &self.client, settings: &self.settings, rules: &document.rules, uri, version, outcomes };
        match catch_unwind(AssertUnwindSafe(|| requests::diagnostics::of(&cx))) {
            Ok(diagnostics) => self.publish(uri, diagnostics, Some(version)),
            Err(panic) => self.send(log(MessageType::ERROR, &panic_text(&*panic))),
        }
    }

    fn publish(&self, uri: &Uri, diagnostics: Vec<lsp_types::Diagnostic>, version: Option<i32>) {
        let params = PublishDiagnosticsParams { uri: uri.clone(), diagnostics, version };
        self.send(Notification::new(PublishDiagnostics::METHOD.to_owned(), params));
    }
}

fn read<T: serde::de::DeserializeOwned>(params: Value) -> Result<T, String> {
    serde_json::from_value(params).map_err(|error| error.to_string())
}
