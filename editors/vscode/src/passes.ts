// What a pass makes of a text: a document `relayc-pass:` beside it, made anew when the text has changed.

import * as vscode from "vscode";
import { meant, settled } from "./relay";
import type { Server } from "./server";

export class Passes implements vscode.Disposable, vscode.TextDocumentContentProvider {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private readonly subscriptions: vscode.Disposable[];
  readonly onDidChange = this.changed.event;

  constructor(private readonly server: Server) {
    this.subscriptions = [
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider("relayc-pass", this),
      settled((uri) => {
        const shown = vscode.workspace.textDocuments.filter((document) => document.uri.scheme === "relayc-pass");
        shown.filter((document) => source(document.uri).uri === uri.toString()).forEach((document) => this.changed.fire(document.uri));
      }),
    ];
  }

  dispose(): void {
    this.subscriptions.forEach((own) => own.dispose());
  }

  async show(of?: string, name?: string): Promise<void> {
    const uri = meant(of);
    if (!uri) return;
    const known = await this.server.execute<{ passes: { name: string; doc: string }[] }>("relayc.passes", {});
    const levels = [0, 1, 2, 3].map((level) => ({ label: `-O${level}`, detail: "All passes of this level" }));
    const items = [...levels.reverse(), ...(known?.passes ?? []).map(({ name, doc }) => ({ label: name, detail: doc }))];
    const chosen = await vscode.window.showQuickPick(items, { placeHolder: "A pass or a level", matchOnDetail: true });
    if (!chosen) return;
    const what = name ? `@${name}` : (uri.path.split("/").at(-1)?.replace(/\.relay$/, "") ?? "text");
    const query = JSON.stringify({ uri: uri.toString(), passes: chosen.label, function: name } satisfies Source);
    const made = vscode.Uri.from({ scheme: "relayc-pass", path: `/${what} after ${chosen.label}.relay`, query });
    const document = await vscode.workspace.openTextDocument(made);
    await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: false });
  }

  async provideTextDocumentContent(uri: vscode.Uri, token: vscode.CancellationToken): Promise<string> {
    const { uri: of, ...rest } = source(uri);
    try {
      const made = await this.server.execute<{ text: string }>("relayc.pass", { textDocument: { uri: of }, ...rest }, token);
      return made?.text ?? "";
    } catch (error) {
      return (error as Error).message.replace(/^/gm, "// ") + "\n";
    }
  }
}

type Source = { uri: string; passes: string; function?: string };

function source(uri: vscode.Uri): Source {
  return JSON.parse(uri.query);
}
