// Axes and scales of the pictures that are drawn as SVG.

/** A scale from values to pixels, by logarithm where asked for. */
function scale(low, high, from, to, isLog) {
  const of = isLog ? Math.log : (value) => value;
  const span = of(high) - of(low) || 1;
  return (value) => from + ((of(Math.max(value, isLog ? low : -Infinity)) - of(low)) / span) * (to - from);
}

function drawing(width, height) {
  return svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
}

function label(x, y, words, options = {}) {
  return svg("text", {
    x, y, fill: theme(options.colour ?? "muted"), "font-size": options.size ?? 12,
    "text-anchor": options.anchor ?? "start", "font-weight": options.weight,
    transform: options.turned ? `rotate(-90 ${x} ${y})` : null,
  }, words);
}

/** What an axis' places are called: more exactly than `tell` says where that gives two one name. */
function tickNames(ticks, tell) {
  const names = ticks.map(tell);
  return new Set(names).size === names.length ? names : ticks.map(tellTick);
}

/** A horizontal axis below the plot, with faint lines upward. */
function xAxis(place, ticks, at, top, bottom, tell, unit, right) {
  const names = tickNames(ticks, tell);
  for (const [index, tick] of ticks.entries()) {
    const x = at(tick);
    place.append(svg("line", { x1: x, x2: x, y1: top, y2: bottom, stroke: theme("line") }));
    place.append(label(x, bottom + 17, names[index], { anchor: "middle" }));
  }
  place.append(label(right, bottom + 34, unit, { anchor: "end" }));
}

/** A vertical axis at the left. */
function yAxis(place, ticks, at, left, right, tell, unit) {
  for (const tick of ticks) {
    const y = at(tick);
    place.append(svg("line", { x1: left, x2: right, y1: y, y2: y, stroke: theme("line") }));
    place.append(label(left - 8, y + 4, tell(tick), { anchor: "end" }));
  }
  if (unit) place.append(label(0, 12, unit));
}

/** Words cut to about so many pixels. */
function fitted(words, width, size = 12) {
  const most = Math.floor(width / (size * 0.6));
  if (words.length <= most) return words;
  return most < 3 ? "" : `${words.slice(0, most - 1)}…`;
}
