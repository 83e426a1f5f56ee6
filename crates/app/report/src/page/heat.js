// A heat map: a value for each pair of two settings, brighter where it is better.

/**
 * `columns` and `rows` are words (one empty row where there is one setting only), `cellAt(x, y)` is
 * `{ value, words, open }` or null; colours span `range`, and `isMoreBetter` says which end is bright.
 */
function drawHeatMap(place, width, heat) {
  const { columns, rows, columnName, rowName, isMoreBetter } = heat;
  const left = Math.min(130, width * 0.26);
  const cellWidth = Math.min(120, (width - left - 4) / columns.length);
  const cellHeight = 46;
  const bottom = rows.length * cellHeight;
  const picture = drawing(width, bottom + 62);
  picture.removeAttribute("aria-hidden");
  const values = heat.range.filter((value) => value !== null);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  rows.forEach((row, y) => {
    if (rowName) picture.append(label(left - 10, y * cellHeight + 28, fitted(row, left - 12), { anchor: "end" }));
    columns.forEach((name, x) => {
      const cell = heat.cellAt(x, y);
      if (!cell) return;
      const tone = high > low ? 1 - (cell.value - low) / (high - low) : 1;
      const shade = isMoreBetter ? 1 - tone : tone;
      picture.append(
        svg("rect", { x: left + x * cellWidth, y: y * cellHeight, width: cellWidth - 3, height: cellHeight - 3, rx: 4, fill: scaleColour(shade), tabindex: 0, role: "button",
          "aria-label": `${name}${rowName ? `, ${row}` : ""}: ${cell.words}`, click: cell.open,
          keydown: (event) => { if (event.key === "Enter") cell.open(); } }),
        svg("text", { x: left + x * cellWidth + (cellWidth - 3) / 2, y: y * cellHeight + 27, fill: inkOnScale(shade), "text-anchor": "middle", "font-size": 13, "pointer-events": "none" }, fitted(cell.words, cellWidth - 4, 13)));
    });
  });
  columns.forEach((name, x) => picture.append(label(left + x * cellWidth + (cellWidth - 3) / 2, bottom + 18, fitted(name, cellWidth), { anchor: "middle" })));
  picture.append(label(left, bottom + 42, `${columnName} →`), rowName ? label(left - 10, bottom + 18, fitted(`↑ ${rowName}`, left - 6), { anchor: "end" }) : svg("g"));
  place.append(picture);
}
