// Many results as a heat map over two of the settings they differ in.

// Settings people vary come first; what follows from them, later.
const SETTINGS_FIRST = ["device.host_streams", "option.over-provisioning", "device.internal_streams", "config.fill", "device.unit_bytes", "device.victim_rule", "device.profile", "config.trace", "seed"];

function tellSetting(key, value) {
  if (key.endsWith("_bytes") && typeof value === "number") return tellBytes(value);
  if (key === "config.fill") return tellShare(value);
  if (key === "config.trace") return String(value).split("/").pop();
  return value === undefined || value === null ? "–" : String(value);
}

function settingRank(key) {
  const at = SETTINGS_FIRST.indexOf(key);
  if (at >= 0) return at;
  if (key.startsWith("config.") && !key.startsWith("config.drive.") && !key.startsWith("config.time.")) return -1;
  return key.startsWith("config.time.") ? 50 : 100;
}

/** The settings in which results differ; of those that always change together, one. */
function varyingKeys(results) {
  const all = results.map(settings);
  // How a trace was captured is no setting, and small pages leave it out.
  const told = [...new Set(all.flatMap(Object.keys))].filter((key) => !key.startsWith("config.capture."));
  const keys = told.sort((a, b) => settingRank(a) - settingRank(b) || (a < b ? -1 : 1));
  const seen = new Set();
  return keys.filter((key) => {
    const values = all.map((flat) => JSON.stringify(flat[key]));
    const numbers = new Map();
    const pattern = values.map((value) => { if (!numbers.has(value)) numbers.set(value, numbers.size); return numbers.get(value); }).join();
    if (numbers.size < 2 || seen.has(pattern)) return false;
    seen.add(pattern);
    return true;
  });
}

const MEASURES = {
  best: ["WAF with the verdict's scheme, last capacity", (result) => result.verdict.waf_with ?? null, tellRatio],
  life: ["how many times as long the flash lasts, with the verdict's scheme", (result) => result.verdict.life ?? null, (value) => (value === null ? "–" : `${tellRatio(value)}×`)],
};

function measureOf(key) {
  if (key in MEASURES) return MEASURES[key];
  const name = key.slice(4);
  return [`WAF of ${name}, last capacity`, (result) => result.schemes.find((scheme) => scheme.name === name)?.waf_window ?? null, tellRatio];
}

function drawHeat(place, width, grid, choose) {
  const { results, columnKey, rowKey, measure } = grid;
  const all = results.map(settings);
  const columnsAt = distinct(all.map((flat) => flat[columnKey]));
  const rowsAt = rowKey ? distinct(all.map((flat) => flat[rowKey])) : [undefined];
  const [, of, tell] = measureOf(measure);
  const cellAt = (x, y) => {
    const here = results.map((_, at) => at).filter((at) => all[at][columnKey] === columnsAt[x] && (!rowKey || all[at][rowKey] === rowsAt[y]));
    const found = here.map((at) => of(results[at])).filter((value) => value !== null);
    if (found.length === 0) return null;
    const value = found.reduce((sum, each) => sum + each, 0) / found.length;
    return { value, words: tell(value) + (found.length > 1 ? ` (${found.length})` : ""), open: () => choose(here[0]) };
  };
  const heat = {
    columnName: settingName(columnKey), rowName: rowKey ? settingName(rowKey) : null,
    columns: columnsAt.map((value) => tellSetting(columnKey, value)), rows: rowsAt.map((value) => (rowKey ? tellSetting(rowKey, value) : "")),
    range: results.map(of), isMoreBetter: measure === "life", cellAt,
  };
  drawHeatMap(place, width, heat);
}

/** All results, in words: how many are worth it, and the median and the range of their lifetimes. */
function gridVerdict(results) {
  const all = results.map((result) => result.verdict);
  const answered = all.filter((each) => each.life !== null && each.life !== undefined);
  const worth = answered.filter((each) => each.answer === "worth-it").length;
  const open = all.filter((each) => each.answer === "no-answer-yet").length;
  const rest = open > 0 ? ` No answer yet in ${open}.` : "";
  const words = answered.length > 0
    ? `Worth it in ${worth === 0 ? "none" : worth} of ${results.length} comparisons: the flash lasts ${medianAndRange(answered.map((each) => each.life), tellRatio)} times as long as on an ordinary drive${answered.length > 1 ? ", in the median" : ""}.${rest}`
    : `${results.length} comparisons.${rest || " None is with an ordinary drive."}`;
  return html("h1", null, words);
}

/** The heat map of a grid; a click shows that result below. */
function gridFigure(results, keys, choose) {
  const title = "The grid";
  if (keys.length === 0) return figure("grid", title, "These results do not differ in any setting.");
  const names = [...new Set(results.flatMap((result) => result.schemes.map((scheme) => scheme.name)))];
  const grid = { results, columnKey: keys[0], rowKey: keys[1] ?? null, measure: results.some((result) => MEASURES.life[1](result) !== null) ? "life" : `waf:${names[0]}` };
  const holder = html("div");
  const show = () => holder.replaceChildren(plot(`${measureOf(grid.measure)[0]} over ${settingName(grid.columnKey)}${grid.rowKey ? ` and ${settingName(grid.rowKey)}` : ""}`,
    (place, width) => drawHeat(place, width, grid, choose), "group"));
  holder.setAttribute("id", "heat");
  const choices = keys.map((key) => [key, settingName(key)]);
  const measures = [...Object.entries(MEASURES).map(([key, [words]]) => [key, words]), ...names.map((name) => [`waf:${name}`, `WAF of ${name}`])];
  show();
  const set = (key) => (value) => { grid[key] = value; show(); };
  const rows = () => results.flatMap((result, at) => result.schemes.map((scheme) => ({ at: at + 1, flat: settings(result), scheme })));
  return figure("grid", title,
    "Each cell is a result; brighter is better, a number in brackets is how many results it is the mean of. A click shows that result below.",
    html("div", { class: "controls" }, selection("columns", choices, grid.columnKey, set("columnKey")),
      keys.length > 1 ? selection("rows", choices, grid.rowKey, set("rowKey")) : null,
      selection("colour", measures, grid.measure, set("measure"))),
    holder,
    numbers("grid", () => [
      column("result", "result", (row) => row.at),
      ...keys.map((key) => column(key, settingName(key), (row) => row.flat[key], (value) => tellSetting(key, value), { text: true })),
      column("scheme", "scheme", (row) => row.scheme.name, null, { text: true }),
      column("waf_window", "WAF", (row) => row.scheme.waf_window, tellRatioExactly),
      column("waf", "WAF, whole run", (row) => row.scheme.waf, tellRatioExactly),
      column("copied_bytes", "copied", (row) => row.scheme.copied_bytes, tellBytes),
      column("lifetime_vs_ordinary", "lifetime", (row) => row.scheme.lifetime_vs_ordinary, tellRatioExactly),
    ], rows));
}
