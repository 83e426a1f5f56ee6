// The drive as a map: what lies inside each erase unit, over time, two schemes side by side.

// How long a moment stays while the map plays, in milliseconds.
const PLAY_MS = 220;
// A writer counts in a unit when it holds more than this share of its valid pages.
const PART_OF_UNIT = 0.05;

/** The cells of one moment as numbers. */
function cellsOf(map, moment) {
  const digits = (text, from, count) => parseInt(text.slice(from, from + count), 16);
  const cells = [];
  for (let at = 0; at < map.cells; at += 1) {
    const writers = [];
    for (let rank = 0; rank < 3; rank += 1) {
      const from = at * 9 + rank * 3;
      const who = digits(moment.writers, from, 1);
      const share = digits(moment.writers, from + 1, 2) / 255;
      if (share > 0) writers.push({ context: who === 15 ? null : map.writers[who], share });
    }
    const stream = digits(moment.streams, at * 2, 2);
    cells.push({ stream: stream === 255 ? null : stream, valid: digits(moment.valid, at * 2, 2) / 255, writers });
  }
  return cells;
}

/** Of the cells that hold data, how many are of more than one writer, and how many are part dead. */
function mixing(cells) {
  let used = 0;
  let mixed = 0;
  let partDead = 0;
  let valid = 0;
  for (const cell of cells) {
    if (cell.stream === null) continue;
    used += 1;
    valid += cell.valid;
    if (cell.valid > PART_OF_UNIT && cell.valid < 1 - PART_OF_UNIT) partDead += 1;
    const parts = cell.writers.filter((writer) => writer.share > PART_OF_UNIT * cell.valid && writer.share > 0.01);
    const named = parts.reduce((sum, writer) => sum + writer.share, 0);
    if (parts.length > 1 || (parts.length === 1 && cell.valid - named > 0.1 * cell.valid)) mixed += 1;
  }
  return { used, mixed, partDead, mean: used > 0 ? valid / used : 0 };
}

/** How cells lie on a canvas of that width. */
function mapLayout(cells, width) {
  const most = cells <= 256 ? 210 : 300;
  let columns = Math.max(1, Math.ceil(Math.sqrt((cells * width) / most)));
  columns = Math.min(columns, cells, Math.max(1, Math.floor(width / 4)));
  const size = width / columns;
  const rows = Math.ceil(cells / columns);
  const height = Math.min(size, 46);
  return { columns, rows, cellWidth: size, cellHeight: height, gap: size > 14 ? 3 : size > 7 ? 1.5 : 0.5 };
}

function drawMap(canvas, cells, layout, paint) {
  const ratio = globalThis.devicePixelRatio || 1;
  const width = layout.columns * layout.cellWidth;
  const height = layout.rows * layout.cellHeight;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  const dead = theme("dead");
  const line = theme("line");
  cells.forEach((cell, at) => {
    const x = (at % layout.columns) * layout.cellWidth + layout.gap / 2;
    const y = Math.floor(at / layout.columns) * layout.cellHeight + layout.gap / 2;
    const w = layout.cellWidth - layout.gap;
    const h = layout.cellHeight - layout.gap;
    if (cell.stream === null) {
      context.strokeStyle = line;
      context.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
      return;
    }
    context.fillStyle = dead;
    context.fillRect(x, y, w, h);
    let bottom = y + h;
    for (const [colour, share] of paint(cell)) {
      context.fillStyle = colour;
      context.fillRect(x, bottom - share * h, w, share * h);
      bottom -= share * h;
    }
  });
}

/** Colours of the contexts that wrote most; all others are neutral. */
function writerColours(known) {
  const colours = new Map();
  known.contexts.slice(0, HUES).forEach((context, at) => colours.set(context.id, hue(at)));
  return colours;
}

function painter(known, scheme, byStream) {
  if (byStream) {
    const internal = new Set(scheme.streams.filter((stream) => stream.internal).map((stream) => stream.id));
    return (cell) => [[streamColour(cell.stream, internal.has(cell.stream)), cell.valid]];
  }
  const colours = writerColours(known);
  return (cell) => {
    const parts = cell.writers.map((writer) => [colours.get(writer.context) ?? NEUTRAL, writer.share]);
    const named = parts.reduce((sum, [, share]) => sum + share, 0);
    return [...parts, [NEUTRAL, Math.max(0, cell.valid - named)]];
  };
}

/** One scheme's map; `show(moment share)` draws it. */
function mapPanel(known, state, note) {
  const canvas = html("canvas", { role: "img" });
  const title = html("h3");
  const panel = html("div", { class: "map-panel" }, title, canvas);
  let shown = null;
  const show = (scheme) => {
    const map = scheme.details.map;
    const moment = map.moments[Math.round(state.at * (map.moments.length - 1))];
    const cells = cellsOf(map, moment);
    const width = panel.clientWidth;
    if (width < LEAST_WIDTH) return;
    const layout = mapLayout(map.cells, width);
    drawMap(canvas, cells, layout, painter(known, scheme, state.byStream));
    const facts = mixing(cells);
    const unit = map.units_per_cell === 1 ? "units" : "cells";
    const words = `of ${facts.used} ${unit}, ${facts.mixed} mixed, ${facts.partDead} part dead`;
    title.replaceChildren(html("span", null, scheme.name), html("span", { class: "number" }, words));
    canvas.setAttribute("aria-label", `${scheme.name} after ${tellBytes(moment.host_page_bytes)}: ${facts.used} of ${map.cells} ${unit} in use, `
      + `${facts.mixed} of them with data of more than one writer, ${facts.partDead} part dead, ${tellShare(facts.mean)} valid on average`);
    shown = { scheme, cells, layout, moment };
  };
  const point = (event) => {
    if (!shown) return;
    const box = canvas.getBoundingClientRect();
    const columnAt = Math.floor((event.clientX - box.left) / shown.layout.cellWidth);
    const rowAt = Math.floor((event.clientY - box.top) / shown.layout.cellHeight);
    const at = rowAt * shown.layout.columns + columnAt;
    const cell = shown.cells[at];
    if (!cell) return;
    const who = cell.writers.map((writer) => `${writer.context === null ? "others" : known.name(writer.context)} ${tellShare(writer.share)}`);
    note.textContent = cell.stream === null ? `${shown.scheme.name}, unit ${at}: free`
      : `${shown.scheme.name}, unit ${at}: stream ${cell.stream}, ${tellShare(cell.valid)} valid${who.length > 0 ? ` (${who.join("; ")})` : ""}`;
  };
  canvas.addEventListener("pointermove", point);
  canvas.addEventListener("pointerdown", point);
  return { panel, show };
}

function mapLegend(known, state) {
  const entry = (colour, words) => {
    const swatch = html("span", { class: "swatch" });
    swatch.style.background = colour;
    return html("li", null, swatch, html("span", { class: "name" }, words));
  };
  const entries = [];
  if (state.byStream) {
    const streams = [...new Map(known.schemes.flatMap((scheme) => scheme.streams.map((stream) => [stream.id, stream]))).values()];
    streams.sort((a, b) => a.id - b.id);
    for (const stream of streams.slice(0, 18)) {
      const words = stream.id === 0 ? "stream 0 (no hint)" : `stream ${stream.id}${stream.internal ? " (copies only)" : ""}`;
      entries.push(entry(streamColour(stream.id, stream.internal), words));
    }
  } else {
    for (const [id, colour] of writerColours(known)) entries.push(entry(colour, known.name(id)));
    entries.push(entry(NEUTRAL, "all others"));
  }
  entries.push(entry(theme("dead"), "dead: overwritten or discarded"));
  return html("ul", { class: "legend" }, entries);
}

function mapNumbers(known) {
  const rows = () => known.schemes.filter((scheme) => scheme.details?.map.moments.length > 0).flatMap((scheme) => {
    const map = scheme.details.map;
    return map.moments.flatMap((moment) => cellsOf(map, moment).map((cell, at) => ({
      scheme: scheme.name, host_page_bytes: moment.host_page_bytes, unit: at * map.units_per_cell, ...cell,
    })));
  });
  return numbers("map", () => [
    column("scheme", "scheme", (row) => row.scheme, null, { text: true }),
    column("host_page_bytes", "host bytes, whole pages", (row) => row.host_page_bytes, tellCount),
    column("unit", "first unit", (row) => row.unit),
    column("stream", "stream", (row) => row.stream, (stream) => (stream === null ? "free" : stream)),
    column("valid_share", "valid", (row) => row.valid, tellShare),
    column("writers", "writers", (row) => row.writers.map((writer) => `${writer.context ?? "other"}:${writer.share.toFixed(3)}`).join(" "), null, { text: true }),
  ], rows);
}

/** The maps of two schemes, with a slider over time. */
function mapFigure(known) {
  const mapped = known.schemes.filter((scheme) => scheme.details?.map.moments.length > 0);
  const words = "Each cell is an erase unit, filled from below as far as its pages are valid. Where data of several "
    + "writers lie in one unit they die at different times, and what is left must be copied before the unit can be "
    + "erased: part dead units are the costly ones. Units that are full, or wholly dead, cost nothing.";
  if (mapped.length === 0) return figure("map", "What lies inside the erase units", MISSING);
  const pick = (wanted, other) => mapped.find((scheme) => scheme === wanted) ?? mapped.find((scheme) => scheme !== other) ?? mapped[0];
  const left = pick(known.before, null);
  const state = { at: 1, byStream: known.contexts.length < 2, left, right: pick(known.chosen, left) };
  const note = html("p", { class: "note-line", role: "status" }, "Point at a unit to see what it holds.");
  const panels = [mapPanel(known, state, note), mapPanel(known, state, note)];
  const most = Math.max(...mapped.map((scheme) => scheme.details.map.moments.length));
  const slider = html("input", { type: "range", min: 0, max: most - 1, value: most - 1, "aria-label": "moment of the run" });
  const time = html("output", { class: "mono" });
  const legend = html("div");
  const show = () => {
    panels[0].show(state.left);
    panels[1].show(state.right);
    const moments = state.left.details.map.moments;
    const moment = moments[Math.round(state.at * (moments.length - 1))];
    const capacities = moment.host_page_bytes / known.result.device.logical_bytes;
    time.textContent = `${tellBytes(moment.host_page_bytes)} written (${significant(capacities)} capacities)`;
    slider.setAttribute("aria-valuetext", time.textContent);
    legend.replaceChildren(mapLegend(known, state));
  };
  const move = (value) => { state.at = most > 1 ? value / (most - 1) : 1; show(); };
  slider.addEventListener("input", () => move(Number(slider.value)));
  const names = mapped.map((scheme) => [scheme.name, scheme.name]);
  const side = (key, words) => selection(words, names, state[key].name, (name) => {
    state[key] = mapped.find((scheme) => scheme.name === name);
    show();
  });
  const maps = html("div", { class: "maps" }, panels[0].panel, panels[1].panel);
  live(maps, show);
  const thinness = state.left.details.map.units_per_cell;
  return figure("map", "What lies inside the erase units",
    words + (thinness > 1 ? ` Each cell stands for ${thinness} neighbouring units.` : ""),
    html("div", { class: "controls" },
      choice("colour by", [["writer", "who wrote it"], ["stream", "its stream"]], state.byStream ? "stream" : "writer",
        (key) => { state.byStream = key === "stream"; show(); }),
      side("left", "left"), side("right", "right")),
    html("div", { class: "controls" }, playButton(slider, most, move), slider, time),
    maps, note, legend, mapNumbers(known));
}

/** A button that moves the slider from beginning to end. */
function playButton(slider, most, move) {
  let timer = null;
  const button = html("button", { type: "button" }, "Play");
  const stop = () => { clearInterval(timer); timer = null; button.textContent = "Play"; };
  button.addEventListener("click", () => {
    if (timer !== null) { stop(); return; }
    let at = Number(slider.value) >= most - 1 ? 0 : Number(slider.value);
    button.textContent = "Stop";
    timer = setInterval(() => {
      slider.value = String(at);
      move(at);
      at += 1;
      if (at >= most) stop();
    }, PLAY_MS);
  });
  return button;
}
