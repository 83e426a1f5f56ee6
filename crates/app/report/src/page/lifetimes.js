// Lifetimes per stream as boxes, and per context as histograms.

const BOX_ROW = 34;
// Contexts whose histograms are drawn.
const HISTOGRAMS = 9;

/** The streams to draw: all of baseline's data, then those of the chosen scheme. */
function boxRows(known, scheme) {
  const rows = [];
  const add = (of) => {
    for (const stream of of?.details?.stream_lives ?? []) {
      if (stream.quantiles_bytes.length === 5) {
        rows.push({ scheme: of.name, name: of === known.before && of !== scheme ? `all data (${of.name})` : `stream ${stream.id} (${of.name})`, ...stream });
      }
    }
  };
  if (known.before !== scheme) add(known.before);
  add(scheme);
  return rows;
}

function drawBoxes(place, width, rows) {
  const low = Math.min(...rows.map((row) => row.quantiles_bytes[0]));
  const high = Math.max(...rows.map((row) => row.quantiles_bytes[4]));
  const left = Math.min(230, width * 0.36);
  const bottom = 10 + rows.length * BOX_ROW;
  const at = scale(Math.max(low, 1) * 0.8, high * 1.25, left, width - 14, true);
  const picture = drawing(width, bottom + 40);
  xAxis(picture, powerTicks(Math.max(low, 1) * 0.8, high * 1.25, 2, width / 110), at, 6, bottom, tickBytes,
    "lifetime, in bytes written to the drive (logarithmic)", width - 14);
  rows.forEach((row, index) => {
    const [p5, p25, p50, p75, p95] = row.quantiles_bytes.map((bytes) => at(Math.max(bytes, 1)));
    const y = 10 + index * BOX_ROW + BOX_ROW / 2;
    const colour = streamColour(row.id, false);
    picture.append(
      label(0, y + 4, fitted(row.name, left - 12), { colour: "ink" }),
      svg("line", { x1: p5, x2: p95, y1: y, y2: y, stroke: colour, "stroke-width": 2 }),
      svg("rect", { x: p25, y: y - 9, width: Math.max(p75 - p25, 2), height: 18, fill: colour, rx: 3 }),
      svg("line", { x1: p50, x2: p50, y1: y - 11, y2: y + 11, stroke: theme("ink"), "stroke-width": 2.5 }),
    );
  });
  place.append(picture);
}

/** Boxes of the lifetimes of each stream (PCStream, Fig. 7). */
function streamLivesFigure(known) {
  const title = "How long the data of each stream lived";
  const withLives = known.schemes.filter((scheme) => scheme.details?.stream_lives.length > 0);
  if (withLives.length === 0) return known.hasDetails ? null : figure("streams", title, MISSING);
  const state = { scheme: withLives.includes(known.chosen) ? known.chosen : withLives[0] };
  const holder = html("div");
  const show = () => {
    const rows = boxRows(known, state.scheme);
    holder.replaceChildren(plot(`Lifetimes per stream: ${rows.map((row) => `${row.name}, median ${tellBytes(row.quantiles_bytes[2])}`).join("; ")}`,
      (place, width) => { if (rows.length > 0) drawBoxes(place, width, rows); }));
  };
  const names = withLives.map((scheme) => [scheme.name, scheme.name]);
  show();
  const rows = () => withLives.flatMap((scheme) => scheme.details.stream_lives.map((stream) => ({ scheme: scheme.name, ...stream })));
  return figure("streams", title,
    "Boxes hold the middle half of the bytes, the mark in them is the median, lines reach from 5 to 95 %. Good streams "
    + "have short boxes that do not overlap; the first row is what lies mixed without streams.",
    html("div", { class: "controls" }, selection("scheme", names, state.scheme.name, (name) => {
      state.scheme = withLives.find((scheme) => scheme.name === name);
      show();
    })), holder,
    numbers("stream-lifetimes", () => [
      column("scheme", "scheme", (row) => row.scheme, null, { text: true }),
      column("stream", "stream", (row) => row.id),
      column("ended_bytes", "ended", (row) => row.ended_bytes, tellBytes),
      ...["p5", "p25", "p50", "p75", "p95"].map((name, at) =>
        column(`lifetime_${name}_bytes`, name, (row) => quantile(row, at), tellBytes)),
    ], rows));
}

function drawHistogram(place, width, context, bounds, pageBytes) {
  const [low, high] = bounds;
  const height = 116;
  const at = scale(low, high + 1, 0, width);
  const most = Math.max(...context.classes_bytes);
  const picture = drawing(width, height);
  for (let number = Math.ceil(low / 4) * 4; number <= high + 1; number += Math.max(4, 4 * Math.ceil((high - low) / 20))) {
    const x = at(number);
    picture.append(svg("line", { x1: x, x2: x, y1: 4, y2: height - 18, stroke: theme("line") }),
      x < 22 || x > width - 22 ? svg("g") : label(x, height - 3, tickBytes(classStart(number, pageBytes)), { anchor: "middle", size: 11 }));
  }
  context.classes_bytes.forEach((bytes, index) => {
    const number = context.first_class + index;
    const h = (bytes / most) * (height - 26);
    const value = (number - low) / Math.max(high - low, 1);
    picture.append(svg("rect", { x: at(number) + 0.5, y: height - 18 - h, width: Math.max(at(number + 1) - at(number) - 1, 1), height: h, fill: scaleColour(value) }));
  });
  picture.append(svg("line", { x1: 0, x2: width, y1: height - 18, y2: height - 18, stroke: theme("faint") }));
  place.append(picture);
}

/** Histograms of the contexts that wrote most (PCStream, Fig. 2 and 3). */
function histogramsFigure(known) {
  const shown = known.contexts.filter((context) => context.ended_bytes > 0).slice(0, HISTOGRAMS);
  if (shown.length === 0) return null;
  const low = Math.min(...shown.map((context) => context.first_class));
  const high = Math.max(...shown.map((context) => context.first_class + context.classes_bytes.length - 1));
  const pageBytes = known.result.device.page_bytes;
  const cards = shown.map((context) => html("div", null,
    html("h3", { title: known.name(context.id) }, known.name(context.id)),
    html("div", { class: "note-line" }, `${tellBytes(context.written_bytes)}, median ${tellBytes(quantile(context, 2))}`),
    plot(`Lifetimes of ${known.name(context.id)}, median ${tellBytes(quantile(context, 2))}`,
      (place, width) => drawHistogram(place, width, context, [low, high], pageBytes))));
  const rows = () => known.contexts.flatMap((context) => context.classes_bytes.map((bytes, at) => ({
    id: context.id, name: known.name(context.id), from: classStart(context.first_class + at, pageBytes),
    to: classStart(context.first_class + at + 1, pageBytes), bytes,
  })));
  return figure("histograms", "Lifetimes of each program context",
    "Bytes that ended, by lifetime (logarithmic, in bytes written to the drive; two bars for each doubling). One narrow peak means "
    + "that the context alone says when its data die; several mean that it does not.",
    html("div", { class: "multiples" }, cards),
    numbers("histograms", () => [
      column("context", "id", (row) => row.id),
      column("name", "context", (row) => row.name, null, { text: true }),
      column("lifetime_from_bytes", "lifetime from", (row) => row.from, tellBytes),
      column("lifetime_to_bytes", "to", (row) => row.to, tellBytes),
      column("ended_bytes", "ended", (row) => row.bytes, tellBytes),
    ], rows));
}
