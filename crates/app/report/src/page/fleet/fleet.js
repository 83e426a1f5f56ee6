// What the page knows of a sweep: its drives, and the cells of each beside their baseline.

/** Cells as objects, each with how it stands against baseline on the same drive and trace. */
function understandFleet(data) {
  const cells = data.cells.map(([trace, drive, scheme, seed, host, media, copied, steady]) => ({
    trace: data.traces[trace], drive, scheme: data.schemes[scheme].name, isBound: data.schemes[scheme].is_bound, seed,
    host_page_bytes: host, media_bytes: media, copied_bytes: copied, steady: Boolean(steady), waf: host > 0 ? media / host : null,
  }));
  const key = (cell) => JSON.stringify([cell.trace, cell.drive, cell.seed]);
  const isBaseline = (name) => data.schemes.some((scheme) => scheme.name === name && scheme.is_baseline);
  const bases = new Map(cells.filter((cell) => isBaseline(cell.scheme)).map((cell) => [key(cell), cell]));
  for (const cell of cells) {
    const base = bases.get(key(cell));
    cell.lifetime = base && base.waf !== null && cell.waf !== null ? base.waf / cell.waf : null;
    cell.removed = base && base.copied_bytes > 0 ? 1 - cell.copied_bytes / base.copied_bytes : null;
  }
  const drives = data.drives.map((drive, at) => ({
    ...drive, at,
    cells: cells.filter((cell) => cell.drive === at),
    groups: data.groups.filter((group) => group.drive === drive.name)
      .map((group) => ({ ...group, is_baseline: isBaseline(group.scheme) }))
      .sort((a, b) => b.is_baseline - a.is_baseline),
  }));
  return { drives, cells, traces: data.traces.length, schemes: data.schemes.map((scheme) => scheme.name), looks: data.looks };
}

/** Of the schemes that can be built, and saw every volume, the one under which all flash is written least. */
function bestGroup(drive) {
  const most = Math.max(...drive.groups.map((group) => group.cells));
  const rivals = drive.groups.filter((group) => !group.is_bound && group.cells === most && group.waf_of_all !== null);
  return rivals.reduce((least, group) => (least && least.waf_of_all <= group.waf_of_all ? least : group), null);
}

function baselineGroup(drive) {
  return drive.groups.find((group) => group.is_baseline) ?? null;
}

/** The colour of a scheme, the same on every page. */
function schemeColour(fleet, name) {
  return lineOf(fleet.looks[name]).colour;
}

function schemeDash(fleet, name) {
  return lineOf(fleet.looks[name]).dash?.join(" ") ?? null;
}

/** A setting of a drive, as people read it. */
function tellDriveSetting(key, value) {
  if (value === null || value === undefined) return "–";
  if (key.endsWith("_bytes")) return tellBytes(value);
  if (key === "fill" || key === "spare") return tellShare(value);
  return String(value);
}

/** A drive in a sentence. */
function driveWords(drive) {
  const { device, fill, logical_bytes: logical, spare, unit_bytes: unit, victim_rule: victim, host_streams: host, internal_streams: internal } = drive.settings;
  const full = fill === null ? tellBytes(logical) : `${tellShare(fill)} full`;
  const size = spare === null ? full : `${full}, ${tellShare(spare)} spare`;
  return `${device}: ${size}, erase units of ${tellBytes(unit)}, ${victim} victims, ${host} host and ${internal} internal streams`;
}

/** The settings in which drives differ. */
function drivesDifferIn(drives) {
  const keys = Object.keys(drives[0]?.settings ?? {});
  return keys.filter((key) => new Set(drives.map((drive) => JSON.stringify(drive.settings[key]))).size > 1);
}

/** A drive by what it differs in from the others; by everything where it is alone. */
function driveName(drives, drive) {
  const differing = drivesDifferIn(drives);
  const keys = differing.length > 0 ? differing : Object.keys(drive.settings).filter((key) => drive.settings[key] !== null);
  return keys.map((key) => `${settingName(key)} ${tellDriveSetting(key, drive.settings[key])}`).join(", ");
}
