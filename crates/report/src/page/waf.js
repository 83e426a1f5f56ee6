// Write amplification over bytes written, and how full the drive was.

// Windows of the moving curve are this share of the drive's capacity.
const WINDOW_SHARE = 0.25;
// Schemes shown at first, when there are many.
const SHOWN_FIRST = 7;

/** The look of each scheme's curve: baselines neutral, the best first among the hues. */
function schemeLooks(known) {
  const looks = new Map();
  const order = [...known.schemes].filter((scheme) => !scheme.name.startsWith("baseline"));
  order.sort((a, b) => (a === known.best ? -1 : b === known.best ? 1 : compareValues(a.waf, b.waf)));
  order.forEach((scheme, at) => {
    const round = Math.floor(at / HUES);
    looks.set(scheme.name, {
      colour: hue(at),
      dash: [undefined, [8, 4], [2, 4], [10, 3, 2, 3], [4, 8]][Math.min(round, 4)],
      width: scheme === known.best ? 3 : 1.8,
      show: at < SHOWN_FIRST,
    });
  });
  for (const scheme of known.schemes) {
    if (looks.has(scheme.name)) continue;
    const isFirst = scheme.name === "baseline";
    looks.set(scheme.name, { colour: isFirst ? theme("ink") : NEUTRAL, dash: isFirst ? undefined : [6, 4], width: 2.2, show: true });
  }
  return looks;
}

/** The bytes written at which any curve has a point. */
function commonPlaces(schemes) {
  const places = new Set();
  for (const scheme of schemes) for (const point of scheme.series) places.add(point.host_bytes);
  return [...places].sort((a, b) => a - b).filter((at) => at > 0);
}

function wafCurve(scheme, places, windowBytes) {
  const host = scheme.series.map((point) => point.host_bytes);
  const media = scheme.series.map((point) => point.media_bytes);
  return places.map((at) => {
    const now = interpolate(host, media, at);
    if (now === null) return null;
    if (windowBytes === null) return now / at;
    const from = Math.max(0, at - windowBytes);
    const then = from === 0 ? 0 : interpolate(host, media, from);
    return then === null || at === from ? null : (now - then) / (at - from);
  });
}

function fillStrip(known, places, unit, sync) {
  const drive = known.result.device.logical_bytes;
  const fill = known.before?.details?.fill ?? [];
  if (fill.length < 2) return null;
  const host = fill.map((point) => point.host_bytes);
  const mapped = fill.map((point) => point.mapped_bytes / drive);
  return plot("How full the drive was, over the same bytes written", (place, width) => {
    curves(place, width, {
      x: places.map((at) => at / unit.size),
      lines: [{ label: "fill", values: places.map((at) => interpolate(host, mapped, at)), colour: theme("muted"), fill: theme("dead"), width: 1.5 }],
      height: 112, xUnit: `${unit.name} written by the host`, yUnit: "full", yRange: [0, 1],
      tellY: (share) => `${Math.round(100 * share)} %`, sync,
    });
  });
}

/** The picture of WAF over the run. */
function wafFigure(known) {
  const { schemes, result } = known;
  const places = commonPlaces(schemes);
  if (places.length === 0) return null;
  const unit = byteUnit(places[places.length - 1]);
  const state = { windowed: false, shown: schemeLooks(known) };
  const holder = html("div");
  const sync = `waf-${Math.random()}`;
  const draw = () => {
    const windowBytes = state.windowed ? result.device.logical_bytes * WINDOW_SHARE : null;
    const looks = schemeLooks(known);
    const lines = schemes.map((scheme) => ({
      label: scheme.name, values: wafCurve(scheme, places, windowBytes), ...looks.get(scheme.name),
      show: state.shown.get(scheme.name).show,
    }));
    let chart = null;
    const legend = curveLegend(lines, (at, show) => {
      state.shown.get(schemes[at].name).show = show;
      chart?.setSeries(at + 1, { show });
    });
    const tell = (at) => legend.tell(lines.map((line) => (at === null || at === undefined
      ? tellRatio(line.values[line.values.length - 1]) : tellRatio(line.values[at]))));
    const picture = plot(`Write amplification over bytes written, a line a scheme; at the end: ${schemes.map((scheme) => `${scheme.name} ${tellRatio(scheme.waf)}`).join(", ")}`,
      (place, width) => {
        chart = curves(place, width, {
          x: places.map((at) => at / unit.size), lines, height: Math.max(240, Math.min(360, width * 0.4)),
          xUnit: fill ? "" : `${unit.name} written by the host`, yUnit: "write amplification",
          yRange: (_, low, high) => [Math.min(1, low ?? 1), Math.max((high ?? 1) * 1.04, 1.1)], onCursor: tell, sync,
          tellY: (value) => value.toFixed(2),
        });
      });
    const fill = fillStrip(known, places, unit, sync);
    tell(null);
    holder.replaceChildren(legend.list, picture, ...(fill ? [fill] : []));
  };
  const mode = choice("what the curves show", [["so-far", "since the beginning"], ["window", "moving window"]], "so-far",
    (key) => { state.windowed = key === "window"; draw(); });
  draw();
  const rows = () => schemes.flatMap((scheme) => scheme.series.map((point) => ({ scheme: scheme.name, ...point })));
  return figure("waf", "What each byte costs, as the drive fills and ages",
    "Bytes of flash programmed for each byte the host wrote; 1.00 is the least there can be. The moving window is a "
    + "quarter of the drive's capacity. Drag across the picture to look closer, double-click to go back.",
    html("div", { class: "controls" }, mode), holder,
    numbers("waf", () => [
      column("scheme", "scheme", (row) => row.scheme, null, { text: true }),
      column("host_bytes", "host bytes", (row) => row.host_bytes, tellCount),
      column("media_bytes", "media bytes", (row) => row.media_bytes, tellCount),
      column("waf", "WAF so far", (row) => (row.host_bytes > 0 ? row.media_bytes / row.host_bytes : null), tellRatioExactly),
    ], rows));
}
