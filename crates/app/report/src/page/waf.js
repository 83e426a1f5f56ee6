// Write amplification over bytes written, and how full the drive was.

// Windows of the moving curve are this share of the drive's capacity.
const WINDOW_SHARE = 0.25;
// Schemes shown at first, when there are many.
const SHOWN_FIRST = 7;

/** The look of each scheme's curve; of many, those of least WAF are shown at first. */
function schemeLooks(known) {
  const rank = [...known.schemes].sort((a, b) => compareValues(a.waf_window, b.waf_window));
  const isCompared = (scheme) => scheme === known.before || scheme === known.best;
  return new Map(known.schemes.map((scheme) => [scheme.name, {
    ...lineOf(known.looks[scheme.name]),
    width: scheme === known.best ? 3 : 1.8,
    show: isCompared(scheme) || known.looks[scheme.name]?.hue === null || rank.indexOf(scheme) < SHOWN_FIRST,
  }]));
}

/** The top of a picture that the schemes compared fill: one that is far worse must not press them together. */
function usefulTop(known, lines) {
  const compared = new Set([known.before?.name, known.best?.name]);
  const values = lines.filter((line) => compared.has(line.label)).flatMap((line) => line.values.filter((value) => value !== null));
  return values.length > 0 ? Math.max(...values) * 1.12 : null;
}

/** The bytes written at which any curve has a point. */
function commonPlaces(schemes) {
  const places = new Set();
  for (const scheme of schemes) for (const point of scheme.series) places.add(point.host_page_bytes);
  return [...places].sort((a, b) => a - b).filter((at) => at > 0);
}

function wafCurve(scheme, places, windowBytes) {
  const host = scheme.series.map((point) => point.host_page_bytes);
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
  const host = fill.map((point) => point.host_page_bytes);
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
  const { result } = known;
  // The compared are drawn last, on top of the others.
  const isCompared = (scheme) => scheme === known.before || scheme === known.best;
  const schemes = [...known.schemes].sort((a, b) => isCompared(a) - isCompared(b));
  const places = commonPlaces(schemes);
  if (places.length === 0) return null;
  const unit = byteUnit(places[places.length - 1]);
  const state = { windowed: false, whole: false, shown: schemeLooks(known) };
  const holder = html("div");
  const beyond = html("p", { class: "note-line" });
  const sync = `waf-${Math.random()}`;
  const draw = () => {
    const windowBytes = state.windowed ? result.device.logical_bytes * WINDOW_SHARE : null;
    const looks = schemeLooks(known);
    const lines = schemes.map((scheme) => ({
      label: scheme.name, values: wafCurve(scheme, places, windowBytes), ...looks.get(scheme.name),
      show: state.shown.get(scheme.name).show,
    }));
    let chart = null;
    const top = state.whole ? null : usefulTop(known, lines);
    const cut = lines.filter((line) => line.show && top !== null && line.values.some((value) => value !== null && value > top));
    beyond.textContent = cut.length > 0
      ? `Beyond the top: ${cut.map((line) => `${line.label}, up to ${tellRatio(Math.max(...line.values.filter((value) => value !== null)))}`).join("; ")}.` : "";
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
          yRange: (_, low, high) => [Math.min(1, low ?? 1), Math.max(Math.min((high ?? 1) * 1.04, top ?? Infinity), 1.1)], onCursor: tell, sync,
          tellY: (value) => value.toFixed(2),
        });
      });
    const fill = fillStrip(known, places, unit, sync);
    tell(null);
    holder.replaceChildren(legend.list, picture, beyond, ...(fill ? [fill] : []));
  };
  const mode = choice("what the curves show", [["so-far", "since the beginning"], ["window", "moving window"]], "so-far",
    (key) => { state.windowed = key === "window"; draw(); });
  const height = choice("the scale", [["compared", "fit the two compared"], ["all", "fit all"]], "compared",
    (key) => { state.whole = key === "all"; draw(); });
  draw();
  const rows = () => schemes.flatMap((scheme) => scheme.series.map((point) => ({ scheme: scheme.name, ...point })));
  return figure("waf", "What each byte costs, as the drive fills and ages",
    "Bytes of flash programmed for each byte the host wrote in whole pages; 1.00 is the least there can be. The moving window is a "
    + "quarter of the drive's capacity. Drag across the picture to look closer, double-click to go back.",
    html("div", { class: "controls" }, mode, height), holder,
    numbers("waf", () => [
      column("scheme", "scheme", (row) => row.scheme, null, { text: true }),
      column("host_page_bytes", "host bytes, whole pages", (row) => row.host_page_bytes, tellCount),
      column("media_bytes", "media bytes", (row) => row.media_bytes, tellCount),
      column("waf", "WAF so far", (row) => (row.host_page_bytes > 0 ? row.media_bytes / row.host_page_bytes : null), tellRatioExactly),
    ], rows));
}
