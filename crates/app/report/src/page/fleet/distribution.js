// How a figure is distributed over the volumes: curves of shares, and boxes.

const FLEET_MEASURES = {
  waf: ["write amplification", (cell) => cell.waf, tellRatio, (group) => group.waf],
  lifetime: ["lifetime against an ordinary drive", (cell) => cell.lifetime, times, (group) => group.lifetime_vs_ordinary],
  removed: ["share of an ordinary drive's copies spared", (cell) => cell.removed, tellShare, (group) => group.copies_removed],
};
const CURVE_HEIGHT = 340;
const FLEET_BOX_ROW = 34;
/** The quantiles that so many volumes have. */
function toldQuantiles(fleet) {
  return fleet.traces < FEW ? ["least", "p50", "most"] : ["least", "p10", "p25", "p50", "p75", "p90", "p99", "most"];
}

/** The values of each scheme in rising order; schemes without any are left out. */
function valuesByScheme(drive, of) {
  const schemes = [...new Set(drive.cells.map((cell) => cell.scheme))];
  return schemes.map((scheme) => ({
    scheme,
    values: drive.cells.filter((cell) => cell.scheme === scheme).map(of).filter((value) => value !== null).sort((a, b) => a - b),
  })).filter((line) => line.values.length > 0);
}

function drawShares(place, width, fleet, lines, measure) {
  const [name, , tell] = FLEET_MEASURES[measure];
  const low = Math.min(...lines.map((line) => line.values[0]));
  const high = Math.max(...lines.map((line) => line.values[line.values.length - 1]), low + 0.01);
  const isLog = measure !== "removed" && high / low > 4;
  const [left, right, top, bottom] = [44, width - 14, 30, CURVE_HEIGHT - 44];
  const at = scale(low, high, left, right, isLog);
  const up = scale(0, 1, bottom, top, false);
  const picture = drawing(width, CURVE_HEIGHT);
  const ticks = isLog ? powerTicks(low, high, 2, width / 110) : roundTicks(low, high, width / 110);
  yAxis(picture, [0, 0.25, 0.5, 0.75, 1], up, left, right, tellShare, "share of volumes at or below");
  xAxis(picture, ticks, at, top, bottom, tell, `${name}${isLog ? " (logarithmic)" : ""}`, right);
  for (const line of lines.filter((each) => each.show !== false)) {
    const steps = line.values.map((value, place_) => {
      const share = up((place_ + 1) / line.values.length);
      return `H${at(value).toFixed(1)}V${share.toFixed(1)}`;
    });
    picture.append(svg("path", {
      d: `M${at(line.values[0]).toFixed(1)},${bottom}${steps.join("")}H${right}`, fill: "none", stroke: schemeColour(fleet, line.scheme),
      "stroke-width": 2, "stroke-dasharray": schemeDash(fleet, line.scheme), "stroke-linejoin": "round",
    }));
  }
  place.append(picture);
}

/** The share of volumes at or below each value, a step line a scheme. */
function distributionFigure(fleet, drive) {
  const state = { measure: "waf" };
  const holder = html("div");
  const show = () => {
    const [name, of] = FLEET_MEASURES[state.measure];
    const lines = valuesByScheme(drive, of).map((line) => ({ ...line, label: line.scheme, colour: schemeColour(fleet, line.scheme), dash: schemeDash(fleet, line.scheme) }));
    if (lines.length === 0) {
      holder.replaceChildren(html("p", null, "There is nothing to compare with: baseline+gc, an ordinary drive, was not swept, or never copied."));
      return;
    }
    const picture = plot(`Share of volumes at or below each ${name}, a line a scheme`, (place, width) => drawShares(place, width, fleet, lines, state.measure));
    const legend = curveLegend(lines, () => redraw());
    holder.replaceChildren(legend.list, picture);
  };
  show();
  const measures = Object.entries(FLEET_MEASURES).map(([key, [name]]) => [key, name]);
  return figure("distribution", "How the volumes differ",
    "Each line is a scheme, each step in it a volume: a line that rises at the left and late has a tail that a mean hides. A scheme whose line lies left of another's (for lifetimes and copies spared, right) is better for every share of the fleet.",
    html("div", { class: "controls" }, choice("figure", measures, state.measure, (measure) => { state.measure = measure; show(); redraw(); })),
    holder,
    numbers("distribution", () => cellColumns(fleet), () => drive.cells));
}

function drawFleetBoxes(place, width, fleet, rows) {
  const values = rows.flatMap((row) => [row.waf.least, row.waf.most]);
  const [low, high] = [Math.min(...values), Math.max(Math.max(...values), Math.min(...values) * 1.01)];
  const isLog = high / low > 4;
  const left = Math.min(170, width * 0.34);
  const bottom = 10 + rows.length * FLEET_BOX_ROW;
  const at = scale(low, high, left, width - 18, isLog);
  const picture = drawing(width, bottom + 40);
  const ticks = isLog ? powerTicks(low, high, 2, width / 110) : roundTicks(low, high, width / 110);
  xAxis(picture, ticks, at, 6, bottom, tellRatio, `write amplification${isLog ? " (logarithmic)" : ""}`, width - 18);
  rows.forEach((row, index) => {
    const [least, p10, p25, p50, p75, p90, most] = ["least", "p10", "p25", "p50", "p75", "p90", "most"].map((key) => at(row.waf[key]));
    const y = 10 + index * FLEET_BOX_ROW + FLEET_BOX_ROW / 2;
    const colour = schemeColour(fleet, row.scheme);
    picture.append(label(0, y + 4, fitted(row.scheme, left - 12), { colour: "ink" }));
    if (row.values) {
      picture.append(
        svg("line", { x1: least, x2: most, y1: y, y2: y, stroke: theme("line"), "stroke-width": 2 }),
        ...row.values.map((value) => svg("circle", { cx: at(value), cy: y, r: 5, fill: colour, "fill-opacity": 0.75 })),
      );
    } else {
      picture.append(
        svg("line", { x1: p10, x2: p90, y1: y, y2: y, stroke: colour, "stroke-width": 2 }),
        svg("rect", { x: p25, y: y - 9, width: Math.max(p75 - p25, 2), height: 18, fill: colour, rx: 3 }),
        svg("circle", { cx: most, cy: y, r: 3.5, fill: colour }),
      );
    }
    picture.append(svg("line", { x1: p50, x2: p50, y1: y - 11, y2: y + 11, stroke: theme("ink"), "stroke-width": 2.5 }));
  });
  place.append(picture);
}

/** The write amplification over the volumes: boxes, or, of few volumes, each. */
function boxesFigure(fleet, drive) {
  const areFew = fleet.traces < FEW;
  const values = new Map(valuesByScheme(drive, (cell) => cell.waf).map((line) => [line.scheme, line.values]));
  const rows = drive.groups.filter((group) => group.waf).map((group) => ({ ...group, values: areFew ? values.get(group.scheme) : null }));
  if (rows.length === 0) return null;
  return figure("boxes", "Write amplification over the volumes",
    areFew ? "Each dot is a volume, and the mark is the median."
      : "Boxes hold the middle half of the volumes, the mark in them is the median, lines reach from p10 to p90, and the dot is the worst volume of all.",
    plot(`Write amplification: ${rows.map((row) => `${row.scheme}, median ${tellRatio(row.waf.p50)}`).join("; ")}`,
      (place, width) => drawFleetBoxes(place, width, fleet, rows)),
    numbers("boxes", () => [
      column("scheme", "scheme", (row) => row.scheme, null, { text: true }),
      column("cells", "cells", (row) => row.cells),
      ...toldQuantiles(fleet).map((key) => column(`waf_${key}`, key, (row) => row.waf[key], tellRatioExactly)),
      column("waf_of_all", "of all bytes", (row) => row.waf_of_all, tellRatioExactly),
    ], () => rows));
}
