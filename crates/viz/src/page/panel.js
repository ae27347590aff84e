// What is said beside the picture: the selected node, the memory.

const panel = document.getElementById("panel");

function element(tag, text, parent) {
  const made = document.createElement(tag);
  if (text != null) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

function table(rows) {
  const made = element("table", null, panel);
  for (const row of rows) {
    const line = element("tr", null, made);
    row.forEach((cell) => element("td", cell, line));
  }
}

function section(title, rows) {
  if (!rows.length) return;
  element("h3", title, panel);
  table(rows);
}

function nameOf(at) {
  const node = nodes[at];
  return node.n && node.n !== node.l ? node.n + " = " + node.l : node.l;
}

function links(title, ends) {
  if (!ends.length) return;
  element("h3", title, panel);
  for (const [at, label, ty] of ends.slice(0, 60)) {
    const link = element("a", [nameOf(at), label, ty].filter(Boolean).join("  "), panel);
    link.tabIndex = 0;
    link.onclick = () => go(at);
    link.onkeydown = (event) => { if (event.key === "Enter") go(at); };
  }
  if (ends.length > 60) element("div", "and " + (ends.length - 60) + " more", panel);
}

function showPanel() {
  const before = panel.childElementCount > 0;
  panel.textContent = "";
  const chosen = state.selected;
  if (chosen) chosen.group ? groupPanel(groups[chosen.at], chosen.at) : nodePanel(nodes[chosen.at], chosen.at);
  if (before !== panel.childElementCount > 0) paint();
}

function nodePanel(node, at) {
  element("h2", node.n && node.n !== node.l ? node.n + " = " + node.l : node.l, panel);
  if (node.t) element("div", node.t, panel);
  if (node.x) element("div", node.x === "added" ? "only after the passes" : "only before the passes", panel).className = "dim";
  section("measured", node.i || []);
  section("attributes", node.a || []);
  section("weights and constants", node.w || []);
  if (node.s) {
    element("h3", "line " + node.s[0] + ", column " + node.s[1], panel);
    element("pre", data.lines[node.s[0]] || "", panel);
  }
  links("operands", incoming[at].map((edge) => [edges[edge][0], edges[edge][2], edges[edge][3]]));
  links("used by", outgoing[at].map((edge) => [edges[edge][1], edges[edge][2], ""]));
  if (node.u) element("div", "and by " + node.u + " outside of the picture", panel).className = "dim";
  const called = data.links.find((link) => link[0] === at && groups[link[1]] && groups[link[1]].p == null);
  if (called) {
    element("h3", "calls", panel);
    const link = element("a", groups[called[1]].t, panel);
    link.tabIndex = 0;
    link.onclick = () => goGroup(called[1]);
  }
  const around = [];
  for (let group = node.g; group != null; group = groups[group].p) around.unshift(groups[group].t);
  element("h3", "in", panel);
  element("div", around.join(" › "), panel);
}

function groupPanel(group, at) {
  element("h2", group.t, panel);
  element("div", group.k + ", " + (open[at] ? "open" : "closed") + ": Enter changes that", panel).className = "dim";
  const counts = new Map();
  for (const inside of nodesIn(at)) {
    const node = nodes[inside];
    if (node.k === "operator") counts.set(node.l.split(" ")[0], (counts.get(node.l.split(" ")[0]) || 0) + 1);
  }
  section("operators", [...counts].sort((a, b) => b[1] - a[1]).map(([name, n]) => [String(n), name]));
}

function nodesIn(at) {
  const found = [], waiting = [at];
  while (waiting.length) {
    const group = waiting.pop(), { parts } = groups[group].v;
    for (let i = 0; i < parts.length; i += 2) {
      if (parts[i] === 0) found.push(parts[i + 1]);
      if (parts[i] === 1) waiting.push(parts[i + 1]);
    }
  }
  return found;
}

// The arena: steps from left to right, bytes from below.
const chart = document.getElementById("chart"), memoryBox = document.getElementById("memory");
const bytes = (n) => (n >= 1 << 20 ? (n / (1 << 20)).toFixed(2) + " MiB" : n >= 1024 ? (n / 1024).toFixed(1) + " KiB" : n + " B");

function paintMemory(over) {
  if (!data.memory || memoryBox.hidden) return;
  const ratio = window.devicePixelRatio || 1, width = chart.clientWidth, height = chart.clientHeight, { memory } = data;
  chart.width = width * ratio; chart.height = height * ratio;
  const pen = chart.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  const sx = (width - 20) / Math.max(1, memory.steps), sy = (height - 36) / Math.max(1, memory.arena);
  const most = memory.buffers.reduce((most, own) => Math.max(most, own[3]), 1);
  memory.buffers.forEach((own, at) => {
    const [node, , offset, size, first, last] = own;
    const x = 10 + first * sx, w = Math.max(1, (last - first + 1) * sx), h = Math.max(0.5, size * sy), y = height - 8 - (offset + size) * sy;
    own.box = [x, y, w, h];
    pen.fillStyle = mixed(colors.cold, colors.hot, 0.15 + 0.85 * Math.sqrt(size / most));
    pen.fillRect(x, y, w, h);
    const chosen = state.selected && !state.selected.group && state.selected.at === node;
    pen.strokeStyle = at === over || (chosen && node != null) ? colors.accent : colors.border;
    pen.lineWidth = at === over || chosen ? 2 : 0.6;
    pen.strokeRect(x, y, w, h);
    if (w > 60 && h > 12) {
      pen.fillStyle = colors.fg; pen.font = "10px " + MONO;
      pen.fillText(own[1].slice(0, Math.floor(w / 6.2)), x + 3, y + h / 2 + 3.5);
    }
  });
  const own = over == null ? null : memory.buffers[over];
  document.getElementById("chartText").textContent = own
    ? `${own[1]}: ${bytes(own[3])} at ${own[2]}, steps ${own[4]}–${own[5]}`
    : `arena ${bytes(memory.arena)}, the most needed at one time ${bytes(memory.live)}; ${memory.steps} steps`;
}

function bufferAt(event) {
  const box = chart.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  const found = data.memory.buffers.findIndex(({ box }) => box && x >= box[0] && x <= box[0] + box[2] && y >= box[1] && y <= box[1] + box[3]);
  return found < 0 ? null : found;
}

chart.onmousemove = (event) => paintMemory(bufferAt(event));
chart.onmouseleave = () => paintMemory();
chart.onclick = (event) => {
  const at = bufferAt(event);
  if (at != null && data.memory.buffers[at][0] != null) go(data.memory.buffers[at][0]);
};

function toggleMemory() {
  if (!data.memory) return;
  memoryBox.hidden = !memoryBox.hidden;
  paintMemory();
}

function showLegend() {
  const legend = document.getElementById("legend");
  const entry = (color, text) => {
    const made = element("span", null, legend);
    element("i", null, made).style.background = color;
    made.append(text);
  };
  legend.textContent = "";
  if (nodes.some((node) => node.x)) {
    entry(colors.added, "added"); entry(colors.removed, "removed");
  }
  if (data.heat) {
    entry(colors.cold, "little " + data.heat); entry(colors.hot, "most " + data.heat);
  } else {
    const families = { products: "products", elements: "element by element", moves: "moves", reduction: "reductions", other: "other operators" };
    for (const family in families) {
      if (nodes.some((node) => node.f === family)) entry(colors[family], families[family]);
    }
  }
}
