// Opens pages of `relayc viz -f html` in headless Chromium, uses them by hand and keys, and says how long everything took.
//
//     npm install playwright-core
//     node tests/browser/viz.mjs [--shots FOLDER] net.html…
//
// CHROMIUM names the browser, /usr/bin/chromium without it. Exit code 1: a page asked for the network, failed, or took a second.
import { chromium } from "playwright-core";
import path from "node:path";
import { pathToFileURL } from "node:url";

const LIMIT = 1000;
const args = process.argv.slice(2);
const shots = args[0] === "--shots" ? args.splice(0, 2)[1] : null;
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});
let failed = false;

for (const file of args) {
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("console", (message) => message.type() === "error" && wrong.push(message.text()));
  page.on("request", (request) => request.url().startsWith("file:") || wrong.push("asked for " + request.url()));
  const shot = (name) => shots && page.screenshot({ path: path.join(shots, `${path.basename(file, ".html")}-${name}.png`) });
  await page.goto(pathToFileURL(path.resolve(file)).href);
  await page.waitForFunction(() => window.ready);
  const times = { ready: await page.evaluate(() => window.ready), script: await page.evaluate(() => window.took) };
  const visible = await page.evaluate(() => ({ nodes: nodes.length, boxes: shown.boxes.length, frames: shown.frames.length }));
  await shot("start");
  // From the key or the wheel to the frame that shows it.
  const timed = (act) => page.evaluate(async (act) => {
    const before = performance.now();
    new Function(act)();
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    return performance.now() - before;
  }, act);
  times.fit = await timed("fit()");
  await shot("fit");
  times.zoom = await timed("canvas.dispatchEvent(new WheelEvent('wheel', { deltaY: -120, clientX: 600, clientY: 450 }))");
  times.pan = await timed("view.x += 40; paint()");
  await page.keyboard.press("/");
  const name = await page.evaluate(() => nodes.filter((node) => node.n && node.k === "operator").at(-1)?.n || nodes[0].l);
  times.search = await timed(`search.value = ${JSON.stringify(name)}; search.oninput()`);
  await page.keyboard.press("Enter");
  await page.waitForTimeout(50);
  if (!(await page.evaluate(() => state.selected && panel.childElementCount > 0))) wrong.push(`search for ${name} selects nothing`);
  await shot("found");
  times.close = await timed("openAll(false)");
  await shot("closed");
  times.open = await timed("openAll(true)");
  await shot("open");
  await page.keyboard.press("Escape");
  await page.evaluate(() => canvas.focus());
  await page.keyboard.press("t");
  await page.evaluate(() => start());
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  if (!(await page.evaluate(() => state.selected))) wrong.push("the arrows select nothing");
  await page.waitForTimeout(50);
  await shot("dark");
  // Nothing may lie on anything else.
  const overlaps = await page.evaluate(() => {
    const rows = [...shown.boxes].sort((a, b) => a.y - b.y);
    let n = 0;
    rows.forEach((a, at) => {
      for (let i = at + 1; i < rows.length && rows[i].y < a.y + a.h - 0.5; i++) {
        const b = rows[i];
        if (b.x < a.x + a.w - 0.5 && a.x < b.x + b.w - 0.5) n++;
      }
    });
    return n;
  });
  if (overlaps) wrong.push(`${overlaps} boxes overlap`);
  for (const [what, ms] of Object.entries(times)) if (!(ms < LIMIT)) wrong.push(`${what} took ${ms} ms`);
  const figures = Object.entries(times).map(([what, ms]) => `${what} ${ms.toFixed(0)}`).join(", ");
  console.log(`${path.basename(file)}: ${visible.nodes} nodes, ${visible.boxes} boxes at first; ms: ${figures}`);
  wrong.forEach((what) => console.log(`  WRONG: ${what}`));
  failed ||= wrong.length > 0;
  await page.close();
}
await browser.close();
process.exit(failed ? 1 : 0);
