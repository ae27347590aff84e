// The test view: `// run:` lines of the texts of the workspace.

import * as vscode from "vscode";
import type { Server } from "./server";

type Outcome = { range: vscode.Range; call: string; holds: boolean; message?: string };

export class Tests implements vscode.Disposable {
  private readonly controller = vscode.tests.createTestController("relayc", "Relay");
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly server: Server) {
    this.controller.createRunProfile("Run", vscode.TestRunProfileKind.Run, (request, token) => this.run(request, token), true);
    this.controller.resolveHandler = (item) => (item ? Promise.resolve() : this.discover());
    this.controller.refreshHandler = () => this.discover();
    const watcher = vscode.workspace.createFileSystemWatcher("**/*.relay");
    this.subscriptions = [
      this.controller,
      watcher,
      watcher.onDidCreate((uri) => this.read(uri)),
      watcher.onDidChange((uri) => this.read(uri)),
      watcher.onDidDelete((uri) => this.controller.items.delete(uri.toString())),
      vscode.workspace.onDidOpenTextDocument((document) => this.take(document)),
      vscode.workspace.onDidChangeTextDocument(({ document }) => this.take(document)),
    ];
    vscode.workspace.textDocuments.forEach((document) => this.take(document));
  }

  dispose(): void {
    this.subscriptions.forEach((own) => own.dispose());
  }

  /** Runs the tests of the text in the active editor. */
  async runActive(): Promise<void> {
    const document = vscode.window.activeTextEditor?.document;
    if (!document) return;
    this.take(document);
    const item = this.controller.items.get(document.uri.toString());
    if (item) await this.run(new vscode.TestRunRequest([item]), new vscode.CancellationTokenSource().token);
    else void vscode.window.showInformationMessage("The text has no line `// run:`.");
  }

  private async discover(): Promise<void> {
    const found = await vscode.workspace.findFiles("**/*.relay", "**/{node_modules,target}/**", 2000);
    await Promise.all(found.map((uri) => this.read(uri)));
  }

  private async read(uri: vscode.Uri): Promise<void> {
    // What is open is known better than the file.
    if (vscode.workspace.textDocuments.some((document) => document.uri.toString() === uri.toString())) return;
    const text = new TextDecoder().decode(await vscode.workspace.fs.readFile(uri));
    this.list(uri, text.split("\n"));
  }

  private take(document: vscode.TextDocument): void {
    if (document.languageId !== "relay" || !["file", "untitled"].includes(document.uri.scheme)) return;
    this.list(document.uri, document.getText().split("\n"));
  }

  private list(uri: vscode.Uri, lines: string[]): void {
    const tests: vscode.TestItem[] = [];
    lines.forEach((line, at) => {
      const call = /^\s*\/\/ run:\s*(.*?)\s*$/.exec(line)?.[1];
      if (call === undefined) return;
      const item = this.controller.createTestItem(`${uri}#${tests.length}`, call, uri);
      item.sortText = String(at).padStart(7, "0");
      item.range = new vscode.Range(at, 0, at, line.length);
      tests.push(item);
    });
    const known = this.controller.items.get(uri.toString());
    if (tests.length === 0) return this.controller.items.delete(uri.toString());
    const file = known ?? this.controller.createTestItem(uri.toString(), vscode.workspace.asRelativePath(uri), uri);
    const same = tests.length === file.children.size && tests.every((test) => {
      const before = file.children.get(test.id);
      if (before?.label !== test.label) return false;
      before.range = test.range;
      return true;
    });
    if (!same) file.children.replace(tests);
    if (!known) this.controller.items.add(file);
  }

  private async run(request: vscode.TestRunRequest, token: vscode.CancellationToken): Promise<void> {
    const run = this.controller.createTestRun(request);
    const files = new Map<vscode.TestItem, vscode.TestItem[]>();
    const add = (item: vscode.TestItem) => {
      if (request.exclude?.includes(item)) return;
      if (!item.parent) return item.children.forEach(add);
      files.set(item.parent, [...(files.get(item.parent) ?? []), item]);
    };
    (request.include ?? [...this.controller.items].map(([, item]) => item)).forEach(add);
    for (const [file, tests] of files) {
      if (token.isCancellationRequested) break;
      tests.forEach((test) => run.started(test));
      try {
        // The server runs what it has been told of.
        await vscode.workspace.openTextDocument(file.uri!);
        const lines = tests.map((test) => test.range!.start.line);
        const args = { textDocument: { uri: file.uri!.toString() }, lines };
        const outcomes = (await this.server.execute<{ results: Outcome[] }>("relayc.run", args, token))?.results ?? [];
        for (const test of tests) {
          const outcome = outcomes.find(({ range }) => range.start.line === test.range!.start.line);
          if (!outcome) run.skipped(test);
          else if (outcome.holds) run.passed(test);
          else {
            const message = new vscode.TestMessage(outcome.message ?? "");
            message.location = new vscode.Location(file.uri!, this.server.range(outcome.range));
            run.failed(test, message);
          }
        }
      } catch (error) {
        tests.forEach((test) => run.errored(test, new vscode.TestMessage((error as Error).message)));
      }
    }
    run.end();
  }
}
