// Latency percentiles over simulated time, on a ground that garbage collection darkens.

// What is drawn of each interval: its name, its key, its hue.
const OVER_TIME = [["p50", "p50_ns", 4], ["p99", "p99_ns", 0], ["p99.9", "p99_9_ns", 5]];

/** How long an interval's reads or writes took; null where none was answered. */
function latencyOf(interval, kind) {
  return interval[`${kind}_latency`] ?? null;
}

/** When garbage collection held dies, and which share of their time. */
function collectionBands(scheme) {
  const length = scheme.time.interval_ns;
  return scheme.time.intervals
    .map((each) => ({ from: each.start_ns / 1e9, to: (each.start_ns + length) / 1e9, share: Math.min(1, collectionShare(each, scheme) ?? 0) }))
    .filter((band) => band.share > 0);
}

// More points than this, on half a page, are a solid block.
const MOST_POINTS = 100;

/** A scheme's intervals, so many neighbours in each group that a panel can show. */
function groupsOf(scheme) {
  const { intervals } = scheme.time;
  const size = Math.ceil(intervals.length / MOST_POINTS);
  return Array.from({ length: Math.ceil(intervals.length / size) }, (_, at) => intervals.slice(at * size, (at + 1) * size));
}

/** The slowest of neighbouring intervals; of medians, the middle one. */
function slowest(group, kind, key) {
  const values = group.map((each) => latencyOf(each, kind)?.[key] ?? null).filter((value) => value !== null).sort((a, b) => a - b);
  return values[key === "p50_ns" ? values.length >> 1 : values.length - 1] ?? null;
}

function latencyLines(scheme, kind, shown) {
  return OVER_TIME.map(([label, key, number]) => ({
    label, colour: hue(number), width: key === "p99_9_ns" ? 2.2 : 1.6, show: shown.get(key),
    values: groupsOf(scheme).map((group) => slowest(group, kind, key)),
  }));
}

/** One scheme's percentiles; `state` is what is shown of all panels. */
function latencyPanel(scheme, state) {
  const told = html("span", { class: "value-now" });
  const values = latencyLines(scheme, state.kind, state.shown);
  const tell = (at) => {
    const known = at === null || at === undefined ? [] : values.filter((line) => line.values[at] !== null);
    told.textContent = known.map((line) => `${line.label} ${tellTime(line.values[at])}`).join(", ");
  };
  const most = Math.max(...values[2].values.filter((value) => value !== null));
  const picture = plot(`Latency percentiles of ${state.kind}s over simulated time with ${scheme.name}; in the slowest interval 99.9 % within ${tellTime(most)}`,
    (place, width) => state.charts.set(scheme.name, curves(place, width, {
      x: groupsOf(scheme).map(([first]) => first.start_ns / 1e9), lines: latencyLines(scheme, state.kind, state.shown),
      bands: collectionBands(scheme), height: 260, isLog: true, sync: state.sync,
      xUnit: "simulated seconds", yUnit: "", yRange: () => state.range, tellY: tickTime, onCursor: tell,
    })));
  return html("div", null, html("h3", null, scheme.name, " ", told), picture);
}

/** The digit a number begins with, and nothing behind it: rounded down, or up. */
function leadingDigit(value, round) {
  const power = 10 ** Math.floor(Math.log10(value));
  return round(value / power) * power;
}

/** From the least to the greatest of what the panels show; round, for a logarithmic axis begins its steps at its end. */
function latencyRange(panels, kind) {
  const values = panels.flatMap((scheme) => latencyLines(scheme, kind, new Map()).flatMap((line) => line.values)).filter((value) => value > 0);
  return values.length === 0 ? [1, 10] : [leadingDigit(Math.min(...values) * 0.9, Math.floor), leadingDigit(Math.max(...values) * 1.1, Math.ceil)];
}

function overTimeLegend(state) {
  const legend = curveLegend(OVER_TIME.map(([label, , number]) => ({ label, colour: hue(number) })), (at, show) => {
    state.shown.set(OVER_TIME[at][1], show);
    for (const chart of state.charts.values()) chart.setSeries(at + 1, { show });
  });
  const swatch = html("span", { class: "swatch" });
  swatch.style.background = theme("warn");
  swatch.style.opacity = String(BAND_STRENGTH);
  legend.list.append(html("span", null, swatch, "all dies collecting"));
  return legend.list;
}

/** Latencies over time: the drive without streams beside the best scheme's. */
function latencyOverTimeFigure(known) {
  const kindsOf = (scheme) => ["write", "read"].filter((kind) => scheme.time.intervals.some((each) => latencyOf(each, kind)));
  const schemes = timed(known).filter((scheme) => scheme.time.intervals.length > 1 && kindsOf(scheme).length > 0);
  const panels = [...new Set([known.before, known.chosen])].filter((scheme) => schemes.includes(scheme));
  if (panels.length === 0) return null;
  const kinds = ["write", "read"].filter((kind) => panels.some((scheme) => kindsOf(scheme).includes(kind)));
  const state = { kind: kinds[0], shown: new Map(OVER_TIME.map(([, key]) => [key, true])), charts: new Map(), range: null, sync: `latency-${Math.random()}` };
  const holder = html("div");
  const draw = () => {
    state.charts.clear();
    state.range = latencyRange(panels, state.kind);
    holder.replaceChildren(html("div", { class: panels.length > 1 ? "row" : null },
      panels.filter((scheme) => kindsOf(scheme).includes(state.kind)).map((scheme) => latencyPanel(scheme, state))));
  };
  draw();
  const kind = kinds.length > 1 && html("div", { class: "controls" }, choice("requests", [["write", "writes"], ["read", "reads"]], state.kind,
    (chosen) => { state.kind = chosen; draw(); }));
  const rows = () => schemes.flatMap((scheme) => scheme.time.intervals.flatMap((each) => kindsOf(scheme)
    .filter((name) => latencyOf(each, name))
    .map((name) => ({ scheme: scheme.name, start_ns: each.start_ns, kind: name, ...latencyOf(each, name), collection_busy_ns: each.collection_busy_ns }))));
  return figure("latency-over-time", "How long requests took, as the drive fills and collects",
    `Percentiles of what was answered in each interval of ${panels.map((scheme) => tellTime(scheme.time.interval_ns)).join(" and ")}, on a logarithmic scale; `
    + `they are at most a sixteenth too long. Of more intervals than ${MOST_POINTS}, a point is the slowest of its neighbours (p50: the middle one). The darker the ground, the more of the dies' time garbage collection took.`,
    kind, overTimeLegend(state), holder,
    numbers("latency-over-time", () => [
      column("scheme", "scheme", (row) => row.scheme, null, { text: true }),
      column("start_ns", "from", (row) => row.start_ns, tellTime),
      column("kind", "requests", (row) => row.kind, null, { text: true }),
      ...OVER_TIME.map(([name, key]) => column(key, name, (row) => row[key], tellTime)),
      column("collection_busy_ns", "dies collecting, together", (row) => row.collection_busy_ns, tellTime),
    ], rows));
}
