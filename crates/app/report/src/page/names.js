// Facts, legends and the names of settings: what pages of results and of sweeps have in common.

/** A fact of the verdict. */
function fact(words, value, note, tone) {
  return html("div", { class: "fact" },
    html("div", { class: "label" }, words),
    html("div", { class: `value ${tone ?? ""}` }, value),
    html("div", { class: "note" }, note));
}

/** A setting's name as people say it. */
function settingName(key) {
  return key.split(".").pop().replace(/_bytes$/, "").replaceAll("_", " ");
}

function distinct(values) {
  const unique = [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
  return unique.sort((a, b) => compareValues(a, b));
}

/** A legend whose names show and hide curves and tell their value at the cursor. */
function curveLegend(lines, onToggle) {
  const values = lines.map(() => html("span", { class: "value-now" }));
  const list = html("div", { class: "legend" }, lines.map((line, at) => {
    const swatch = html("span", { class: "swatch line" });
    swatch.style.borderTopColor = line.colour;
    if (line.dash) swatch.style.borderTopStyle = "dashed";
    const button = html("button", { type: "button", "aria-pressed": String(line.show ?? true) },
      swatch, html("span", { class: "name" }, line.label), values[at]);
    button.addEventListener("click", () => {
      line.show = !(line.show ?? true);
      button.setAttribute("aria-pressed", String(line.show));
      onToggle(at, line.show);
    });
    return button;
  }));
  const tell = (words) => words.forEach((each, at) => { values[at].textContent = each; });
  return { list, tell };
}
