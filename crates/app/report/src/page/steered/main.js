// The page of a steered drive, put together from what `steer` told at its end.

/** The write amplifications that are known: the drive's own, and those of its model. */
function wafRows({ drive, shadow, collected }) {
  return [
    { key: "collected", name: "for each byte written by users, rewrites included", value: collected?.waf },
    { key: "drive", name: "the drive's own", value: drive.waf, host_bytes: drive.host_bytes, media_bytes: drive.media_bytes },
    { key: "modelled", name: collected ? "by the models, the host half alone" : "by the models, as steered", value: shadow?.steered.waf },
    { key: "one_stream", name: "by the models, in one stream", value: shadow?.baseline.waf },
  ].filter((row) => row.value !== null && row.value !== undefined);
}

function steeredHeadline(steered) {
  const { drive, config } = steered;
  const waf = steered.collected ? steered.collected.waf : drive.waf;
  if (waf === null) return `${config.scheme} steered ${tellBytes(steered.written_bytes)} to ${drive.model}.`;
  return `Steered by ${config.scheme}, each byte written cost ${drive.model} ${tellRatioExactly(waf)} bytes of flash.`;
}

function steeredFacts(steered) {
  const { drive, shadow, collected } = steered;
  const facts = [];
  if (collected) {
    facts.push(fact("Written anew by the host", tellBytes(collected.rewritten_bytes), "survivors of units that it emptied"));
    if (collected.copied_bytes !== null) facts.push(fact("Copied by the drive", tellBytes(collected.copied_bytes), "by its log"));
    facts.push(fact("Counted by a warranty", tellBytes(collected.warranty_bytes), "what the host wrote, and wrote anew"));
  }
  if (drive.waf !== null) {
    facts.push(fact("The drive's own WAF", tellRatioExactly(drive.waf), `${tellBytes(drive.media_bytes)} of flash for ${tellBytes(drive.host_bytes)}, by its log`));
  }
  if (shadow) {
    const sampled = (shadow.sample ?? "1/1") === "1/1" ? "a model of the drive" : `models of ${shadow.sample} of the drive`;
    const within = ({ error }) => (error ? `, ± ${error.toFixed(3)}` : "");
    facts.push(fact("As steered, by the models", tellRatioExactly(shadow.steered.waf), `the same writes on ${sampled}, in these streams${within(shadow.steered)}`));
    facts.push(fact("In one stream, by the models", tellRatioExactly(shadow.baseline.waf), `the same writes unsteered: one stream, the drive's copies apart${within(shadow.baseline)}`));
  }
  facts.push(fact("Failed requests", tellCount(steered.errors), "since the command began", steered.errors === 0 ? "good small" : "bad small"));
  return facts;
}

function steeredVerdict(steered) {
  const { config, drive, shadow } = steered;
  const how = config.zero_copy ? "the kernel lends a write's data" : "each write's data are copied once";
  const section = html("section", { id: "verdict", "aria-label": "verdict" },
    html("h1", null, steeredHeadline(steered)),
    html("p", { class: "lead" }, `${drive.model}, serial number ${drive.serial}, ${tellBytes(drive.bytes)}; handles by ${config.directive}, ${how}; `
      + `${config.queues} queues of ${config.depth}.`),
    html("div", { class: "facts" }, steeredFacts(steered)));
  const warnings = [...steered.limitations];
  if (shadow?.missed_requests > 0) warnings.push(`${tellCount(shadow.missed_requests)} requests came too fast for the model, which did not see them.`);
  if (steered.unplaced_bytes > 0) warnings.push(`${tellBytes(steered.unplaced_bytes)} were written without a stream: the drive had forgotten its streams.`);
  for (const warning of warnings) section.append(html("p", { class: "warning", role: "note" }, warning));
  for (const words of [steered.verdict, steered.comparison?.verdict, steered.collected?.words]) if (words) section.append(html("p", { class: "lead" }, `${words}.`));
  return section;
}

function wafFigure(steered) {
  const rows = wafRows(steered);
  if (rows.length === 0) return null;
  const most = Math.max(...rows.map((row) => row.value));
  const bars = () => rows.map((row, at) => ({ ...row, words: tellRatioExactly(row.value), colour: hue(at) }));
  return figure("waf", "What a write cost",
    "Write amplification since the command began: bytes programmed into the flash for each byte written. The drive's own is by its log; the model gets the same writes.",
    plot(rows.map((row) => `${row.name} ${tellRatioExactly(row.value)}`).join("; "),
      (place, width) => drawBars(place, width, bars(), roundTicks(0, most, 4), tellTick, "write amplification")),
    numbers("waf", () => [
      column("which", "which", (row) => row.name, null, { text: true }),
      column("waf", "WAF", (row) => row.value, tellRatioExactly),
      column("host_bytes", "host", (row) => row.host_bytes ?? null, tellBytes),
      column("media_bytes", "media", (row) => row.media_bytes ?? null, tellBytes),
    ], () => rows));
}

function comparedFigure({ comparison }) {
  if (!comparison || comparison.periods.length === 0) return null;
  return figure("compared", "Compared by the drive's log",
    "Periods in which the scheme decided beside periods in which all went to the first handle. The first part of each is left out: the drive settles.",
    dataTable("compared", [
      column("pair", "pair", (row) => row.pair),
      column("way", "compared", (row) => row.way, null, { text: true }),
      column("waf", "WAF", (row) => row.waf, tellRatioExactly),
      column("settling_bytes", "settling", (row) => row.settling_bytes, tellBytes),
      column("host_bytes", "written", (row) => row.host_bytes, tellBytes),
      column("media_bytes", "flash", (row) => row.media_bytes, tellBytes),
      column("foreign_bytes", "by others", (row) => row.foreign_bytes, tellBytes),
    ], comparison.periods, { label: "compared periods" }));
}

function handlesFigure({ handles, collected }) {
  const most = Math.max(1, ...handles.map((row) => row.written_bytes));
  const unit = byteUnit(most);
  const ticks = roundTicks(0, most / unit.size, 4).map((tick) => tick * unit.size);
  const bars = () => handles.map((row, stream) => ({
    name: `handle ${row.handle}, ${row.for}`, value: row.written_bytes, words: tellBytes(row.written_bytes), colour: streamColour(stream, false),
  }));
  return figure("handles", "Where the writes went", "Bytes that the command sent to each handle of the drive.",
    plot(handles.map((row) => `handle ${row.handle} ${tellBytes(row.written_bytes)}`).join("; "),
      (place, width) => drawBars(place, width, bars(), ticks, tickBytes, "written")),
    dataTable("handles", [
      column("handle", "handle", (row) => row.handle),
      column("for", "for", (row) => row.for, null, { text: true }),
      column("written_bytes", "written", (row) => row.written_bytes, tellBytes),
      ...(collected ? [column("rewritten_bytes", "written anew", (row) => row.rewritten_bytes, tellBytes)] : []),
    ], handles, { label: "bytes of each handle" }));
}

function countsFigure(steered) {
  const names = ["written_bytes", "read_bytes", "discarded_bytes", "zeroed_bytes", "unplaced_bytes", "writes", "split_writes", "flushes", "errors",
    "repeated_commands", "unknown_pages", "metadata_pages"];
  const rows = names.map((key) => ({ key, value: steered[key] }));
  for (const [key, value] of Object.entries(steered.collected ?? {})) {
    if (typeof value === "number" && !key.endsWith("waf")) rows.push({ key: `collected.${key}`, value });
  }
  for (const [key, value] of Object.entries(steered.handover ?? {})) rows.push({ key: `handover.${key}`, value });
  for (const [model, counted] of [["shadow.steered", steered.shadow?.steered], ["shadow.baseline", steered.shadow?.baseline]]) {
    for (const key of counted ? ["host_pages", "copied_pages"] : []) rows.push({ key: `${model}.${key}`, value: counted[key] });
  }
  const shown = (row) => (row.key.endsWith("_bytes") ? tellBytes(row.value) : tellCount(row.value));
  return figure("counts", "What it was asked to do", "Counts since the command began; `anabranch steer --json` has them under the same names.",
    dataTable("counts", [
      column("count", "count", (row) => row.key, (key) => key.replaceAll("_", " "), { text: true }),
      column("value", "value", (row) => row.value, null, { show: shown }),
    ], rows, { label: "counts" }));
}

function tenantsFigure({ tenants }) {
  if (tenants.length === 0) return null;
  return figure("tenants", "Who shared the drive", "Control groups whose writes were those of one tenant.",
    dataTable("tenants", [
      column("number", "tenant", (row) => row.number),
      column("control_group", "control group", (row) => row.control_group, null, { text: true }),
    ], tenants, { label: "tenants" }));
}

function startSteered() {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { steered } = data;
  const body = html("div");
  const show = () => {
    drawn.length = 0;
    const pictures = [wafFigure(steered), comparedFigure(steered), handlesFigure(steered), countsFigure(steered), tenantsFigure(steered)].filter((picture) => picture);
    body.replaceChildren(steeredVerdict(steered), contents(pictures), ...pictures);
    // Pictures measure the page: it must hold them first.
    redraw();
  };
  document.getElementById("page").replaceChildren(
    html("div", { class: "brand" }, html("b", null, "Anabranch"), " · a steered drive"), body,
    html("footer", null, html("p", null, `Anabranch ${data.version}. This page holds its data and needs no network.`)));
  watchTheme(show);
  show();
}

startSteered();
