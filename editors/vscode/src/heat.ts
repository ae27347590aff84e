// The profile of a text in it: how much of the time each line takes, measured now or read from what `relayc profile --json` wrote.

import { spawn } from "node:child_process";
import * as fs from "node:fs/promises";
import * as os from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";
import { meant } from "./relay";
import type { Server } from "./server";

/** What `relayc profile` says of a group. */
type Group = {
  line: number;
  ms: number;
  share: number;
  bound: string;
  of_peak: number;
  of_bandwidth: number;
  operators: string[];
  kernel: string;
};

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
  private readonly shown = new Map<string, Map<number, Group[]>>();
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

  /** Shows the heat of a text; takes it away where it is shown. */
  async toggle(): Promise<void> {
    const uri = meant();
    if (!uri) return;
    if (this.shown.delete(uri.toString())) return this.paintAll();
    const measure = { label: "Measure now", detail: "Compiles and runs @main, with random values for inputs" };
    const read = { label: "Read a profile…", detail: "A file that relayc profile --json has written" };
    const chosen = await vscode.window.showQuickPick(vscode.workspace.isTrusted ? [measure, read] : [read]);
    if (!chosen) return;
    try {
      const text = chosen === measure ? await this.measured(uri) : await this.file();
      if (!text) return;
      const lines = new Map<number, Group[]>();
      for (const group of (JSON.parse(text) as { groups: Group[] }).groups) {
        // What has no place in the text has no line.
        if (group.line) lines.set(group.line - 1, [...(lines.get(group.line - 1) ?? []), group]);
      }
      this.shown.set(uri.toString(), lines);
      this.paintAll();
    } catch (error) {
      void vscode.window.showErrorMessage(`There is no profile: ${(error as Error).message}`);
    }
  }

  private async measured(uri: vscode.Uri): Promise<string> {
    const document = await vscode.workspace.openTextDocument(uri);
    // As the editor has it. Node gives a child a socket for its standard input, which has no path to be opened by.
    const folder = await fs.mkdtemp(path.join(os.tmpdir(), "relayc-"));
    const file = path.join(folder, "text.relay");
    await fs.writeFile(file, document.getText());
    const progress = { location: vscode.ProgressLocation.Notification, title: "Profiling", cancellable: true };
    const measured = vscode.window.withProgress(progress, (_, token) => new Promise<string>((resolve, reject) => {
      const child = spawn(this.server.program(), ["profile", file, "--json", "--fill", "rand:seed=1", "--message-format", "short"]);
      let [out, words] = ["", ""];
      token.onCancellationRequested(() => child.kill());
      child.on("error", reject);
      child.stdout.on("data", (data) => { out += data; });
      child.stderr.on("data", (data) => { words += data; });
      child.on("close", (code) => {
        if (code === 0 || token.isCancellationRequested) resolve(token.isCancellationRequested ? "" : out);
        else reject(new Error(words.split("\n")[0]));
      });
    }));
    return Promise.resolve(measured).finally(() => fs.rm(folder, { recursive: true, force: true }));
  }

  private async file(): Promise<string | undefined> {
    const [file] = (await vscode.window.showOpenDialog({ filters: { Profile: ["json"] } })) ?? [];
    return file && new TextDecoder().decode(await vscode.workspace.fs.readFile(file));
  }

  private paintAll(): void {
    vscode.window.visibleTextEditors.forEach((editor) => {
      const lines = this.shown.get(editor.document.uri.toString()) ?? new Map<number, Group[]>();
      const shares = [...lines].map(([line, groups]) => ({ line, groups, share: groups.reduce((sum, group) => sum + group.share, 0) }));
      const most = Math.max(...shares.map(({ share }) => share), 1e-9);
      this.shades.forEach((type, shade) => {
        const own = shares.filter(({ share }) => Math.min(SHADES - 1, Math.floor((share / most) * SHADES)) === shade);
        editor.setDecorations(type, own.filter(({ line }) => line < editor.document.lineCount).map(({ line, groups, share }) => ({
          range: editor.document.lineAt(line).range,
          hoverMessage: new vscode.MarkdownString(groups.map(words).join("\n\n")),
          renderOptions: {
            after: {
              contentText: `${(100 * share).toFixed(1)} %, ${groups.reduce((sum, group) => sum + group.ms, 0).toPrecision(3)} ms`,
              color: new vscode.ThemeColor("editorCodeLens.foreground"),
              margin: "0 0 0 2em",
            },
          },
        })));
      });
    });
  }
}

/** A group in words. */
function words(group: Group): string {
  const percent = (share: number) => `${(100 * share).toFixed(0)} %`;
  const reached = group.bound === "compute" ? `${percent(group.of_peak)} of the peak` : `${percent(group.of_bandwidth)} of the bandwidth`;
  return `**${group.operators.join(" + ")}**: ${group.ms.toPrecision(3)} ms, ${reached}  \n\`${group.kernel}\``;
}
