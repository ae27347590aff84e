// Pages of diagnostic codes, `relayc:explain/E0301`: where the code of a diagnostic leads.

import * as vscode from "vscode";
import type { Server } from "./server";

export class Explanations implements vscode.Disposable, vscode.TextDocumentContentProvider {
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly server: Server) {
    this.subscriptions = [
      vscode.workspace.registerTextDocumentContentProvider("relayc", this),
      vscode.workspace.onDidOpenTextDocument((document) => {
        if (document.uri.scheme === "relayc") void vscode.languages.setTextDocumentLanguage(document, "markdown");
      }),
    ];
  }

  dispose(): void {
    this.subscriptions.forEach((own) => own.dispose());
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const code = uri.path.replace(/^explain\//, "");
    const page = await this.server.execute<{ page: string }>("relayc.explain", { code });
    return page?.page ?? "";
  }

  async show(code?: string): Promise<void> {
    const box = { prompt: "The code of a diagnostic", placeHolder: "E0301", value: this.codeHere() };
    const wanted = code ?? (await vscode.window.showInputBox(box));
    if (wanted) await vscode.commands.executeCommand("markdown.showPreviewToSide", vscode.Uri.parse(`relayc:explain/${wanted}`));
  }

  /** The code of the diagnostic at the cursor. */
  private codeHere(): string | undefined {
    const editor = vscode.window.activeTextEditor;
    if (!editor) return undefined;
    const here = vscode.languages.getDiagnostics(editor.document.uri).find(({ range }) => range.contains(editor.selection.active));
    const code = typeof here?.code === "object" ? here.code.value : here?.code;
    return code?.toString();
  }
}
