// What several parts of the extension do with texts and editors.

import * as vscode from "vscode";

/** The open Relay text that is meant: the one named, else the one in the active editor. */
export function meant(uri?: string | vscode.Uri): vscode.Uri | undefined {
  if (uri) return typeof uri === "string" ? vscode.Uri.parse(uri) : uri;
  const document = vscode.window.activeTextEditor?.document;
  return document?.languageId === "relay" ? document.uri : undefined;
}

/** Calls a function once nothing more has happened for a while. */
export function settled(act: (uri: vscode.Uri) => void, ms = 250): vscode.Disposable {
  const waiting = new Map<string, NodeJS.Timeout>();
  return vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
    if (document.languageId !== "relay" || contentChanges.length === 0) return;
    const key = document.uri.toString();
    clearTimeout(waiting.get(key));
    waiting.set(key, setTimeout(() => { waiting.delete(key); act(document.uri); }, ms));
  });
}
