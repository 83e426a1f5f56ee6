// The answer for a fleet: how many volumes gain, how much, and who loses.

function volumes(count) {
  return count === 1 ? "1 volume" : `${tellCount(count)} volumes`;
}

/** One sentence that answers the question for one kind of drive. */
function fleetHeadline(drive) {
  const [best, base] = [bestGroup(drive), baselineGroup(drive)];
  if (!best) return "No scheme wrote anything.";
  const all = volumes(best.cells);
  if (!base) return `Over ${all}, ${best.scheme} costs least: each byte written costs ${tellRatio(best.waf_of_all)} bytes of flash.`;
  if (best === base || base.waf_of_all - best.waf_of_all < 0.005) return `Streams would not help these ${all} on this drive.`;
  const median = best.copies_removed?.p50 ?? null;
  const lead = median !== null && median > 0
    ? `${best.scheme} spares the median of ${all} ${tellShare(median)} of its copies`
    : `${best.scheme} spares ${all} together ${tellShare((base.waf_of_all - best.waf_of_all) / (base.waf_of_all - 1))} of their copies, and the median one none`;
  const worse = best.worse_than_baseline;
  const tail = worse === 0 ? "none is worse off" : `${tellCount(worse)} ${worse === 1 ? "is" : "are"} worse off`;
  return `${lead}; ${tail}.`;
}

function spread(quantiles, tell) {
  return quantiles ? `${tell(quantiles.p10)} at p10, ${tell(quantiles.p90)} at p90` : "";
}

function times(value) {
  return value === null || value === undefined ? "–" : `${tellRatio(value)}×`;
}

function fleetFacts(drive) {
  const [best, base] = [bestGroup(drive), baselineGroup(drive)];
  const facts = [];
  if (base) facts.push(fact("Write amplification now", tellRatio(base.waf_of_all), `of all bytes together; ${spread(base.waf, tellRatio)}`));
  if (best && best !== base) {
    facts.push(fact(`With ${best.scheme}`, tellRatio(best.waf_of_all), `of all bytes together; ${spread(best.waf, tellRatio)}`,
      base && best.waf_of_all < base.waf_of_all - 0.005 ? "good" : ""));
    if (best.lifetime_vs_baseline) {
      const life = best.lifetime_vs_baseline;
      facts.push(fact("The median drive lasts", times(life.p50), `as long; ${spread(life, times)}`, life.p50 > 1.005 ? "good" : ""));
      facts.push(fact("Worse off", `${tellCount(best.worse_than_baseline)} of ${tellCount(best.cells)}`, `copy more under ${best.scheme} than without streams`,
        best.worse_than_baseline > 0 ? "bad" : "good"));
    }
    facts.push(fact("Best of all schemes", tellShare(best.best / Math.max(best.cells, 1)), `of volumes under ${best.scheme}; ties count for each`));
  }
  const steady = drive.groups.reduce((sum, group) => sum + group.steady, 0);
  const cells = drive.groups.reduce((sum, group) => sum + group.cells, 0);
  facts.push(fact("Steady state", tellShare(steady / Math.max(cells, 1)), `of ${tellCount(cells)} cells have settled`, steady === cells ? "good small" : "bad small"));
  return facts;
}

/** The verdict over the volumes on one kind of drive. */
function fleetVerdict(fleet, drive) {
  const schemes = drive.groups.length;
  const section = html("section", { id: "verdict", "aria-label": "verdict" },
    html("h1", null, fleetHeadline(drive)),
    html("p", { class: "lead" }, `${volumes(fleet.traces)}, ${schemes} ${schemes === 1 ? "scheme" : "schemes"}, ${driveWords(drive)}.`),
    html("div", { class: "facts" }, fleetFacts(drive)));
  const counts = new Set(drive.groups.map((group) => group.cells));
  if (counts.size > 1) {
    section.append(html("p", { class: "warning", role: "note" },
      "Not every scheme saw every volume: the sweep is not done, or cells of it failed. Distributions are over the volumes there are."));
  }
  return section;
}
