// The hand: pointer, keys, search; then everything begins.

const search = document.getElementById("search"), found = document.getElementById("found");
let matches = [];

function relayout(anchor) {
  // What is under the hand stays there.
  const key = anchor && (anchor.group ? "g" : "n") + anchor.at, before = key && boxOf.get(key);
  layout();
  const after = key && boxOf.get(key);
  if (before && after) {
    view.x += after.x - before.x;
    view.y += after.y - before.y;
  }
  paint();
}

function toggle(at) {
  open[at] = !open[at];
  relayout({ group: true, at });
  showPanel();
}

function openAll(wanted) {
  groups.forEach((group, at) => {
    if (!group) return;
    if (wanted) open[at] = true;
    else if (group.p != null && group.k !== "iteration") open[at] = false;
  });
  layout();
  fit();
}

// Opens what is around a node.
function reveal(group) {
  let changed = false;
  for (; group != null; group = groups[group].p) {
    if (!open[group]) { open[group] = true; changed = true; }
  }
  if (changed) layout();
}

function select(chosen) {
  state.selected = chosen;
  showPanel();
  paintMemory();
  paint();
}

function go(at) {
  reveal(nodes[at].g);
  select({ group: false, at });
  const box = boxOf.get("n" + at);
  if (box) show(box);
}

function goGroup(at) {
  reveal(groups[at].p);
  select({ group: true, at });
  const box = boxOf.get("g" + at);
  if (box) show(box);
}

function boxAt(event) {
  const area = canvas.getBoundingClientRect();
  const x = (event.clientX - area.left) / view.scale + view.x, y = (event.clientY - area.top) / view.scale + view.y;
  const holds = (box) => x >= box.x && x <= box.x + box.w && y >= box.y && y <= box.y + box.h;
  const node = shown.boxes.find(holds);
  if (node) return { box: node, title: node.group };
  // Inner frames come after outer ones.
  let frame = null;
  for (const box of shown.frames) if (holds(box)) frame = box;
  return frame && { box: frame, title: y <= Math.max(frame.y, view.y) + HEAD };
}

let drag = null;
canvas.onpointerdown = (event) => {
  canvas.setPointerCapture(event.pointerId);
  canvas.focus();
  drag = { x: event.clientX, y: event.clientY, moved: false };
};
canvas.onpointermove = (event) => {
  if (drag) {
    const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
    if (drag.moved || Math.abs(dx) + Math.abs(dy) > 3) {
      drag.moved = true;
      view.x -= dx / view.scale; view.y -= dy / view.scale;
      drag.x = event.clientX; drag.y = event.clientY;
      paint();
    }
    return;
  }
  const at = boxAt(event), over = at && !at.box.group ? { group: false, at: at.box.at } : null;
  if ((over && over.at) !== (state.hovered && state.hovered.at)) { state.hovered = over; paint(); }
  canvas.style.cursor = at && (at.title || !at.box.group) ? "pointer" : "grab";
};
canvas.onpointerup = (event) => {
  const moved = drag && drag.moved;
  drag = null;
  if (moved) return;
  const at = boxAt(event);
  select(at ? { group: at.box.group, at: at.box.at } : null);
  if (at && at.box.group && at.title) toggle(at.box.at);
};
canvas.onpointercancel = () => { drag = null; };
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  const area = canvas.getBoundingClientRect();
  const step = event.deltaMode === 1 ? event.deltaY * 16 : event.deltaY;
  zoom(Math.exp(-Math.max(-240, Math.min(240, step)) / 400), event.clientX - area.left, event.clientY - area.top);
}, { passive: false });

function findAll(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  matches = [];
  if (words.length) {
    nodes.forEach((node, at) => {
      node.text ??= [node.n, node.l, node.t, ...(node.L || []), ...(node.a || []).map((pair) => pair.join("=")),
        ...(node.w || []).map((own) => own[1])].join(" ").toLowerCase();
      if (words.every((word) => node.text.includes(word))) matches.push(at);
    });
    // The name itself goes before what only holds it.
    const exact = (at) => [nodes[at].n, nodes[at].l].some((name) => name && name.toLowerCase() === text.trim().toLowerCase());
    matches.sort((a, b) => exact(b) - exact(a) || a - b);
  }
  state.hits = new Set(matches);
  state.hit = -1;
  found.textContent = words.length ? matches.length + " found" : "";
  paint();
}

function nextMatch(step) {
  if (!matches.length) return;
  state.hit = (state.hit + step + matches.length) % matches.length;
  found.textContent = state.hit + 1 + " of " + matches.length;
  go(matches[state.hit]);
}

search.oninput = () => findAll(search.value);
search.onkeydown = (event) => {
  if (event.key === "Enter") { event.preventDefault(); nextMatch(event.shiftKey ? -1 : 1); }
  if (event.key === "Escape") { search.value = ""; findAll(""); canvas.focus(); }
  event.stopPropagation();
};

// To an operand, to a user, to what stands beside.
function step(key) {
  const chosen = state.selected;
  if (!chosen || chosen.group) return shown.boxes.length && pick(shown.boxes.reduce((a, b) => (b.y < a.y ? b : a)));
  const at = chosen.at;
  if (key === "ArrowUp" && incoming[at].length) return go(edges[incoming[at][0]][0]);
  if (key === "ArrowDown" && outgoing[at].length) return go(edges[outgoing[at][0]][1]);
  const box = boxOf.get("n" + at);
  if (!box || key === "ArrowUp" || key === "ArrowDown") return;
  const sign = key === "ArrowRight" ? 1 : -1;
  let best = null;
  for (const other of shown.boxes) {
    const dx = (other.x + other.w / 2 - box.x - box.w / 2) * sign;
    const dy = Math.abs(other.y - box.y);
    if (other !== box && dx > 1 && dy < 40 && (!best || dx < best.dx)) best = { dx, other };
  }
  if (best) pick(best.other);
}

function pick(box) {
  select({ group: box.group, at: box.at });
  show(box);
}

function toggleSelected() {
  const chosen = state.selected;
  if (!chosen) return;
  const at = chosen.group ? chosen.at : nodes[chosen.at].g;
  if (open[at] && !chosen.group) { select({ group: true, at }); }
  toggle(at);
}

function toggleTheme() {
  setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  readColors();
  showLegend();
  paintMemory();
  paint();
}

const keys = {
  "/": () => { search.focus(); search.select(); },
  "0": fit, "e": () => openAll(true), "c": () => openAll(false), "t": toggleTheme, "m": toggleMemory,
  "?": () => document.getElementById("keys").showModal(),
  "+": () => zoom(1.25, canvas.clientWidth / 2, canvas.clientHeight / 2),
  "=": () => zoom(1.25, canvas.clientWidth / 2, canvas.clientHeight / 2),
  "-": () => zoom(0.8, canvas.clientWidth / 2, canvas.clientHeight / 2),
  "Enter": toggleSelected, " ": toggleSelected,
  "Escape": () => select(null),
  "n": () => nextMatch(1), "N": () => nextMatch(-1),
};

document.addEventListener("keydown", (event) => {
  const own = event.target === canvas || event.target === document.body;
  if (event.ctrlKey || event.metaKey || event.altKey || (!own && event.key !== "/")) return;
  if (event.key.startsWith("Arrow")) {
    event.preventDefault();
    if (event.shiftKey) {
      const by = 80 / view.scale;
      view.x += event.key === "ArrowRight" ? by : event.key === "ArrowLeft" ? -by : 0;
      view.y += event.key === "ArrowDown" ? by : event.key === "ArrowUp" ? -by : 0;
      paint();
    } else step(event.key);
  } else if (keys[event.key]) {
    event.preventDefault();
    keys[event.key]();
  }
});

for (const [id, act] of [["fit", fit], ["open", () => openAll(true)], ["close", () => openAll(false)], ["theme", toggleTheme],
  ["arena", toggleMemory], ["help", keys["?"]]]) document.getElementById(id).onclick = () => { act(); canvas.focus(); };
new ResizeObserver(() => { paint(); paintMemory(); }).observe(canvas);
document.getElementById("arena").hidden = !data.memory;
document.getElementById("title").textContent = data.title;
document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
readColors();
showLegend();
layout();
start();
canvas.focus();
requestAnimationFrame(() => requestAnimationFrame(() => { window.ready = performance.now(); window.took = window.ready - began; }));
