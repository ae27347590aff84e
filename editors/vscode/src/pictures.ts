// The picture of a text beside it: the page of `relayc viz -f html`, which says what is chosen and is told where the cursor is.

import * as vscode from "vscode";
import { meant, settled } from "./relay";
import type { Server } from "./server";

/** A page, and the place in the text of each of its nodes. */
type Picture = { html: string; nodes: (vscode.Range | null)[] };

type Shown = { panel: vscode.WebviewPanel; nodes: (vscode.Range | null)[]; function?: string; asked?: vscode.CancellationTokenSource };

/** VS Code gives pages a margin, which a page of one canvas does not want. */
const STYLE = "body { padding: 0; }";

/** What a page is told before its own script: it takes the keyboard only where the user went into it. */
const BEFORE = `
  const plainFocus = HTMLElement.prototype.focus;
  HTMLElement.prototype.focus = function (...how) { if (document.hasFocus()) plainFocus.apply(this, how); };`;

/** What a page is told after its own script. */
const AFTER = `
  const editor = acquireVsCodeApi();
  const isDark = () => ["vscode-dark", "vscode-high-contrast"].some((theme) => document.body.classList.contains(theme));
  setTheme(isDark() ? "dark" : "light");
  const before = editor.getState();
  if (before && before.title === data.title) { Object.assign(view, before.view); paint(); }
  // What is chosen stands in the middle of the room that its panel leaves.
  new ResizeObserver(() => {
    const box = state.selected && boxOf.get((state.selected.group ? "g" : "n") + state.selected.at);
    if (box) { view.x = box.x + box.w / 2 - canvas.clientWidth / view.scale / 2; paint(); }
  }).observe(canvas);
  let isTold = false;
  const plainSelect = select, plainPaint = paintNow;
  paintNow = () => { plainPaint(); editor.setState({ title: data.title, view: { ...view } }); };
  select = (chosen) => { plainSelect(chosen); if (chosen && !chosen.group && !isTold) editor.postMessage({ node: chosen.at }); };
  addEventListener("message", ({ data: told }) => {
    if (typeof told.node !== "number") return;
    isTold = true;
    try { go(told.node); } finally { isTold = false; }
  });
  editor.postMessage({ ready: true });`;

export class Pictures implements vscode.Disposable {
  private readonly shown = new Map<string, Shown>();
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly server: Server) {
    this.subscriptions = [
      settled((uri) => void this.draw(uri)),
      vscode.window.onDidChangeTextEditorSelection(({ textEditor, kind }) => {
        if (kind !== undefined) this.point(textEditor);
      }),
    ];
  }

  dispose(): void {
    this.subscriptions.forEach((own) => own.dispose());
    this.shown.forEach(({ panel }) => panel.dispose());
  }

  async show(of?: string | vscode.Uri, name?: string): Promise<void> {
    const uri = meant(of);
    if (!uri) return;
    const key = uri.toString();
    const known = this.shown.get(key);
    if (known) {
      known.function = name;
      known.panel.reveal(undefined, true);
    } else {
      const title = `Picture of ${uri.path.split("/").at(-1)}`;
      const place = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
      const panel = vscode.window.createWebviewPanel("relayc.picture", title, place, {
        enableScripts: true,
        localResourceRoots: [],
        retainContextWhenHidden: true,
      });
      this.shown.set(key, { panel, nodes: [], function: name });
      panel.onDidDispose(() => this.shown.delete(key));
      panel.webview.onDidReceiveMessage((told: { node?: number; ready?: boolean }) => {
        if (told.node !== undefined) void this.reveal(uri, told.node);
        const editor = editorOf(uri);
        if (told.ready && editor) this.point(editor);
      });
    }
    await this.draw(uri);
  }

  /** Draws a text anew, if its picture is shown. */
  private async draw(uri: vscode.Uri): Promise<void> {
    const shown = this.shown.get(uri.toString());
    if (!shown) return;
    shown.asked?.cancel();
    const asked = (shown.asked = new vscode.CancellationTokenSource());
    try {
      const args = { textDocument: { uri: uri.toString() }, format: "html", function: shown.function };
      const picture = await this.server.execute<Picture>("relayc.picture", args, asked.token);
      if (!picture || asked.token.isCancellationRequested) return;
      shown.nodes = picture.nodes.map((range) => range && this.server.range(range));
      const data = '<script type="application/json"';
      shown.panel.webview.html = picture.html
        .replace(data, () => `<style>${STYLE}</style>\n<script>${BEFORE}</script>\n${data}`)
        .replace("</body>", () => `<script>${AFTER}</script>\n</body>`);
    } catch (error) {
      // A text that cannot be drawn keeps the picture it had.
      if (shown.nodes.length === 0 && !asked.token.isCancellationRequested) {
        const words = (error as Error).message.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`);
        shown.panel.webview.html = `<pre>${words}</pre>`;
      }
    }
  }

  /** Chooses in the picture what is at the cursor: the smallest node around it. */
  private point(editor: vscode.TextEditor): void {
    const shown = this.shown.get(editor.document.uri.toString());
    if (!shown) return;
    const at = editor.selection.active;
    let best: number | undefined;
    const line = (range: vscode.Range) => range.start.line <= at.line && at.line <= range.end.line;
    for (const holds of [(range: vscode.Range) => range.contains(at), line]) {
      shown.nodes.forEach((range, node) => {
        if (range && holds(range) && (best === undefined || shown.nodes[best]!.contains(range))) best = node;
      });
      if (best !== undefined) break;
    }
    if (best !== undefined) void shown.panel.webview.postMessage({ node: best });
  }

  /** Shows in the text what was chosen in the picture. */
  private async reveal(uri: vscode.Uri, node: number): Promise<void> {
    const range = this.shown.get(uri.toString())?.nodes[node];
    if (!range) return;
    const beside = { viewColumn: vscode.ViewColumn.One, preserveFocus: true };
    const editor = editorOf(uri) ?? (await vscode.window.showTextDocument(uri, beside));
    editor.selection = new vscode.Selection(range.start, range.start);
    editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }
}

/** The editor that shows a text, if one does. */
function editorOf(uri: vscode.Uri): vscode.TextEditor | undefined {
  return vscode.window.visibleTextEditors.find((editor) => editor.document.uri.toString() === uri.toString());
}
