// Curves, by uPlot.

// How much of its colour a band of share 1 has.
const BAND_STRENGTH = 0.4;

/** Bands behind curves: { from, to, share } along x, the stronger the greater their share. */
function drawBands(chart, bands) {
  const { ctx, bbox } = chart;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.fillStyle = theme("warn");
  for (const { from, to, share } of bands) {
    const left = chart.valToPos(from, "x", true);
    ctx.globalAlpha = BAND_STRENGTH * share;
    ctx.fillRect(left, bbox.top, Math.max(1, chart.valToPos(to, "x", true) - left), bbox.height);
  }
  ctx.restore();
}

function axis(place, unit, tell) {
  return {
    stroke: theme("muted"),
    font: "12px system-ui, sans-serif",
    labelFont: "12px system-ui, sans-serif",
    grid: { stroke: theme("line"), width: 1 },
    ticks: { stroke: theme("line"), width: 1, size: 5 },
    label: unit,
    labelSize: 20,
    labelGap: 2,
    // A logarithmic axis leaves out most of its values.
    values: tell ? (_, splits) => splits.map((value) => (value === null ? null : tell(value))) : undefined,
    ...place,
  };
}

/** Curves over a common x. `lines` are { label, values, colour, dash, width, show, fill }; `bands` lie behind. */
function curves(place, width, options) {
  const { x, lines, bands, height, xUnit, yUnit, yRange, isLog, tellY, onCursor, sync } = options;
  const settings = {
    width,
    height,
    padding: [10, 12, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { size: 6 }, drag: { x: true, y: false }, sync: sync ? { key: sync } : undefined },
    scales: { x: { time: false }, y: { range: yRange, distr: isLog ? 3 : 1 } },
    axes: [axis({ size: 34 }, xUnit), axis({ size: 54 }, yUnit, tellY)],
    series: [
      { label: xUnit },
      ...lines.map((line) => ({
        label: line.label,
        stroke: line.colour,
        width: line.width ?? 1.8,
        dash: line.dash,
        fill: line.fill,
        show: line.show ?? true,
        points: { show: false },
        spanGaps: true,
      })),
    ],
    hooks: {
      setCursor: onCursor ? [(chart) => onCursor(chart.cursor.idx)] : [],
      drawClear: bands ? [(chart) => drawBands(chart, bands)] : [],
    },
  };
  return new uPlot(settings, [x, ...lines.map((line) => line.values)], place);
}

/** The value of a curve at `x`, by the straight line between its neighbours. */
function interpolate(xs, ys, x) {
  if (xs.length === 0 || x < xs[0] || x > xs[xs.length - 1]) return null;
  let low = 0;
  let high = xs.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= x) low = middle;
    else high = middle;
  }
  const span = xs[high] - xs[low];
  return span === 0 ? ys[high] : ys[low] + ((ys[high] - ys[low]) * (x - xs[low])) / span;
}
