// What VS Code starts: the server, and what the commands of this extension show.

import * as vscode from "vscode";
import { Explanations } from "./explanations";
import { Heat } from "./heat";
import { Passes } from "./passes";
import { Pictures } from "./pictures";
import { Server } from "./server";
import { Tests } from "./tests";

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const server = new Server(context);
  const pictures = new Pictures(server);
  const passes = new Passes(server);
  const explanations = new Explanations(server);
  const tests = new Tests(server);
  const heat = new Heat(server);
  context.subscriptions.push(server, pictures, passes, explanations, tests, heat);
  const command = (name: string, act: (...args: never[]) => unknown) =>
    context.subscriptions.push(vscode.commands.registerCommand(name, act));
  command("relayc.restartServer", () => server.restart());
  command("relayc.showPicture", (uri?: string | vscode.Uri, name?: string) => pictures.show(uri, name));
  command("relayc.showPass", (uri?: string, name?: string) => passes.show(uri, name));
  command("relayc.showExplanation", (code?: string) => explanations.show(code));
  command("relayc.showProfile", (uri?: string) => heat.toggle(uri));
  command("relayc.runTests", () => tests.runActive());
  await server.restart();
}
