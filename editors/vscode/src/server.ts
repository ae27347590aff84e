// The language server: which program it is, its state in the status bar, and requests to it.

import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { LanguageClient, type LanguageClientOptions, State } from "vscode-languageclient/node";

/** What this extension can do when the server names it in a lens. */
const COMMANDS = ["relayc.showPicture", "relayc.showPass", "relayc.showProfile"];

export class Server implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private readonly output = vscode.window.createOutputChannel("Relay", { log: true });
  private readonly status = vscode.languages.createLanguageStatusItem("relayc", { language: "relay" });
  private readonly subscriptions: vscode.Disposable[] = [];

  constructor(private readonly context: vscode.ExtensionContext) {
    this.status.name = "Relay";
    this.subscriptions.push(
      this.output,
      this.status,
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.restart()),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration("relayc.path")) void this.restart();
      }),
    );
  }

  dispose(): void {
    void this.client?.stop();
    this.subscriptions.forEach((own) => own.dispose());
  }

  async restart(): Promise<void> {
    await this.client?.dispose().catch(() => {});
    const program = this.program();
    const options: LanguageClientOptions = {
      documentSelector: ["file", "untitled", "relayc-pass"].map((scheme) => ({ language: "relay", scheme })),
      // What a pass makes is no text that anybody should mend.
      middleware: {
        provideDiagnostics: (document, previous, token, next) =>
          (document instanceof vscode.Uri ? document : document.uri).scheme === "relayc-pass" ? undefined : next(document, previous, token),
      },
      outputChannel: this.output,
      synchronize: { configurationSection: "relayc" },
      initializationOptions: { relayc: vscode.workspace.getConfiguration("relayc"), trusted: vscode.workspace.isTrusted },
    };
    const run = { command: program, args: ["lsp"] };
    const client = new LanguageClient("relayc", "Relay", run, options);
    client.registerFeature({
      fillClientCapabilities: (capabilities) => {
        capabilities.experimental = { ...capabilities.experimental, relayc: { commands: COMMANDS, explanations: true } };
      },
      initialize: () => {},
      getState: () => ({ kind: "static" }),
      clear: () => {},
    });
    client.onDidChangeState(({ newState }) => this.show(newState, program));
    this.client = client;
    await client.start().catch((error: Error) => {
      this.show(State.Stopped, program);
      void vscode.window.showErrorMessage(`The language server did not start (${program}): ${error.message}`);
    });
  }

  /** Has the server run a command; undefined if it refused, which was said, or was told to stop. */
  async execute<T>(command: string, args: object, token?: vscode.CancellationToken): Promise<T | undefined> {
    const client = this.client;
    if (!client?.isRunning()) return undefined;
    try {
      const params = { command, arguments: [args] };
      // Without a token there may be no third argument, not even an undefined one.
      const method = "workspace/executeCommand";
      return await (token ? client.sendRequest<T>(method, params, token) : client.sendRequest<T>(method, params));
    } catch (error) {
      if (!token?.isCancellationRequested) this.output.info(`${command}: ${(error as Error).message}`);
      throw error;
    }
  }

  /** The range of the protocol in the editor's form. */
  range(range: { start: vscode.Position; end: vscode.Position }): vscode.Range {
    return new vscode.Range(range.start.line, range.start.character, range.end.line, range.end.character);
  }

  /** The program relayc. */
  program(): string {
    const set = vscode.workspace.getConfiguration("relayc").get<string>("path");
    if (set) return set;
    const folders = (process.env.PATH ?? "").split(path.delimiter).filter((folder) => path.isAbsolute(folder));
    const found = folders.map((folder) => path.join(folder, "relayc")).find((file) => fs.existsSync(file));
    return found ?? this.context.asAbsolutePath(path.join("bin", "relayc"));
  }

  private show(state: State, program: string): void {
    const { serverInfo } = this.client?.initializeResult ?? {};
    this.status.busy = state === State.Starting;
    const running = `relayc ${serverInfo?.version ?? ""}`;
    this.status.text = state === State.Running ? running : state === State.Starting ? "relayc starts" : "relayc stopped";
    this.status.detail = program;
    this.status.severity = state === State.Stopped ? vscode.LanguageStatusSeverity.Error : vscode.LanguageStatusSeverity.Information;
    this.status.command = { title: "Restart", command: "relayc.restartServer" };
  }
}
