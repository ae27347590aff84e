//! A client of the server, for tests and benches: it asks and waits for each answer.

use lsp_server::{Connection, Message, Notification, Request, RequestId};
use serde_json::{Value, json};
use std::time::Duration;

/// The one text that is open.
pub(crate) const URI: &str = "file:///net.relay";

pub(crate) struct Client {
    pub(crate) connection: Connection,
    pub(crate) server: std::thread::JoinHandle<bool>,
    n_asked: i32,
}

impl Client {
    /// A client that has said nothing yet.
    pub(crate) fn fresh() -> Client {
        let (connection, server) = Connection::memory();
        Client { connection, server: std::thread::spawn(move || relayc_lsp::serve_over(server)), n_asked: 0 }
    }

    /// A client that can do what the server asks about.
    pub(crate) fn start() -> Client {
        Client::start_as(None, None)
    }

    /// The same with experimental capabilities and options.
    pub(crate) fn start_as(experimental: Option<Value>, options: Option<Value>) -> Client {
        let mut client = Client::fresh();
        let capabilities = json!({
            "textDocument": {
                "hover": { "contentFormat": ["markdown"] },
                "completion": { "completionItem": { "snippetSupport": true } },
                "diagnostic": {},
                "codeAction": {
                    "codeActionLiteralSupport": { "codeActionKind": { "valueSet": [] } },
                    "dataSupport": true,
                    "resolveSupport": { "properties": ["edit"] },
                },
                "signatureHelp": { "signatureInformation": { "parameterInformation": { "labelOffsetSupport": true } } },
                "documentSymbol": { "hierarchicalDocumentSymbolSupport": true },
            },
        });
        let mut params = json!({
            "processId": null, "rootUri": null, "capabilities": capabilities, "initializationOptions": options,
        });
        params["capabilities"]["experimental"] = experimental.unwrap_or_default();
        client.ask("initialize", params).expect("the server starts");
        client.notify("initialized", json!({}));
        client
    }

    pub(crate) fn open(&self, text: &str) {
        let document = json!({ "uri": URI, "languageId": "relay", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    pub(crate) fn notify(&self, method: &str, params: Value) {
        let sent = self.connection.sender.send(Notification::new(method.to_owned(), params).into());
        sent.expect("the server listens");
    }

    pub(crate) fn send(&mut self, method: &str, params: Value) -> RequestId {
        self.n_asked += 1;
        let id = RequestId::from(self.n_asked);
        let request = Request { id: id.clone(), method: method.to_owned(), params };
        self.connection.sender.send(request.into()).expect("the server listens");
        id
    }

    /// The result, or the code and message of an error.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Result<Value, (i32, String)> {
        let id = self.send(method, params);
        loop {
            match self.connection.receiver.recv_timeout(Duration::from_secs(120)).expect("the server answers") {
                Message::Response(response) if response.id == id => {
                    return response.response_result.map_err(|error| (error.code, error.message));
                }
                Message::Response(other) => panic!("an answer to {} that nobody waits for", other.id),
                _ => {}
            }
        }
    }

    pub(crate) fn stop(mut self) {
        self.ask("shutdown", Value::Null).expect("it shuts down");
        self.notify("exit", Value::Null);
        assert!(self.server.join().expect("the server did not panic"), "it ended well");
    }
}
