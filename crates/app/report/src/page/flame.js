// Program contexts as a flame graph: width is bytes, colour is median lifetime.

const FLAME_ROW = 19;
// Frames narrower than this many pixels are left out.
const FLAME_LEAST = 1.5;

/** A tree of calls, outermost first, with the bytes and the lifetimes of all that lies below. */
function callTree(known) {
  const root = { name: "all writes", bytes: 0, classes: [], children: new Map() };
  const add = (node, context) => {
    node.bytes += context.written_bytes;
    context.classes_bytes.forEach((bytes, at) => {
      const number = context.first_class + at;
      node.classes[number] = (node.classes[number] ?? 0) + bytes;
    });
  };
  for (const context of known.contexts) {
    const name = known.name(context.id);
    const role = context.role.replace(/[-/:.]+$/, "");
    const steps = context.path.length === 0 ? [name] : [role || name, ...[...context.path].reverse()];
    add(root, context);
    let node = root;
    for (const step of steps) {
      if (!node.children.has(step)) node.children.set(step, { name: step, bytes: 0, classes: [], children: new Map() });
      node = node.children.get(step);
      add(node, context);
    }
    // The last call of a path is where a context has its name.
    if (context.path.length > 0) node.context = node.context ? `${node.context}; ${name}` : name;
  }
  return root;
}

/** The lifetime class in which half of the bytes had ended; null where none did. */
function medianClass(classes) {
  const total = classes.reduce((sum, bytes) => sum + (bytes ?? 0), 0);
  let seen = 0;
  for (let number = 0; number < classes.length; number += 1) {
    seen += classes[number] ?? 0;
    if (total > 0 && seen * 2 >= total) return number;
  }
  return null;
}

/** Frames with their places: depth, and begin and end as shares of the width. */
function flameFrames(root) {
  const frames = [];
  const place = (node, depth, begin) => {
    frames.push({ node, depth, begin, end: begin + node.bytes / root.bytes, median: medianClass(node.classes) });
    let at = begin;
    const children = [...node.children.values()].sort((a, b) => b.bytes - a.bytes);
    for (const child of children) {
      place(child, depth + 1, at);
      at += child.bytes / root.bytes;
    }
  };
  if (root.bytes > 0) place(root, 0, 0);
  return frames;
}

/** The scale of medians as a strip with its ends named. */
function lifetimeLegend(low, high, pageBytes) {
  const strip = svg("svg", { width: 150, height: 12, "aria-hidden": "true" });
  for (let at = 0; at < 30; at += 1) {
    strip.append(svg("rect", { x: at * 5, y: 0, width: 5.5, height: 12, fill: scaleColour(at / 29) }));
  }
  const swatch = html("span", { class: "swatch" });
  swatch.style.background = NEUTRAL;
  return html("div", { class: "legend" },
    html("span", null, "median lifetime", html("b", null, tickBytes(classStart(low, pageBytes))), strip,
      html("b", null, tickBytes(classStart(high + 1, pageBytes)))),
    html("span", null, swatch, "none of it ended"));
}

function flameFigure(known) {
  const title = "Which calls wrote";
  if (!known.result.details) return figure("flame", title, MISSING);
  if (known.contexts.every((context) => context.path.length === 0)) {
    return known.contexts.length < 2 ? figure("flame", title, "The source knows no program contexts: it holds addresses only.") : null;
  }
  const root = callTree(known);
  const frames = flameFrames(root);
  const medians = frames.map((frame) => frame.median).filter((median) => median !== null);
  const [low, high] = [Math.min(...medians, 99), Math.max(...medians, 0)];
  const pageBytes = known.result.device.page_bytes;
  const tone = (median) => (median === null ? null : (median - low) / Math.max(high - low, 1));
  const state = { focus: frames[0], words: "" };
  const matches = (frame) => state.words !== "" && `${frame.node.name} ${frame.node.context ?? ""}`.toLowerCase().includes(state.words);
  const note = html("p", { class: "note-line", role: "status" }, "Click a call to look closer; click “all writes” to go back.");
  const describe = (frame) => `${frame.node.name}${frame.node.context ? ` (${frame.node.context})` : ""}: ${tellBytes(frame.node.bytes)} (${tellShare(frame.node.bytes / root.bytes)}), `
    + `median lifetime ${frame.median === null ? "unknown" : `about ${tellBytes(classStart(frame.median + 0.5, pageBytes))}`}`;
  const holder = html("div", { class: "plot flame", role: "group", "aria-label": "flame graph of the calls that wrote; the table below holds the same contexts" });
  const draw = (place, width) => {
    const { focus } = state;
    const at = scale(focus.begin, focus.end, 0, width);
    const inside = frames.filter((frame) => frame.end > focus.begin + 1e-9 && frame.begin < focus.end - 1e-9);
    const shown = inside.filter((frame) => at(Math.min(frame.end, focus.end)) - at(Math.max(frame.begin, focus.begin)) >= FLAME_LEAST);
    const depth = Math.max(...shown.map((frame) => frame.depth)) + 1;
    const picture = drawing(width, depth * FLAME_ROW);
    picture.removeAttribute("aria-hidden");
    for (const frame of shown) {
      const x = at(Math.max(frame.begin, focus.begin));
      const w = at(Math.min(frame.end, focus.end)) - x;
      const value = tone(frame.median);
      const look = () => { state.focus = frame; draw(place, width); };
      const box = svg("rect", {
        class: state.words !== "" && !matches(frame) ? "unmatched" : null,
        x, y: frame.depth * FLAME_ROW, width: w, height: FLAME_ROW, fill: value === null ? NEUTRAL : scaleColour(value),
        tabindex: w > 30 ? 0 : null, role: "button", "aria-label": describe(frame), click: look,
        keydown: (event) => { if (event.key === "Enter") look(); },
        pointerenter: () => { note.textContent = describe(frame); }, focus: () => { note.textContent = describe(frame); },
      });
      picture.append(box);
      const ink = value === null ? "#111418" : inkOnScale(value);
      const words = fitted(withoutParameters(frame.node.name), w - 8, 11.5);
      if (words) picture.append(svg("text", { x: x + 4, y: frame.depth * FLAME_ROW + 13.5, fill: ink }, words));
    }
    place.replaceChildren(picture);
  };
  live(holder, draw);
  const search = html("input", { type: "search", placeholder: "find a call …", "aria-label": "find calls in the flame graph" });
  const share = html("span", { class: "note-line", role: "status" });
  search.addEventListener("input", () => {
    state.words = search.value.trim().toLowerCase();
    const found = frames.filter(matches);
    // Of calls that match within each other the outermost counts.
    const outermost = found.filter((frame) => !found.some((other) => other.depth < frame.depth && other.begin <= frame.begin && frame.end <= other.end));
    const bytes = outermost.reduce((sum, frame) => sum + frame.node.bytes, 0);
    share.textContent = state.words === "" ? "" : `${tellCount(found.length)} calls match, with ${tellShare(bytes / root.bytes)} of the bytes.`;
    redraw();
  });
  const rows = () => frames.map((frame) => ({
    call: frame.node.name, depth: frame.depth, bytes: frame.node.bytes,
    median: frame.median === null ? null : Math.round(classStart(frame.median, pageBytes)),
  }));
  return figure("flame", title,
    "Callers above, the calls they make below. The wider a call, the more bytes it wrote; the brighter, the longer those lived. "
    + "Calls of different brightness belong in different streams.",
    html("div", { class: "controls" }, search, share), lifetimeLegend(low, high, pageBytes), holder, note,
    numbers("calls", () => [
      column("call", "call", (row) => row.call, null, { text: true }),
      column("depth", "depth", (row) => row.depth),
      column("bytes", "bytes", (row) => row.bytes, tellBytes),
      column("median_lifetime_from_bytes", "median lifetime from", (row) => row.median, tellBytes),
    ], rows));
}
