// The profile of a text in it: each line is shaded by how much of the time it takes, which the server shows as hints.

import * as vscode from "vscode";
import { meant } from "./relay";
import type { Server } from "./server";

/** What the server says of a line. */
type Line = { range: vscode.Range; share: number };

/** How many shades of heat there are. */
const SHADES = 8;

export class Heat implements vscode.Disposable {
  private readonly shades = Array.from({ length: SHADES }, (_, shade) =>
    vscode.window.createTextEditorDecorationType({
      isWholeLine: true,
      backgroundColor: `rgba(226, 74, 51, ${(0.45 * (shade + 1)) / SHADES})`,
      overviewRulerColor: `rgba(226, 74, 51, ${(shade + 1) / SHADES})`,
      overviewRulerLane: vscode.OverviewRulerLane.Left,
    }),
  );
  private readonly shown = new Map<string, Line[]>();
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly server: Server) {
    this.subscriptions = [
      ...this.shades,
      // Lines that have moved would be the wrong ones.
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (contentChanges.length > 0 && this.shown.delete(document.uri.toString())) this.paintAll();
      }),
      vscode.window.onDidChangeVisibleTextEditors(() => this.paintAll()),
    ];
  }

  dispose(): void {
    this.subscriptions.forEach((own) => own.dispose());
  }

  /** Shows the heat of a text, measured now if one is named; takes it away where it is shown. */
  async toggle(of?: string): Promise<void> {
    const uri = meant(of);
    if (!uri) return;
    if (this.shown.has(uri.toString())) return this.show(uri, { groups: [] });
    const measure = { label: "Measure now", detail: "Compiles and runs @main, with random values for inputs" };
    const read = { label: "Read a profile…", detail: "A file that relayc profile --json has written" };
    const chosen = of ? measure : await vscode.window.showQuickPick(vscode.workspace.isTrusted ? [measure, read] : [read]);
    if (!chosen) return;
    try {
      if (chosen === measure) return await this.show(uri);
      const [file] = (await vscode.window.showOpenDialog({ filters: { Profile: ["json"] } })) ?? [];
      if (file) await this.show(uri, JSON.parse(new TextDecoder().decode(await vscode.workspace.fs.readFile(file))));
    } catch (error) {
      void vscode.window.showErrorMessage(`There is no profile: ${(error as Error).message}`);
    }
  }

  /** Has the server show a profile, measured now if there is none, and shades its lines. */
  private async show(uri: vscode.Uri, profile?: object): Promise<void> {
    const progress = { location: vscode.ProgressLocation.Notification, title: "Profiling", cancellable: true };
    const args = { textDocument: { uri: uri.toString() }, profile };
    const found = await vscode.window.withProgress(progress, (_, token) =>
      this.server.execute<{ lines: Line[] }>("relayc.profile", args, token).catch((error) => {
        if (!token.isCancellationRequested) throw error;
        return undefined;
      }));
    if (!found) return;
    if (found.lines.length > 0) this.shown.set(uri.toString(), found.lines);
    else this.shown.delete(uri.toString());
    this.paintAll();
  }

  private paintAll(): void {
    vscode.window.visibleTextEditors.forEach((editor) => {
      const lines = this.shown.get(editor.document.uri.toString()) ?? [];
      const most = Math.max(...lines.map(({ share }) => share), 1e-9);
      this.shades.forEach((type, shade) => {
        const own = lines.filter(({ share }) => Math.min(SHADES - 1, Math.floor((share / most) * SHADES)) === shade);
        editor.setDecorations(type, own.map(({ range }) => this.server.range(range)));
      });
    });
  }
}
