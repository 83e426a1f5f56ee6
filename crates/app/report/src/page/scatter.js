// Lifetimes against address and against time: does either tell how long data will live?

function scatterPoints(known) {
  const points = known.result.details?.points;
  if (!points) return [];
  return points.lifetime_bytes.map((lifetime, at) => ({
    lifetime, offset: points.offset_bytes[at], written: points.written_at_bytes[at], context: points.context[at],
  }));
}

/** Dots, one path for each colour. */
function dots(picture, points, x, y, colours) {
  const paths = new Map();
  for (const point of points) {
    const colour = colours.get(point.context) ?? NEUTRAL;
    const at = `M${x(point).toFixed(1)} ${y(point).toFixed(1)}h0`;
    paths.set(colour, (paths.get(colour) ?? "") + at);
  }
  for (const [colour, d] of paths) {
    picture.append(svg("path", { d, stroke: colour, "stroke-width": 3.6, "stroke-linecap": "round", "stroke-opacity": 0.75, fill: "none" }));
  }
}

function drawScatter(place, width, points, colours, of, unitWords) {
  const height = 300;
  const [left, bottom] = [66, height - 42];
  const most = Math.max(...points.map(of), 1);
  const unit = byteUnit(most);
  const lifetimes = points.map((point) => point.lifetime);
  const low = Math.max(Math.min(...lifetimes), 1) * 0.8;
  const high = Math.max(...lifetimes, 2) * 1.25;
  const x = scale(0, most, left, width - 12);
  const y = scale(low, high, bottom, 22, true);
  const picture = drawing(width, height);
  yAxis(picture, powerTicks(low, high, 2, 7), y, left, width - 12, tickBytes, "lifetime");
  xAxis(picture, roundTicks(0, most / unit.size, width / 90).map((tick) => tick * unit.size).filter((tick) => tick <= most), x, 22, bottom,
    (tick) => tellTick(tick / unit.size), `${unitWords}, ${unit.name}`, width - 12);
  dots(picture, points, (point) => x(of(point)), (point) => y(Math.max(point.lifetime, low)), colours);
  place.append(picture);
}

/** Both scatter plots (PCStream, Fig. 1). */
function scatterFigure(known) {
  const points = scatterPoints(known);
  if (points.length === 0) return null;
  const colours = writerColours(known);
  const legend = html("ul", { class: "legend" }, [...colours].filter(([id]) => points.some((point) => point.context === id)).map(([id, colour]) => {
    const swatch = html("span", { class: "swatch" });
    swatch.style.background = colour;
    return html("li", null, swatch, html("span", { class: "name" }, known.name(id)));
  }));
  return figure("scatter", "Does the address tell how long data live?",
    `A dot is a page that was overwritten or discarded: ${tellCount(points.length)} of ${tellCount(known.result.details.points.of_pages)}, each as likely as any `
    + "other. Where colours lie in layers, who wrote tells more than where it was written.",
    legend,
    html("div", { class: "row" },
      html("div", null, html("h3", null, "Against the address"), plot("Lifetime against address",
        (place, width) => drawScatter(place, width, points, colours, (point) => point.offset, "place on the drive"))),
      html("div", null, html("h3", null, "Against the time of writing"), plot("Lifetime against the time of writing",
        (place, width) => drawScatter(place, width, points, colours, (point) => point.written, "written by then")))),
    numbers("lives", () => [
      column("context", "id", (row) => row.context),
      column("name", "context", (row) => known.name(row.context), null, { text: true }),
      column("written_at_bytes", "written at", (row) => row.written, tellBytes),
      column("offset_bytes", "address", (row) => row.offset, tellBytes),
      column("lifetime_bytes", "lifetime", (row) => row.lifetime, tellBytes),
    ], () => points));
}
