// The answer first: would streams help, how much, which, and what must be done?

/** Bytes of whole pages over those that writes asked for, where that is more than 5 % (as in table.rs); else null. */
function rounding(result) {
  const { host_page_bytes: paged, write_bytes: asked } = result.source;
  return asked > 0 && paged > 1.05 * asked && !result.sampled ? paged / asked : null;
}

/** What was written, to what. */
function subline(known) {
  const { result } = known;
  const drive = result.device;
  const spare = drive.physical_bytes / Math.max(drive.logical_bytes, 1) - 1;
  const sampled = result.sampled
    ? ` Sampled: ${result.sampled.rate} of the pages, ${tellCount(result.sampled.unit_pages)} in an erase unit, means of ${tellCount(result.sampled.hashes.length)} samples.`
    : "";
  const paged = tellBytes(result.source.host_page_bytes);
  const written = rounding(result) ? `${tellBytes(result.source.write_bytes)}, page-rounded ${paged},` : paged;
  return `${written} written to a drive of ${tellBytes(drive.logical_bytes)} `
    + `(${tellShare(spare)} spare, ${tellCount(drive.physical_units)} erase units of ${tellBytes(drive.unit_bytes)}, `
    + `${drive.victim_rule} victims), ${significant(result.source.capacities_written)} times its capacity.${sampled}`;
}

/** The answer for one kind of drive, in the words it came with; without an answer, grey and without a figure. */
function driveAnswer(drive) {
  const tones = { "worth-it": "good", "not-worth-it": "bad" };
  const value = drive.life === null || drive.life === undefined ? "no answer yet" : `${tellRatio(drive.life)}×`;
  return fact(drive.title, value, drive.words, drive.drive === "bound" ? "" : tones[drive.answer] ?? "none small");
}

function wafFacts(known) {
  const { before, best, answer } = known;
  const window = "bytes of flash for each of yours, over the last capacity of writes";
  if (!best || best === before) return [fact("Write amplification", tellRatio(before.waf_window), window, "small")];
  const rated = best.wear?.life_bytes / (rounding(known.result) ?? 1);
  return [
    fact("Write amplification of an ordinary drive", tellRatio(answer.waf_before), window, "small"),
    fact(`With ${best.name}`, tellRatio(answer.waf_with),
      rated ? `${tellBytes(rated)} of your writes until its rated erases are used up` : window, "small"),
  ];
}

function timeFacts(known) {
  const { before, best } = known;
  if (!before.time) return [];
  const rate = (scheme) => scheme.host_page_bytes / Math.max(scheme.time.elapsed_ns, 1);
  const tail = (scheme) => scheme.time.latency.write.p99_9_ns;
  if (!best?.time || best === before) {
    return [
      fact("Throughput", tellRate(before.host_page_bytes, before.time.elapsed_ns), "written, in simulated time", "small"),
      fact("Slowest 0.1 % of writes", tellTime(tail(before)), "or more (p99.9)", "small"),
    ];
  }
  return [
    fact("Throughput", `${tellRatio(rate(best) / rate(before))}×`,
      `${tellRate(before.host_page_bytes, before.time.elapsed_ns)} before, ${tellRate(best.host_page_bytes, best.time.elapsed_ns)} with it`,
      rate(best) >= rate(before) ? "good" : "bad"),
    fact("Slowest 0.1 % of writes", tellTime(tail(best)), `or more (p99.9); ${tellTime(tail(before))} before`,
      tail(best) <= tail(before) ? "good" : "bad"),
  ];
}

function trustFacts(known) {
  const lost = known.result.source.lost_events;
  const settled = known.answer.is_settled;
  return [
    fact("Steady state", settled ? "reached" : "not reached", "by the two schemes compared here", settled ? "small" : "none small"),
    fact("Events lost", tellCount(lost), lost === 0 ? "all writes were seen" : "copies and WAF may be off either way",
      lost === 0 ? "small" : "bad small"),
  ];
}

/** A small table: words, and figures of which null is a dash. */
function smallTable(id, heads, rows) {
  const head = heads.map((name, at) => html("th", { class: at > 0 ? "number" : null, scope: "col" }, name));
  const cells = (row) => row.map((text, at) => html("td", { class: at > 0 ? "number" : null }, text ?? "–"));
  const body = rows.map((row) => html("tr", null, cells(row)));
  const table = html("table", { "aria-label": heads[0] },
    html("thead", null, html("tr", null, head)), html("tbody", null, body));
  return html("div", { class: "data", id }, html("div", { class: "table-wrap", tabindex: 0 }, table));
}

/** The other ways than streams. */
function otherWays(ways) {
  const ratio = (value, unit) => (value === null ? null : `${tellRatio(value)}${unit}`);
  const rows = ways.map((way) => [way.words, ratio(way.waf, ""), ratio(way.life, "×")]);
  return smallTable("other-ways", ["Other ways: an ordinary drive", "WAF", "Lifetime"], rows);
}

/** The endurance of each drive. */
function endurance(stands) {
  const number = (value) => (value === null ? null : tellRatio(value));
  const rows = stands.map((one) => [one.scheme, tellBytes(one.host_bytes), number(one.years),
    number(one.drive_writes_per_day), number(one.price_per_year)]);
  return smallTable("endurance", ["Drive with", "Host writes", "Years", "DWPD", "Price a year"], rows);
}

/** A sentence with a command after its last colon. */
function withCommand(sentence) {
  const at = sentence.indexOf(": anabranch ");
  if (at < 0) return sentence;
  const command = sentence.slice(at + 2);
  return [sentence.slice(0, at + 2), html("code", null, command), " ", copyButton(command)];
}

/** The verdict of one result, in the words it came with; `isOneOfMany` where the page has others. */
function verdict(known, isOneOfMany) {
  const { answer } = known;
  const section = html("section", { id: "verdict", "aria-label": "verdict" },
    html(isOneOfMany ? "h2" : "h1", { class: isOneOfMany ? "headline" : null }, answer.headline),
    answer.about ? html("p", { class: "warning", role: "note" }, answer.about) : null,
    html("p", { class: "lead" }, subline(known)));
  if (!known.before) return section;
  const drives = (answer.drives ?? []).map(driveAnswer);
  if (drives.length > 0) section.append(html("div", { class: "facts answers" }, drives));
  if (answer.other_ways?.length > 0) section.append(otherWays(answer.other_ways));
  if (answer.stands?.length > 0) section.append(html("p", null, answer.endurance), endurance(answer.stands));
  section.append(html("div", { class: "facts" }, wafFacts(known), timeFacts(known), trustFacts(known)));
  for (const sentence of [answer.evidence, answer.takes]) if (sentence) section.append(html("p", null, sentence));
  for (const warning of answer.warnings) section.append(html("p", { class: "warning", role: "note" }, warning));
  if (answer.next) section.append(html("p", null, withCommand(answer.next)));
  return section;
}
