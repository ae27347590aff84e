// Where everything stands: the layouts of groups, stretched where groups inside them are open.
//
// A layout was made with every group inside it closed. An open group is wider, so the places of its level move apart: by one growing
// function of their old places, which keeps columns straight and the order of every row. Heights follow from the rows.

const began = performance.now();
const data = JSON.parse(document.getElementById("data").textContent);
const { nodes, edges, groups, order, top: topLevel } = data;
const GAP = 18, RANKS = 46, HEAD = 24, MARGIN = 16;

// What each node takes and gives: edges by their ends.
const incoming = nodes.map(() => []), outgoing = nodes.map(() => []);
edges.forEach((edge, at) => { outgoing[edge[0]].push(at); incoming[edge[1]].push(at); });

// Which groups are open. Large programs begin with their blocks closed.
const open = groups.map((group) => !!group && (nodes.length <= 400 || group.k !== "repeat"));

function prepare(level) {
  const { slots, rows } = level;
  level.n = slots.length / 3;
  level.left = new Int32Array(level.n).fill(-1);
  for (const row of rows) for (let i = 1; i < row.length; i++) level.left[row[i]] = row[i - 1];
  level.byX = Array.from({ length: level.n }, (_, slot) => slot).sort((a, b) => slots[3 * a + 1] - slots[3 * b + 1] || a - b);
  level.ports = new Map();
  for (let slot = 0; 2 * slot < level.parts.length; slot++) {
    const kind = level.parts[2 * slot];
    if (kind >= 2) level.ports.set((kind === 2 ? "i" : "o") + level.parts[2 * slot + 1], slot);
  }
  return level;
}
for (const at of order) prepare(groups[at].v);
prepare(topLevel);

// The size of what a slot of a level holds.
function slotWidth(level, slot) {
  if (2 * slot >= level.parts.length) return level.slots[3 * slot + 2];
  const kind = level.parts[2 * slot], at = level.parts[2 * slot + 1];
  return kind === 0 ? nodes[at].W : kind === 1 ? groupSize(at)[0] : 0;
}

function slotHeight(level, slot) {
  if (2 * slot >= level.parts.length) return 0;
  const kind = level.parts[2 * slot], at = level.parts[2 * slot + 1];
  return kind === 0 ? nodes[at].H : kind === 1 ? groupSize(at)[1] : 0;
}

function groupSize(at) {
  const group = groups[at];
  return open[at] ? [group.w, group.h] : [group.W, group.H];
}

// Places of a level, its groups having their sizes.
function arrange(level) {
  const { slots, rows, n } = level;
  const x = new Float64Array(n);
  let before = 0, shift = 0, i = 0, right = 0;
  while (i < n) {
    const old = slots[3 * level.byX[i] + 1];
    let end = i;
    // Slots of one column stay in one.
    while (end < n && slots[3 * level.byX[end] + 1] - old < 0.35) end++;
    let place = i === 0 ? 0 : before + (old - shift);
    for (let k = i; k < end; k++) {
      const slot = level.byX[k], left = level.left[slot], half = slotWidth(level, slot) / 2;
      place = Math.max(place, left < 0 ? half : x[left] + slotWidth(level, left) / 2 + half + GAP);
    }
    for (let k = i; k < end; k++) {
      const slot = level.byX[k];
      x[slot] = place;
      right = Math.max(right, place + slotWidth(level, slot) / 2);
    }
    before = place; shift = old; i = end;
  }
  level.x = x;
  level.tops = []; level.heights = [];
  let y = 0;
  for (const row of rows) {
    let height = 0;
    for (const slot of row) height = Math.max(height, slotHeight(level, slot));
    level.tops.push(y); level.heights.push(height);
    y += height + (height > 0 ? RANKS : RANKS / 2);
  }
  level.width = right;
  level.height = rows.length ? level.tops[rows.length - 1] + level.heights[rows.length - 1] : 0;
}

// The pictures in the world's coordinates, for what is open.
let shown = { boxes: [], frames: [], wires: [], labels: [], width: 0, height: 0 };
const boxOf = new Map();

function layout() {
  for (let i = order.length - 1; i >= 0; i--) {
    const group = groups[order[i]];
    if (!open[order[i]]) continue;
    arrange(group.v);
    group.w = Math.max(group.v.width + 2 * MARGIN, 6.5 * group.t.length + 40);
    group.h = group.v.height + HEAD + MARGIN;
  }
  arrange(topLevel);
  shown = { boxes: [], frames: [], wires: [], labels: [], width: topLevel.width + 2 * MARGIN, height: topLevel.height + 2 * MARGIN };
  boxOf.clear();
  const waiting = [[topLevel, MARGIN, MARGIN]];
  while (waiting.length) {
    const [level, x, y] = waiting.pop();
    for (let slot = 0; 2 * slot < level.parts.length; slot++) {
      const kind = level.parts[2 * slot], at = level.parts[2 * slot + 1];
      if (kind > 1) continue;
      const [w, h] = kind === 0 ? [nodes[at].W, nodes[at].H] : groupSize(at);
      const box = { group: kind === 1, at, x: x + level.x[slot] - w / 2, y: y + level.tops[level.slots[3 * slot]], w, h, level, slot };
      boxOf.set((kind === 1 ? "g" : "n") + at, box);
      if (kind === 1 && open[at]) {
        shown.frames.push(box);
        const inside = groups[at].v;
        waiting.push([inside, box.x + (w - inside.width) / 2, box.y + HEAD]);
      } else shown.boxes.push(box);
    }
    for (const wire of level.wires) place(level, wire, x, y);
  }
}

// Where a wire meets a slot.
function meet(level, slot, lower, value) {
  const rank = level.slots[3 * slot], topY = level.tops[rank];
  if (2 * slot >= level.parts.length) return [level.x[slot], lower ? topY + level.heights[rank] : topY];
  const kind = level.parts[2 * slot], at = level.parts[2 * slot + 1];
  if (kind === 2) return [level.x[slot], topY - HEAD];
  if (kind === 3) return [level.x[slot], topY + MARGIN];
  const y = lower ? topY + slotHeight(level, slot) : topY;
  if (kind === 1 && open[at] && value != null) {
    const inside = groups[at].v, port = inside.ports.get((lower ? "o" : "i") + value);
    if (port !== undefined) return [level.x[slot] - groups[at].w / 2 + (groups[at].w - inside.width) / 2 + inside.x[port], y];
  }
  return [level.x[slot], y];
}

// A wire as points: the first, then for each rank the level to go down to and the next point.
function place(level, wire, x, y) {
  const [from, to, value, label, back, route] = wire;
  const starts = level.parts[2 * from] === 0, ends = level.parts[2 * to] === 0;
  const made = { value, up: back, dashed: back || value == null, to: ends ? level.parts[2 * to + 1] : -1, points: [], x0: Infinity, x1: -Infinity, y0: 0, y1: 0 };
  if (route.length === 0) {
    // Too long to be followed: its end says where it comes from.
    if (value == null) return;
    const [ex, ey] = meet(level, to, false, value);
    shown.labels.push({ x: x + ex + 4, y: y + ey - 4, text: (back ? "↓ " : "↑ ") + (nodes[value].n || nodes[value].l) + (label ? " " + label : "") });
    return;
  }
  let [px, py] = meet(level, route[0], true, value);
  made.points.push(x + px, y + py);
  made.y0 = y + py;
  for (let i = 1; i < route.length; i++) {
    const [nx, ny] = meet(level, route[i], false, value);
    const rank = level.slots[3 * route[i]] - 1;
    const down = Math.max(py, level.tops[rank] + level.heights[rank]);
    made.points.push(y + down, x + nx, y + ny);
    made.x0 = Math.min(made.x0, x + px, x + nx); made.x1 = Math.max(made.x1, x + px, x + nx);
    px = nx; py = ny;
  }
  made.y1 = y + py;
  shown.wires.push(made);
  // The upper end of one that goes back is where the value is taken.
  if (starts && !back && value != null && nodes[value].t) {
    shown.labels.push({ x: made.points[0], y: made.points[1] + 12, text: nodes[value].t, middle: true });
  }
  // At the end of a straight wire, else beside the bend, as wires into one node meet at its border.
  if (label) {
    const p = made.points, i = back ? 2 : p.length - 3, straight = Math.abs(p[i - 2] - p[i + 1]) < 0.1;
    const ly = !straight ? (p[i] + p[i + 2]) / 2 + 4 : back ? p[1] + 12 : p[i + 2] - 4;
    shown.labels.push({ x: (p[i - 2] + p[i + 1]) / 2 + 4, y: ly, text: label });
  }
}
