// Who wins where, and by how much: schemes against an ordinary drive, settings against each other, every cell.

const WIN_ROW = 30;

function drawWins(place, width, fleet, rows) {
  const left = Math.min(170, width * 0.34);
  const bottom = 10 + rows.length * WIN_ROW;
  // What stands behind the longest bar has room.
  const right = width - 52;
  const at = scale(0, 1, left, right, false);
  const picture = drawing(width, bottom + 40);
  xAxis(picture, [0, 0.25, 0.5, 0.75, 1], at, 6, bottom, tellShare, "share of volumes", right);
  rows.forEach((row, index) => {
    const y = 10 + index * WIN_ROW;
    const share = row.best / Math.max(row.cells, 1);
    picture.append(
      label(0, y + WIN_ROW / 2 + 4, fitted(row.scheme, left - 12), { colour: "ink" }),
      svg("rect", { x: left, y: y + 6, width: Math.max(at(share) - left, 1), height: WIN_ROW - 12, rx: 3, fill: schemeColour(fleet, row.scheme) }),
      label(at(share) + 6, y + WIN_ROW / 2 + 4, tellShare(share), { colour: "ink" }),
    );
  });
  place.append(picture);
}

/** On how many volumes each scheme is best, and how it stands against baseline. */
function winsFigure(fleet, drive) {
  const rows = drive.groups.filter((group) => !group.is_bound);
  const told = fleet.traces < FEW ? ["least", "p50", "most"] : ["p10", "p50", "p90"];
  const at = (key, of, tell) => column(`${key}_${of}`, `${key === "lifetime" ? "lifetime" : "spared"} ${of}`,
    (row) => (key === "lifetime" ? row.lifetime_vs_ordinary : row.copies_removed)?.[of] ?? null, tell);
  const columns = [
    column("scheme", "scheme", (row) => row.scheme, null, { text: true }),
    column("cells", "volumes", (row) => row.cells, tellCount),
    column("best", "best on", (row) => row.best, tellCount),
    column("worse_than_ordinary", "worse off", (row) => row.worse_than_ordinary, tellCount),
    ...told.map((of) => at("lifetime", of, times)),
    ...told.map((of) => at("removed", of, tellShare)),
  ];
  return figure("wins", "Which scheme wins where",
    "A scheme is best on a volume if no other that can be built writes less; of several that tie, each counts. Lifetimes are times that of an ordinary drive, baseline+gc, and copies spared a share of its copies (below 0: more copies), at the volumes of which so many of a hundred (pN) lie at or below, or, of few, the least and the most.",
    plot(`Best on: ${rows.map((row) => `${row.scheme} ${tellShare(row.best / Math.max(row.cells, 1))}`).join("; ")}`,
      (place, width) => drawWins(place, width, fleet, rows)),
    dataTable("wins", columns, drive.groups, { label: "schemes against an ordinary drive" }));
}

const HEAT_VALUES = {
  "waf.most": ["WAF of the worst volume", (group) => group.waf?.most ?? null, tellRatio],
  "waf.p50": ["median WAF", (group) => group.waf?.p50 ?? null, tellRatio],
  "waf.p90": ["WAF at p90", (group) => group.waf?.p90 ?? null, tellRatio],
  waf_of_all: ["WAF of all bytes", (group) => group.waf_of_all, tellRatio],
  "lifetime.least": ["least lifetime against an ordinary drive", (group) => group.lifetime_vs_ordinary?.least ?? null, times],
  "lifetime.p10": ["lifetime against an ordinary drive at p10", (group) => group.lifetime_vs_ordinary?.p10 ?? null, times],
  "lifetime.p50": ["median lifetime against an ordinary drive", (group) => group.lifetime_vs_ordinary?.p50 ?? null, times],
};

/** What the heat map may show of so many volumes. */
function heatValues(fleet) {
  const isTold = (key) => (fleet.traces < FEW ? !/p[19]0$/.test(key) : !/(most|least)$/.test(key));
  return Object.entries(HEAT_VALUES).filter(([key]) => isTold(key));
}

/** The heat map over the settings in which the drives differ; a click shows that drive. */
function fleetHeatFigure(fleet, drive, choose) {
  const keys = drivesDifferIn(fleet.drives);
  if (keys.length === 0) return null;
  const state = { column: keys[0], row: keys[1] ?? null, scheme: bestGroup(drive)?.scheme ?? fleet.schemes[0], value: "waf.p50" };
  const holder = html("div", { id: "heat" });
  const groupOf = (each) => each.groups.find((group) => group.scheme === state.scheme) ?? null;
  const draw = (place, width) => {
    const [, of, tell] = HEAT_VALUES[state.value];
    const columnsAt = distinct(fleet.drives.map((each) => each.settings[state.column]));
    const rowsAt = state.row ? distinct(fleet.drives.map((each) => each.settings[state.row])) : [undefined];
    const valueOf = (each) => (groupOf(each) ? of(groupOf(each)) : null);
    const cellAt = (x, y) => {
      const here = fleet.drives.filter((each) => each.settings[state.column] === columnsAt[x] && (!state.row || each.settings[state.row] === rowsAt[y]));
      const found = here.map(valueOf).filter((value) => value !== null);
      if (found.length === 0) return null;
      const value = found.reduce((sum, each) => sum + each, 0) / found.length;
      return { value, words: tell(value) + (found.length > 1 ? ` (${found.length})` : ""), open: () => choose(here[0].at) };
    };
    drawHeatMap(place, width, {
      columnName: settingName(state.column), rowName: state.row ? settingName(state.row) : null,
      columns: columnsAt.map((value) => tellDriveSetting(state.column, value)), rows: rowsAt.map((value) => (state.row ? tellDriveSetting(state.row, value) : "")),
      range: fleet.drives.map(valueOf), isMoreBetter: state.value.startsWith("lifetime"), cellAt,
    });
  };
  const show = () => { holder.replaceChildren(plot(`${HEAT_VALUES[state.value][0]} of ${state.scheme} over ${settingName(state.column)}`, draw, "group")); redraw(); };
  const set = (key) => (value) => { state[key] = value; show(); };
  const names = keys.map((key) => [key, settingName(key)]);
  holder.replaceChildren(plot(`${HEAT_VALUES[state.value][0]} of ${state.scheme} over ${settingName(state.column)}`, draw, "group"));
  return figure("parameters", "Over the drives",
    "Each cell is a kind of drive with all its volumes; brighter is better, a number in brackets is how many kinds it is the mean of. A click shows that drive.",
    html("div", { class: "controls" },
      selection("columns", names, state.column, set("column")),
      keys.length > 1 ? selection("rows", names, state.row, set("row")) : null,
      selection("scheme", fleet.schemes.map((name) => [name, name]), state.scheme, set("scheme")),
      selection("colour", heatValues(fleet).map(([key, [words]]) => [key, words]), state.value, set("value"))),
    holder,
    numbers("parameters", () => [
      ...keys.map((key) => column(key, settingName(key), (row) => row.drive.settings[key], (value) => tellDriveSetting(key, value), { text: true })),
      column("scheme", "scheme", (row) => row.group.scheme, null, { text: true }),
      ...heatValues(fleet).map(([key, [words, of, tell]]) => column(key, words, (row) => of(row.group), tell)),
    ], () => fleet.drives.flatMap((each) => each.groups.map((group) => ({ drive: each, group })))));
}

/** The columns of a cell. */
function cellColumns(fleet) {
  const keys = drivesDifferIn(fleet.drives);
  return [
    column("trace", "trace", (cell) => cell.trace, (trace) => trace.split("/").pop(), { text: true }),
    ...keys.map((key) => column(key, settingName(key), (cell) => fleet.drives[cell.drive].settings[key], (value) => tellDriveSetting(key, value))),
    column("scheme", "scheme", (cell) => cell.scheme, null, { text: true }),
    column("waf", "WAF", (cell) => cell.waf, tellRatioExactly),
    column("lifetime", "lifetime", (cell) => cell.lifetime, times),
    column("copies_spared", "copies spared", (cell) => cell.removed, tellShare),
    column("host_page_bytes", "host", (cell) => cell.host_page_bytes, tellBytes),
    column("media_bytes", "media", (cell) => cell.media_bytes, tellBytes),
    column("copied_bytes", "copied", (cell) => cell.copied_bytes, tellBytes),
    column("seed", "seed", (cell) => cell.seed, null, { isHidden: true }),
    column("steady", "steady", (cell) => cell.steady, (steady) => (steady ? "yes" : "no")),
  ];
}

/** Every cell of every drive. */
function cellsFigure(fleet) {
  return figure("cells", "Every cell", "A cell is one scheme on one drive fed with one volume. A click on a heading sorts; the worst are one click away.",
    dataTable("cells", cellColumns(fleet), fleet.cells, { label: "every cell", filter: true }));
}
