// How evenly the flash wears: units by the number of their erases.

/** Both schemes' units by erases, as bars side by side. */
function drawErases(place, width, schemes, looks) {
  const height = 250;
  const [left, bottom, right] = [52, height - 42, width - 12];
  const all = schemes.flatMap((scheme) => scheme.details.erases);
  const low = Math.min(...all.map((each) => each.least_erases));
  const high = Math.max(...all.map((each) => each.most_erases)) + 1;
  const most = Math.max(...all.map((each) => each.units));
  const x = scale(low, high, left, right);
  const y = scale(0, most, bottom, 22);
  const picture = drawing(width, height);
  yAxis(picture, roundTicks(0, most, 5).filter((tick) => Number.isInteger(tick)), y, left, right, tellCount, "units");
  xAxis(picture, roundTicks(low, high, width / 100).filter((tick) => Number.isInteger(tick) && tick <= high), x, 22, bottom, tellCount, "erases of a unit", right);
  schemes.forEach((scheme, index) => {
    for (const each of scheme.details.erases) {
      const from = x(each.least_erases);
      const whole = Math.max(x(each.most_erases + 1) - from, 2);
      const w = whole / schemes.length;
      picture.append(svg("rect", {
        x: from + index * w, y: y(each.units), width: Math.max(w - 1, 1), height: bottom - y(each.units), fill: looks.get(scheme.name).colour,
      }));
    }
  });
  place.append(picture);
}

function erasesFigure(known) {
  const worn = known.schemes.filter((scheme) => scheme.details?.erases.length > 0);
  if (worn.length === 0) return null;
  const pair = [...new Set([known.before, known.chosen])].filter((scheme) => worn.includes(scheme));
  const looks = schemeLooks(known);
  const legend = html("div", { class: "legend" }, pair.map((scheme) => {
    const swatch = html("span", { class: "swatch" });
    swatch.style.background = looks.get(scheme.name).colour;
    const wear = scheme.wear;
    const words = wear ? ` (${wear.least_erases} to ${wear.most_erases} erases, mean ${significant(wear.mean_erases)})` : "";
    return html("span", null, swatch, html("span", { class: "name" }, `${scheme.name}${words}`));
  }));
  const rows = () => worn.flatMap((scheme) => scheme.details.erases.map((each) => ({ scheme: scheme.name, ...each })));
  return figure("erases", "How often each unit was erased",
    "Fewer erases, further to the left, are a longer life; a wide spread means that some units wear out before others.",
    legend,
    plot(`Units by erases: ${pair.map((scheme) => `${scheme.name}, ${tellCount(scheme.erased_units)} erases`).join("; ")}`,
      (place, width) => drawErases(place, width, pair, schemeLooks(known))),
    numbers("erases", () => [
      column("scheme", "scheme", (row) => row.scheme, null, { text: true }),
      column("least_erases", "erases from", (row) => row.least_erases),
      column("most_erases", "to", (row) => row.most_erases),
      column("units", "units", (row) => row.units),
    ], rows));
}
