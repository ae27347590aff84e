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

  async show(of?: string): Promise<void> {
    const uri = meant(of);
    if (!uri) return;
    const known = await this.server.execute<{ passes: { name: string; doc: string }[] }>("relayc.passes", {});
    const levels = [0, 1, 2, 3].map((level) => ({ label: `-O${level}`, detail: "All passes of this level" }));
    const items = [...levels.reverse(), ...(known?.passes ?? []).map(({ name, doc }) => ({ label: name, detail: doc }))];
    const chosen = await vscode.window.showQuickPick(items, { placeHolder: "A pass or a level", matchOnDetail: true });
    if (!chosen) return;
    const name = uri.path.split("/").at(-1)?.replace(/\.relay$/, "") ?? "text";
    const query = JSON.stringify({ uri: uri.toString(), passes: chosen.label });
    const document = await vscode.workspace.openTextDocument(vscode.Uri.from({ scheme: "relayc-pass", path: `/${name} after ${chosen.label}.relay`, query }));
    await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: false });
  }

  async provideTextDocumentContent(uri: vscode.Uri, token: vscode.CancellationToken): Promise<string> {
    const { uri: of, passes } = source(uri);
    try {
      const made = await this.server.execute<{ text: string }>("relayc.pass", { textDocument: { uri: of }, passes }, token);
      return made?.text ?? "";
    } catch (error) {
      return (error as Error).message.replace(/^/gm, "// ") + "\n";
    }
  }
}

function source(uri: vscode.Uri): { uri: string; passes: string } {
  return JSON.parse(uri.query);
}
