// What requests took, and throughput over time, where time was simulated.

const PERCENTILES = [
  ["p50", "p50_ns"], ["p90", "p90_ns"], ["p99", "p99_ns"], ["p99.9", "p99_9_ns"], ["p99.99", "p99_99_ns"], ["max", "max_ns"],
];

function timed(known) {
  return known.schemes.filter((scheme) => scheme.time);
}

function drawPercentiles(place, width, schemes, kind, looks) {
  const height = 290;
  const [left, bottom, right] = [66, height - 42, width - 12];
  const values = schemes.map((scheme) => PERCENTILES.map(([, key]) => Math.max(scheme.time.latency[kind][key], 1)));
  const low = Math.min(...values.flat()) * 0.8;
  const high = Math.max(...values.flat()) * 1.25;
  const y = scale(low, high, bottom, 22, true);
  const x = scale(0, PERCENTILES.length - 1, left + 16, right - 20);
  const picture = drawing(width, height);
  yAxis(picture, powerTicks(low, high, 10, 7), y, left, right, tickTime, "latency");
  xAxis(picture, PERCENTILES.map((_, at) => at), x, 22, bottom, (at) => PERCENTILES[at][0], "share of requests that took no longer", right);
  schemes.forEach((scheme, index) => {
    const look = looks.get(scheme.name);
    const path = values[index].map((value, at) => `${at === 0 ? "M" : "L"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join("");
    picture.append(svg("path", { d: path, fill: "none", stroke: look.colour, "stroke-width": look.width, "stroke-dasharray": look.dash?.join(" ") }));
    values[index].forEach((value, at) => picture.append(svg("circle", { cx: x(at), cy: y(value), r: 3, fill: look.colour })));
  });
  place.append(picture);
}

/** Latency percentiles of reads and writes. */
function latencyFigure(known) {
  const schemes = timed(known);
  if (schemes.length === 0) return null;
  const looks = schemeLooks(known);
  const shown = schemes.filter((scheme) => looks.get(scheme.name).show);
  const kinds = ["write", "read"].filter((kind) => schemes.some((scheme) => scheme.time.latency[kind].requests > 0));
  const legend = html("div", { class: "legend" }, shown.map((scheme) => {
    const swatch = html("span", { class: "swatch line" });
    swatch.style.borderTopColor = looks.get(scheme.name).colour;
    return html("span", null, swatch, html("span", { class: "name" }, scheme.name));
  }));
  const pictures = kinds.map((kind) => html("div", null, html("h3", null, kind === "write" ? "Writes" : "Reads"),
    plot(`Latency percentiles of ${kind}s: ${shown.map((scheme) => `${scheme.name}, 99.9 % within ${tellTime(scheme.time.latency[kind].p99_9_ns)}`).join("; ")}`,
      (place, width) => drawPercentiles(place, width, shown, kind, schemeLooks(known)))));
  const rows = () => schemes.flatMap((scheme) => ["write", "read", "discard", "flush"].map((kind) =>
    ({ scheme: scheme.name, kind, ...scheme.time.latency[kind] }))).filter((row) => row.requests > 0);
  return figure("latency", "How long requests took",
    "Simulated on the drive's flash; the scale is logarithmic. Garbage collection shows at the right: the few requests that wait for it.",
    legend, html("div", { class: kinds.length > 1 ? "row" : null }, pictures),
    numbers("latency", () => [
      column("scheme", "scheme", (row) => row.scheme, null, { text: true }),
      column("kind", "requests", (row) => row.kind, null, { text: true }),
      column("requests", "count", (row) => row.requests, tellCount),
      column("mean_ns", "mean", (row) => row.mean_ns, tellTime),
      ...PERCENTILES.map(([name, key]) => column(key, name, (row) => row[key], tellTime)),
    ], rows));
}

/** The intervals' begins that any scheme has, and each scheme's values there. */
function overTime(schemes, of) {
  const starts = new Set();
  for (const scheme of schemes) for (const each of scheme.time.intervals) starts.add(each.start_ns);
  const x = [...starts].sort((a, b) => a - b);
  const lines = schemes.map((scheme) => {
    const values = new Map(scheme.time.intervals.map((each) => [each.start_ns, of(each, scheme)]));
    return x.map((at) => values.get(at) ?? null);
  });
  return { x: x.map((ns) => ns / 1e9), lines };
}

/** Of the dies' time in an interval, the share that garbage collection held them. */
function collectionShare(each, scheme) {
  const { interval_ns: length, die_busy_ns: dies } = scheme.time;
  return each.collection_busy_ns === undefined ? null : each.collection_busy_ns / (length * dies.length);
}

/** Throughput over simulated time, and what garbage collection took of the dies. */
function throughputFigure(known) {
  const schemes = timed(known).filter((scheme) => scheme.time.intervals.length > 1);
  if (schemes.length === 0) return null;
  // Throughput jumps about: two curves can be read, the others are a click away.
  const first = [known.before, known.chosen];
  const shown = new Map(schemes.map((scheme) => [scheme.name, first.includes(scheme)]));
  const holder = html("div");
  const sync = `time-${Math.random()}`;
  const line = (values, scheme) => ({ label: scheme.name, values, ...schemeLooks(known).get(scheme.name), show: shown.get(scheme.name) });
  const rates = overTime(schemes, (each) => each.write_mib_per_second);
  const shares = overTime(schemes, collectionShare);
  const marksCollection = shares.lines.flat().some((share) => share > 0);
  const charts = [];
  const legend = curveLegend(schemes.map((scheme, at) => line(rates.lines[at], scheme)), (at, show) => {
    shown.set(schemes[at].name, show);
    for (const chart of charts) chart?.setSeries(at + 1, { show });
  });
  const tell = (at) => legend.tell(rates.lines.map((values) => (at === null || at === undefined || values[at] === null ? "" : significant(values[at]))));
  holder.append(legend.list, plot(`Throughput over simulated time; on average ${schemes.map((scheme) => `${scheme.name} ${tellRate(scheme.host_page_bytes, scheme.time.elapsed_ns)}`).join(", ")}`,
    (place, width) => {
      charts[0] = curves(place, width, {
        x: rates.x, lines: schemes.map((scheme, at) => line(rates.lines[at], scheme)), height: 250, sync,
        xUnit: marksCollection ? "" : "simulated seconds", yUnit: "MiB/s written", yRange: (_, low, high) => [0, (high ?? 1) * 1.06], onCursor: tell,
      });
    }));
  if (marksCollection) {
    holder.append(plot("Share of the dies' time that garbage collection took, over simulated time", (place, width) => {
      charts[1] = curves(place, width, {
        x: shares.x, lines: schemes.map((scheme, at) => line(shares.lines[at], scheme)), height: 170, sync,
        xUnit: "simulated seconds", yUnit: "dies collecting", yRange: (_, low, high) => [0, Math.min(1, Math.max(high ?? 0, 0.05) * 1.1)],
        tellY: (share) => `${Math.round(100 * share)} %`,
      });
    }));
  }
  const rows = () => schemes.flatMap((scheme) => scheme.time.intervals.map((each) => ({ scheme: scheme.name, ...each })));
  return figure("throughput", "Throughput, and garbage collection below it",
    "MiB the host wrote in each simulated second, and the share of the dies' time that garbage collection took meanwhile.",
    holder,
    numbers("throughput", () => [
      column("scheme", "scheme", (row) => row.scheme, null, { text: true }),
      column("start_ns", "from", (row) => row.start_ns, tellTime),
      column("write_mib_per_second", "MiB/s written", (row) => row.write_mib_per_second, significant),
      column("read_mib_per_second", "MiB/s read", (row) => row.read_mib_per_second, significant),
      column("write_iops", "writes/s", (row) => row.write_iops, significant),
      column("read_iops", "reads/s", (row) => row.read_iops, significant),
      column("collection_busy_ns", "dies collecting, together", (row) => row.collection_busy_ns, tellTime),
    ], rows));
}
