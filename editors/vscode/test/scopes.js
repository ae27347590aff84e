// Prints what the grammar makes of texts, for tests/suite/editors.rs: `file PATH`, then `START END SCOPE` in bytes, the outermost
// scope below the language's own. Usage: node scopes.js GRAMMAR < list of paths.
const fs = require("fs");
const path = require("path");
const textmate = require("vscode-textmate");
const oniguruma = require("vscode-oniguruma");

async function main() {
  const wasm = fs.readFileSync(path.join(path.dirname(require.resolve("vscode-oniguruma")), "onig.wasm"));
  await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength));
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async (name) =>
      name === "source.relay" ? textmate.parseRawGrammar(fs.readFileSync(process.argv[2], "utf8"), "relay.json") : null,
  });
  const grammar = await registry.loadGrammar("source.relay");
  const out = [];
  for (const file of fs.readFileSync(0, "utf8").split("\n").filter((line) => line)) {
    out.push(`file ${file}`);
    let state = textmate.INITIAL;
    let at = 0;
    for (const line of fs.readFileSync(file, "utf8").split("\n")) {
      const bytes = (end) => at + Buffer.byteLength(line.slice(0, end));
      const found = grammar.tokenizeLine(line, state);
      for (const { startIndex, endIndex, scopes } of found.tokens) {
        if (scopes.length > 1) out.push(`${bytes(startIndex)} ${bytes(Math.min(endIndex, line.length))} ${scopes[1]}`);
      }
      state = found.ruleStack;
      at += Buffer.byteLength(line) + 1;
    }
  }
  process.stdout.write(out.join("\n") + "\n");
}

main();
