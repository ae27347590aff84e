// The canvas: what is in view, with as much detail as can be read.

const canvas = document.getElementById("graph"), context = canvas.getContext("2d");
const view = { x: 0, y: 0, scale: 1 };
const state = { selected: null, hovered: null, hits: new Set(), hit: -1 };
let colors = {};

function readColors() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["bg", "fg", "dim", "line", "box", "border", "frame", "inside", "accent", "ty", "panel", "hit", "products", "elements",
    "moves", "reduction", "other", "input", "added", "removed", "repeat", "cold", "hot"]) {
    colors[name] = style.getPropertyValue("--" + name).trim();
  }
}

function mixed(cold, hot, share) {
  const part = (color, at) => parseInt(color.slice(1 + 2 * at, 3 + 2 * at), 16);
  const mix = (at) => Math.round(part(cold, at) + (part(hot, at) - part(cold, at)) * share);
  return `rgb(${mix(0)},${mix(1)},${mix(2)})`;
}

function fillOf(node) {
  if (node.x) return colors[node.x];
  if (node.h != null) return mixed(colors.cold, colors.hot, Math.sqrt(node.h / 1000));
  if (node.k === "input" || node.k === "output") return colors.input;
  return colors[node.f || "other"];
}

let pending = false;
function paint() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => { pending = false; paintNow(); });
}

function paintNow() {
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
  }
  const scale = view.scale;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = colors.bg;
  context.fillRect(0, 0, width, height);
  context.setTransform(ratio * scale, 0, 0, ratio * scale, -view.x * scale * ratio, -view.y * scale * ratio);
  const seen = { x0: view.x, y0: view.y, x1: view.x + width / scale, y1: view.y + height / scale };
  const inView = (box) => box.x < seen.x1 && box.x + box.w > seen.x0 && box.y < seen.y1 && box.y + box.h > seen.y0;
  paintFrames(inView, scale);
  paintWires(seen, scale);
  paintBoxes(inView, scale);
  // Types at the lines, where they can be read.
  if (scale * 10 > 5.5) paintLabels(seen);
  paintTitles(inView, scale, seen);
}

function rounded(box, radius) {
  context.roundRect(box.x, box.y, box.w, box.h, radius);
}

function paintFrames(inView, scale) {
  context.lineWidth = 1 / scale;
  for (const box of shown.frames) {
    if (!inView(box)) continue;
    const group = groups[box.at];
    context.beginPath();
    rounded(box, 8);
    context.fillStyle = colors.inside;
    context.fill();
    context.strokeStyle = isSelected(box) ? colors.accent : group.k === "repeat" || group.k === "fused" ? colors.repeat : colors.frame;
    context.stroke();
  }
}

function isSelected(box) {
  return state.selected && state.selected.group === box.group && state.selected.at === box.at;
}

// The titles of groups. Of those whose title is above the window, one line at the top says where the middle of it is.
function paintTitles(inView, scale, seen) {
  const small = scale * 11 < 4.5, mx = (seen.x0 + seen.x1) / 2, my = (seen.y0 + seen.y1) / 2, path = [];
  context.font = "600 11px system-ui, sans-serif";
  context.textAlign = "left"; context.textBaseline = "alphabetic";
  context.fillStyle = colors.dim;
  for (const box of shown.frames) {
    if (!inView(box)) continue;
    if (box.y + 6 < seen.y0) {
      if (box.x < mx && mx < box.x + box.w && box.y + box.h > my) path.push(groups[box.at].t);
    } else if (!small && box.w * scale > 30) {
      const x = Math.max(box.x + 8, Math.min(seen.x0 + 8 / scale, box.x + box.w - 60));
      context.fillText("▾ " + groups[box.at].t, x, box.y + 16);
    }
  }
  if (!path.length) return;
  const ratio = window.devicePixelRatio || 1, text = path.join(" › ");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = "600 12px system-ui, sans-serif";
  context.fillStyle = colors.panel;
  context.fillRect(0, 0, context.measureText(text).width + 24, 24);
  context.fillStyle = colors.dim;
  context.fillText(text, 12, 16);
}

function trace(wire) {
  const p = wire.points;
  let x = p[0], y = p[1];
  context.moveTo(x, y);
  for (let i = 2; i < p.length; i += 3) {
    const down = p[i], nx = p[i + 1], ny = p[i + 2];
    if (down > y) { context.lineTo(x, down); y = down; }
    if (Math.abs(nx - x) < 0.1) context.lineTo(nx, ny);
    else { const middle = (y + ny) / 2; context.bezierCurveTo(x, middle, nx, middle, nx, ny); }
    x = nx; y = ny;
  }
}

// Values flow down; a line of what does not has a head, at its upper end if it goes back.
function head(wire) {
  const p = wire.points, [x, y, base] = wire.up ? [p[0], p[1], 7] : [p[p.length - 2], p[p.length - 1], -7];
  context.moveTo(x, y);
  context.lineTo(x - 3.5, y + base);
  context.lineTo(x + 3.5, y + base);
  context.closePath();
}

function paintWires(seen, scale) {
  const marked = state.hovered ?? state.selected;
  const about = marked && !marked.group ? marked.at : -1;
  const plain = [], dashed = [], bright = [];
  for (const wire of shown.wires) {
    if (wire.x0 > seen.x1 || wire.x1 < seen.x0 || wire.y0 > seen.y1 || wire.y1 < seen.y0) continue;
    (about >= 0 && (wire.value === about || wire.to === about) ? bright : wire.dashed ? dashed : plain).push(wire);
  }
  const stroke = (wires, color, width) => {
    if (!wires.length) return;
    context.beginPath();
    wires.forEach(trace);
    context.strokeStyle = color;
    // As seen from far, lines stay lines.
    context.lineWidth = scale < 0.5 ? (0.6 * width) / scale : width;
    context.stroke();
  };
  stroke(plain, colors.line, scale < 1 ? 1 : 1.2);
  context.setLineDash([4, 3]);
  stroke(dashed, colors.line, 1);
  context.setLineDash([]);
  context.beginPath();
  dashed.forEach(head);
  context.fillStyle = colors.line;
  context.fill();
  stroke(bright, colors.accent, 2);
}

function paintBoxes(inView, scale) {
  const far = scale < 0.3, visible = shown.boxes.filter(inView);
  // Boxes of one colour together.
  const byFill = new Map();
  for (const box of visible) {
    const fill = box.group ? colors.panel : fillOf(nodes[box.at]);
    if (!byFill.has(fill)) byFill.set(fill, []);
    byFill.get(fill).push(box);
  }
  context.lineWidth = scale < 0.5 ? 0.6 / scale : 1;
  for (const [fill, boxes] of byFill) {
    context.beginPath();
    for (const box of boxes) far ? context.rect(box.x, box.y, box.w, box.h) : rounded(box, radiusOf(box));
    context.fillStyle = fill;
    context.fill();
    context.strokeStyle = colors.border;
    context.stroke();
  }
  for (const box of visible) {
    if (box.group) { context.beginPath(); rounded(box, 8); context.strokeStyle = colors.repeat; context.stroke(); }
    if (!box.group && state.hits.has(box.at)) outline(box, colors.hit, 4);
    if (isSelected(box)) outline(box, colors.accent, 2.5);
  }
  if (scale * 12 < 4.5) return;
  context.textAlign = "center"; context.textBaseline = "alphabetic";
  const small = scale * 10 > 4.5;
  for (const box of visible) {
    const lines = box.group ? groups[box.at].L : [nodes[box.at].l, ...(nodes[box.at].L || [])];
    const middle = box.x + box.w / 2;
    lines.forEach((line, at) => {
      if (at > 0 && !small) return;
      context.font = (at === 0 ? "12px " : "10px ") + MONO;
      context.fillStyle = at === 0 ? colors.fg : colors.dim;
      context.fillText(at === 0 && box.group ? "▸ " + line : line, middle, box.y + 17 + 15 * at);
    });
  }
}

const MONO = 'ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';

function radiusOf(box) {
  if (box.group) return 8;
  const kind = nodes[box.at].k;
  return kind === "input" || kind === "output" ? box.h / 2 : 5;
}

function outline(box, color, width) {
  context.beginPath();
  rounded({ x: box.x - 2, y: box.y - 2, w: box.w + 4, h: box.h + 4 }, radiusOf(box) + 2);
  context.strokeStyle = color;
  const before = context.lineWidth;
  context.lineWidth = width / Math.max(view.scale, 0.25);
  context.stroke();
  context.lineWidth = before;
}

function paintLabels(seen) {
  context.font = "10px " + MONO;
  context.textBaseline = "alphabetic";
  context.lineWidth = 4;
  context.lineJoin = "round";
  context.strokeStyle = colors.bg;
  let last = null;
  for (const label of shown.labels) {
    if (label.x > seen.x1 + 80 || label.x < seen.x0 - 200 || label.y > seen.y1 + 20 || label.y < seen.y0 - 20) continue;
    // Several wires of one value begin at one place.
    if (last && last.x === label.x && last.y === label.y && last.text === label.text) continue;
    last = label;
    context.textAlign = label.middle ? "center" : "left";
    context.strokeText(label.text, label.x, label.y);
    context.fillStyle = colors.ty;
    context.fillText(label.text, label.x, label.y);
  }
}

function fit() {
  const width = canvas.clientWidth, height = canvas.clientHeight;
  view.scale = Math.min(width / shown.width, height / shown.height, 1.4);
  view.x = (shown.width - width / view.scale) / 2;
  view.y = (shown.height - height / view.scale) / 2;
  paint();
}

// The top of the program, readable.
function start() {
  fit();
  if (view.scale < 0.75) {
    view.scale = Math.min(1, Math.max(0.75, canvas.clientWidth / shown.width));
    const first = shown.boxes.length ? shown.boxes.reduce((a, b) => (b.y < a.y ? b : a)) : { x: 0, w: 0 };
    const wide = canvas.clientWidth / view.scale, spare = shown.width - wide;
    view.x = spare < 0 ? spare / 2 : Math.min(Math.max(first.x + first.w / 2 - wide / 2, -10), spare + 10);
    view.y = -6;
  }
  paint();
}

function zoom(factor, px, py) {
  const scale = Math.min(4, Math.max(0.01, view.scale * factor));
  view.x += px / view.scale - px / scale;
  view.y += py / view.scale - py / scale;
  view.scale = scale;
  paint();
}

// Brings a box into view, and near enough to be read.
function show(box) {
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (view.scale < 0.6) view.scale = 0.9;
  const inside = box.x > view.x && box.x + box.w < view.x + width / view.scale && box.y > view.y && box.y + box.h < view.y + height / view.scale;
  if (!inside) {
    view.x = box.x + box.w / 2 - width / view.scale / 2;
    view.y = box.y + Math.min(box.h / 2, height / view.scale / 2) - height / view.scale / 2;
  }
  paint();
}
