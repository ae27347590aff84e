//! The main loop: messages in, answers out, and texts that are checked on a thread of their own.
//!
//! A request about a text waits until its newest form has been checked; the check of an older form is not waited for. Everything
//! else is answered at once, in the order it came. A panic while one message is handled is an error answer to that message.

use crate::checked::Checked;
use crate::client::Client;
use crate::document::Document;
use crate::jobs::{self, Jobs};
use crate::requests::commands::{self, Command, What, Work};
use crate::requests::{self, Cx};
use crate::rules::Rules;
use crate::settings::Settings;
use crate::text::Text;
use crate::workspace::Workspace;
use crossbeam_channel::{Receiver, Sender, after, never, select, unbounded};
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::notification::{
    Cancel, DidChangeConfiguration, DidChangeTextDocument, DidChangeWatchedFiles, DidChangeWorkspaceFolders,
    DidCloseTextDocument, DidOpenTextDocument, Exit, Initialized, LogMessage, LogTrace, Notification as _, PublishDiagnostics,
    SetTrace,
};
use lsp_types::request::{
    CodeLensRefresh, DocumentDiagnosticRequest, ExecuteCommand, Initialize, InlayHintRefreshRequest, Request as _, Shutdown,
    WorkspaceDiagnosticRefresh, WorkspaceSymbolRequest,
};
use lsp_types::{
    DidChangeWatchedFilesParams, DidChangeWorkspaceFoldersParams, ExecuteCommandParams, InitializeParams, LogMessageParams,
    LogTraceParams, MessageType, NumberOrString, PublishDiagnosticsParams, SetTraceParams, TraceValue, Uri,
};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

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
    /// An earlier form of it, by the same rules.
    earlier: Option<Box<Checked>>,
}

/// A check that ended; no result if it panicked.
struct Done {
    uri: Uri,
    revision: u64,
    /// How long it took.
    time: Duration,
    result: Result<Box<Checked>, String>,
}

/// How long a check may take before the client is told that it goes on.
const SLOW: Duration = Duration::from_millis(500);

/// What the client is told of checks that go on.
enum Progress {
    /// Nothing, since none does, or the client shows no progress.
    None,
    /// Something, once this has come.
    Soon(Receiver<Instant>),
    /// It was told of one, by this token.
    Shown(Value),
}

impl Progress {
    /// What comes when the client is to be told.
    fn timer(&self) -> Receiver<Instant> {
        match self {
            Progress::Soon(timer) => timer.clone(),
            Progress::None | Progress::Shown(_) => never(),
        }
    }
}

struct Server {
    sender: Sender<Message>,
    checks: Sender<Job>,
    done: Receiver<Done>,
    /// Commands that are carried out.
    jobs: Jobs,
    phase: Phase,
    client: Client,
    settings: Settings,
    workspace: Workspace,
    documents: FxHashMap<Uri, Document>,
    /// Whether answers still go anywhere.
    is_heard: Cell<bool>,
    /// How much the client wants to know of what the server does.
    trace: TraceValue,
    progress: Progress,
    /// How many requests the server has sent.
    n_sent: i32,
    /// How many forms of texts there were: a number of its own for each, whatever versions the client says.
    revisions: u64,
}

/// Serves one editor over a connection until it says `exit` or is gone. True if it said `shutdown` before.
pub fn serve_over(connection: Connection) -> bool {
    let Connection { sender, receiver } = connection;
    let (checks, todo) = unbounded::<Job>();
    let (finished, done) = unbounded();
    let worker = std::thread::Builder::new().name("check".to_owned());
    if worker.spawn(move || check_texts(&todo, &finished)).is_err() {
        return false;
    }
    let client = Client::of(&Default::default());
    let (jobs, outputs) = Jobs::new();
    let mut server = Server {
        sender,
        checks,
        done,
        jobs,
        phase: Phase::Fresh,
        client,
        settings: Settings::default(),
        workspace: Workspace::default(),
        documents: FxHashMap::default(),
        is_heard: Cell::new(true),
        trace: TraceValue::Off,
        progress: Progress::None,
        n_sent: 0,
        revisions: 0,
    };
    while server.is_heard.get() {
        select! {
            recv(server.progress.timer()) -> _ => server.show_progress(),
            recv(receiver) -> message => match message {
                Ok(Message::Notification(notification)) if notification.method == Exit::METHOD => break,
                Ok(message) => server.message(message),
                Err(_) => break,
            },
            recv(server.done) -> done => {
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

/// Checks texts one after another; of several forms of one text the newest only. What was checked before goes here: there is much of it.
fn check_texts(todo: &Receiver<Job>, finished: &Sender<Done>) {
    while let Ok(first) = todo.recv() {
        let mut jobs = vec![first];
        jobs.extend(todo.try_iter());
        while !jobs.is_empty() {
            let Job { uri, revision, text, rules, earlier } = jobs.remove(0);
            let later = |jobs: &[Job]| jobs.iter().position(|later| later.uri == uri);
            if let Some(at) = later(&jobs) {
                hand_on(&mut jobs[at], earlier, &rules);
                continue;
            }
            let name = requests::name(&uri);
            let begun = Instant::now();
            let check = || Checked::new(&name, revision, text, &rules.how, earlier.as_deref());
            let result = catch_unwind(AssertUnwindSafe(check)).map(Box::new).map_err(|panic| panic_text(&*panic));
            jobs.extend(todo.try_iter());
            match (later(&jobs), result) {
                (Some(at), Ok(checked)) => hand_on(&mut jobs[at], Some(checked), &rules),
                (_, result) => {
                    if finished.send(Done { uri, revision, time: begun.elapsed(), result }).is_err() {
                        return;
                    }
                }
            }
        }
    }
}

/// Has a job start from an earlier form of its text, if that was checked by the same rules.
fn hand_on(job: &mut Job, earlier: Option<Box<Checked>>, rules: &Arc<Rules>) {
    if Arc::ptr_eq(&job.rules, rules) && job.earlier.is_none() {
        job.earlier = earlier;
    }
}

/// A message for the log of the client.
pub(crate) fn log(kind: MessageType, text: &str) -> Message {
    let params = LogMessageParams { typ: kind, message: text.to_owned() };
    Notification::new(LogMessage::METHOD.to_owned(), params).into()
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
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
        self.trace = params.trace.unwrap_or_default();
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
        let (outcomes, heat, shown_tokens) = (&document.outcomes, &document.heat, &mut document.shown_tokens);
        let (client, settings, rules) = (&self.client, &self.settings, &document.rules);
        let mut cx = Cx { checked, client, settings, rules, uri, version, outcomes, heat, shown_tokens };
        let Request { id, method, params } = request;
        let begun = Instant::now();
        let answer = catch_unwind(AssertUnwindSafe(|| requests::answer(&mut cx, &method, params)));
        self.log_trace(&format!("answered `{method}` in {}", milliseconds(begun.elapsed())), String::new);
        match answer {
            Ok(Ok(value)) => self.send(Response { id, response_result: Ok(value) }),
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
        // Some clients cannot say which text they mean.
        let only = self.documents.keys().next().filter(|_| self.documents.len() == 1).cloned();
        let Some(uri) = args.text_document.as_ref().map(|document| document.uri.clone()).or(only) else {
            return self.fail(id, ErrorCode::InvalidParams, "no document is named");
        };
        let Some(document) = self.documents.get(&uri) else {
            return self.fail(id, ErrorCode::InvalidParams, &format!("`{}` is not open", uri.as_str()));
        };
        let (revision, text) = (document.revision, document.text.clone());
        let work = Work::new(what, args, &uri, &text);
        if let Some(given) = work.given() {
            self.keep_found(&uri, revision, what, given);
            return self.send(Response::new_ok(id, commands::finished(&work, &text, given.clone())));
        }
        if self.client.trust == Some(false) {
            return self.fail(id, ErrorCode::RequestFailed, "nothing is run in a workspace that is not trusted");
        }
        let progress = params.work_done_progress_params.work_done_token;
        let title = work.title();
        if let Some(token) = &progress {
            self.tell_progress(&json!(token), json!({ "kind": "begin", "title": title, "cancellable": true }));
        }
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
                    self.keep_found(&job.uri, job.revision, job.work.what(), &found);
                    Ok(commands::finished(&job.work, &job.text, found))
                }
                Err(why) => Err((ErrorCode::RequestFailed, why)),
            };
            self.done(job, answer);
        }
        self.start_jobs();
    }

    /// Keeps what tests or a profile gave, as long as the text is the one they ran on, and has what shows it asked for again.
    fn keep_found(&mut self, uri: &Uri, revision: u64, what: What, found: &Value) {
        let document = self.documents.get_mut(uri).filter(|document| document.revision == revision);
        let Some(document) = document else { return };
        match what {
            What::Run => {
                let outcomes = commands::outcomes(found);
                document.outcomes.retain(|old| outcomes.iter().all(|new| new.line != old.line));
                document.outcomes.extend(outcomes);
                if self.client.refreshes_lenses {
                    self.ask(CodeLensRefresh::METHOD, Value::Null);
                }
            }
            What::Profile => {
                document.heat = commands::heat(found);
                if self.client.refreshes_hints {
                    self.ask(InlayHintRefreshRequest::METHOD, Value::Null);
                }
            }
            What::Pass | What::Picture => {}
        }
    }

    fn done(&self, job: jobs::Job, answer: Result<Value, (ErrorCode, String)>) {
        if let Some(token) = &job.progress {
            self.tell_progress(&json!(token), json!({ "kind": "end" }));
        }
        match answer {
            Ok(value) => self.send(Response::new_ok(job.request, value)),
            Err((code, why)) => self.fail(job.request, code, &why),
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
                self.register();
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
            SetTrace::METHOD => read(params).map(|params: SetTraceParams| self.trace = params.value),
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
        // What has been checked by now is where the next check starts.
        while let Ok(done) = self.done.try_recv() {
            self.checked(done);
        }
        let uri = &params.text_document.uri;
        let Some(document) = self.documents.get_mut(uri) else { return };
        document.text = document.text.changed(&params.content_changes);
        document.version = params.text_document.version;
        document.outcomes.clear();
        document.heat.clear();
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
        let (text, rules, earlier) = (document.text.clone(), document.rules.clone(), document.checked.take());
        let _ = self.checks.send(Job { uri: uri.clone(), revision: document.revision, text, rules, earlier });
        if let (Progress::None, true) = (&self.progress, self.client.progress) {
            self.progress = Progress::Soon(after(SLOW));
        }
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
                document.checked = None;
            }
            self.check(&uri);
        }
        self.publish_configurations();
        if self.client.refreshes_diagnostics {
            self.ask(WorkspaceDiagnosticRefresh::METHOD, Value::Null);
        }
    }

    /// Tells the client of a check that takes long.
    fn show_progress(&mut self) {
        let token = json!(format!("relayc/check/{}", self.revisions));
        self.progress = Progress::Shown(token.clone());
        self.ask("window/workDoneProgress/create", json!({ "token": token }));
        self.tell_progress(&token, json!({ "kind": "begin", "title": "Checking", "cancellable": false }));
    }

    fn tell_progress(&self, token: &Value, value: Value) {
        self.send(Notification::new("$/progress".to_owned(), json!({ "token": token, "value": value })));
    }

    /// Sends a request whose answer tells nothing that is needed.
    fn ask(&mut self, method: &str, params: Value) {
        self.n_sent += 1;
        self.send(Request::new(RequestId::from(self.n_sent), method.to_owned(), params));
    }

    /// Asks for the settings' changes, where the client wants to be asked.
    fn register(&mut self) {
        if self.client.registers_settings {
            let method = DidChangeConfiguration::METHOD;
            let settings = json!({ "id": "settings", "method": method, "registerOptions": { "section": "relayc" } });
            self.ask("client/registerCapability", json!({ "registrations": [settings] }));
        }
    }

    /// What the server does, for a client that wants to know.
    fn log_trace(&self, message: &str, verbose: impl FnOnce() -> String) {
        if self.trace != TraceValue::Off {
            let verbose = (self.trace == TraceValue::Verbose).then(verbose).filter(|text| !text.is_empty());
            let params = LogTraceParams { message: message.to_owned(), verbose };
            self.send(Notification::new(LogTrace::METHOD.to_owned(), params));
        }
    }

    /// Takes the result of a check, and answers what has waited for it.
    fn checked(&mut self, done: Done) {
        let Done { uri, revision, time, result } = done;
        if let Ok(checked) = &result {
            let message = format!("checked `{}` in {}", requests::name(&uri), milliseconds(time));
            self.log_trace(&message, || {
                let n_inferred = checked.analysis.n_inferred;
                format!("inferred {n_inferred} of {} functions", checked.module().globals.len().max(n_inferred))
            });
        }
        // Every check of an older form ends before.
        if revision == self.revisions
            && let Progress::Shown(token) = std::mem::replace(&mut self.progress, Progress::None)
        {
            self.tell_progress(&token, json!({ "kind": "end" }));
        }
        let Some(document) = self.documents.get_mut(&uri).filter(|document| document.revision == revision) else { return };
        let waiting = std::mem::take(&mut document.waiting);
        match result {
            Ok(checked) => {
                document.checked = Some(checked);
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
        let (outcomes, heat, shown_tokens) = (&document.outcomes, &document.heat, &mut document.shown_tokens);
        let (client, settings, rules) = (&self.client, &self.settings, &document.rules);
        let cx = Cx { checked, client, settings, rules, uri, version, outcomes, heat, shown_tokens };
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
