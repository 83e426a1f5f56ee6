// The answer first: would streams help, how much, which, and what must be done?

/** One sentence that answers the question. */
function headline(known) {
  const { before, best, baseline } = known;
  if (!before) return "This result holds no scheme.";
  if (before.erased_units === 0 && (!best || best.erased_units === 0)) {
    return "No answer yet: the drive never filled, so nothing had to be copied.";
  }
  if (!best || best === before) return `Under ${before.name}, each byte written costs ${tellRatio(before.waf)} bytes of flash.`;
  if (!baseline) return `The best of these schemes is ${best.name}: each byte written costs ${tellRatio(best.waf)} bytes of flash.`;
  const saved = baseline.waf - best.waf;
  if (saved < 0.005) return "Streams would not help this application on this drive.";
  const excess = saved / Math.max(baseline.waf - 1, 1e-9);
  return `Streams would spare this application ${tellShare(excess)} of the copies its drive makes.`;
}

function subline(known) {
  const { result, best, before, baseline } = known;
  const drive = result.device;
  const spare = drive.physical_bytes / Math.max(drive.logical_bytes, 1) - 1;
  const words = [`${tellBytes(result.source.host_bytes)} written to a drive of ${tellBytes(drive.logical_bytes)} `
    + `(${tellShare(spare)} spare, ${tellCount(drive.physical_units)} erase units of ${tellBytes(drive.unit_bytes)}, `
    + `${drive.victim_rule} victims), ${significant(result.source.capacities_written)} times its capacity.`];
  if (baseline && best && best.waf < before.waf) {
    words.push(` The best scheme that can be built is ${best.name}.`);
  }
  return words.join("");
}

/** What must be done, by the scheme's host side. */
function advice(known) {
  const { best, before, result } = known;
  if (!best || best.waf >= before.waf - 0.005) return null;
  const host = best.name.split("+")[0].split(":")[0];
  const streams = best.streams.filter((stream) => !stream.internal).length || best.streams_used;
  const need = `a drive with ${streams} host streams${result.device.host_streams > streams ? ` (this one has ${result.device.host_streams})` : ""}`;
  if (host.startsWith("pcstream")) return `What it takes: ${need}, and writes sent to the streams of their program contexts, listed below. The application stays as it is.`;
  if (host === "hints" || host === "manual") return `What it takes: ${need}, and an application that says how long its files live (write-life-time hints, or rules).`;
  return `What it takes: ${need}, and ${host} deciding the stream of each write. The application stays as it is.`;
}

function wafFact(known) {
  const { before, best, gc } = known;
  const now = tellRatio(before.waf);
  const note = gc && gc !== before ? `bytes of flash written for each of yours; ${tellRatio(gc.waf)} where the drive keeps copies apart` : "bytes of flash written for each of yours";
  if (!best || best === before) return [fact("Write amplification", now, note)];
  const tone = best.waf < before.waf - 0.005 ? "good" : "bad";
  return [
    fact("Write amplification now", now, note),
    fact(`With ${best.name}`, tellRatio(best.waf), `${tellBytes(before.copied_bytes)} copied before, ${tellBytes(best.copied_bytes)} with it`, tone),
  ];
}

function lifeFact(known) {
  const times = known.best?.lifetime_vs_baseline;
  if (times === null || times === undefined) return null;
  const life = known.best.wear?.life_bytes;
  const note = life ? `${tellBytes(life)} of your writes until its rated erases are used up` : "before its flash is worn out";
  return fact("The drive lasts", `${tellRatio(times)}×`, `as long; ${note}`, times > 1.005 ? "good" : "bad");
}

function timeFacts(known) {
  const { before, best } = known;
  if (!before.time) return [];
  const rate = (scheme) => scheme.host_bytes / Math.max(scheme.time.elapsed_ns, 1);
  const tail = (scheme) => scheme.time.latency.write.p99_9_ns;
  if (!best?.time || best === before) {
    return [
      fact("Throughput", tellRate(before.host_bytes, before.time.elapsed_ns), "written, in simulated time", "small"),
      fact("Slowest 0.1 % of writes", tellTime(tail(before)), "or more (p99.9)", "small"),
    ];
  }
  return [
    fact("Throughput", `${tellRatio(rate(best) / rate(before))}×`,
      `${tellRate(before.host_bytes, before.time.elapsed_ns)} before, ${tellRate(best.host_bytes, best.time.elapsed_ns)} with it`,
      rate(best) >= rate(before) ? "good" : "bad"),
    fact("Slowest 0.1 % of writes", tellTime(tail(best)), `or more (p99.9); ${tellTime(tail(before))} before`,
      tail(best) <= tail(before) ? "good" : "bad"),
  ];
}

function trustFacts(known) {
  const { result } = known;
  const lost = result.source.lost_events;
  return [
    fact("Steady state", result.steady ? "reached" : "not reached",
      result.steady ? "the figures have settled" : "longer runs may show more", result.steady ? "good small" : "bad small"),
    fact("Events lost", tellCount(lost), lost === 0 ? "all writes were seen" : "every figure is a lower bound",
      lost === 0 ? "small" : "bad small"),
  ];
}

/** The verdict of one result; `isOneOfMany` where the page has others. */
function verdict(known, isOneOfMany) {
  const todo = advice(known);
  const section = html("section", { id: "verdict", "aria-label": "verdict" },
    html(isOneOfMany ? "h2" : "h1", { class: isOneOfMany ? "headline" : null }, headline(known)),
    html("p", { class: "lead" }, subline(known)));
  if (!known.before) return section;
  section.append(html("div", { class: "facts" }, wafFact(known), lifeFact(known), timeFacts(known), trustFacts(known)));
  if (todo) section.append(html("p", null, todo));
  if (!known.result.steady) {
    section.append(html("p", { class: "warning", role: "note" }, `Not steady: ${known.result.steady_reason}.`));
  }
  if (known.result.source.lost_events > 0) {
    section.append(html("p", { class: "warning", role: "note" },
      `${tellCount(known.result.source.lost_events)} kernel events were lost; every figure is a lower bound.`));
  }
  return section;
}
