// Bars: one row for each thing, its name, its length and what it is.

const BAR_ROW = 30;

/** Draws rows of `{ name, value, words, colour }` from 0 to the largest value. */
function drawBars(place, width, rows, ticks, tell, unit) {
  const left = Math.min(230, width * 0.4);
  const bottom = 10 + rows.length * BAR_ROW;
  // What stands behind the longest bar has room.
  const right = width - 90;
  const most = Math.max(...rows.map((row) => row.value), ...ticks);
  const at = scale(0, most, left, right, false);
  const picture = drawing(width, bottom + 40);
  xAxis(picture, ticks, at, 6, bottom, tell, unit, right);
  rows.forEach((row, index) => {
    const y = 10 + index * BAR_ROW;
    picture.append(
      label(0, y + BAR_ROW / 2 + 4, fitted(row.name, left - 12), { colour: "ink" }),
      svg("rect", { x: left, y: y + 6, width: Math.max(at(row.value) - left, 1), height: BAR_ROW - 12, rx: 3, fill: row.colour }),
      label(at(row.value) + 6, y + BAR_ROW / 2 + 4, row.words, { colour: "ink" }),
    );
  });
  place.append(picture);
}
