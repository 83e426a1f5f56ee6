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
  const worse = best.worse_than_ordinary;
  const tail = worse === 0 ? "none is worse off on this drive" : `${tellCount(worse)} ${worse === 1 ? "is" : "are"} worse off`;
  return `${lead}; ${tail}.`;
}

// Fewer volumes than this have no tenths: the least and the most are told instead.
const FEW = 20;

/** How a figure spreads over so many volumes. */
function spread(quantiles, tell, cells) {
  if (!quantiles || cells < 2) return "";
  return cells < FEW ? `from ${tell(quantiles.least)} to ${tell(quantiles.most)}` : `${tell(quantiles.p10)} at p10, ${tell(quantiles.p90)} at p90`;
}

function times(value) {
  return value === null || value === undefined ? "–" : `${tellRatio(value)}×`;
}

function fleetFacts(drive) {
  const [best, base] = [bestGroup(drive), baselineGroup(drive)];
  const facts = [];
  if (base) facts.push(fact("Write amplification now", tellRatio(base.waf_of_all), `of all bytes together; ${spread(base.waf, tellRatio, base.cells)}`));
  if (best && best !== base) {
    facts.push(fact(`With ${best.scheme}`, tellRatio(best.waf_of_all), `of all bytes together; ${spread(best.waf, tellRatio, best.cells)}`,
      base && best.waf_of_all < base.waf_of_all - 0.005 ? "good" : ""));
    if (best.lifetime_vs_ordinary) {
      const life = best.lifetime_vs_ordinary;
      facts.push(fact("The median drive lasts", times(life.p50), `as long; ${spread(life, times, best.cells)}`, life.p50 > 1.005 ? "good" : ""));
      facts.push(fact("Worse off", `${tellCount(best.worse_than_ordinary)} of ${tellCount(best.cells)}`, `copy more under ${best.scheme} than on an ordinary drive`,
        best.worse_than_ordinary > 0 ? "bad" : "good"));
    }
    facts.push(fact("Best of all schemes", tellShare(best.best / Math.max(best.cells, 1)), `of volumes under ${best.scheme}; ties count for each`));
  }
  const steady = drive.groups.reduce((sum, group) => sum + group.steady, 0);
  const cells = drive.groups.reduce((sum, group) => sum + group.cells, 0);
  facts.push(fact("Steady state", tellShare(steady / Math.max(cells, 1)), `of ${tellCount(cells)} cells have settled`, steady === cells ? "good small" : "bad small"));
  return facts;
}

/** One sentence over all kinds of drives. */
function allDrivesHeadline(fleet) {
  const gains = fleet.drives.map((drive) => {
    const [best, base] = [bestGroup(drive), baselineGroup(drive)];
    return best && base && best !== base ? { drive, best, gain: base.waf_of_all / best.waf_of_all } : null;
  }).filter((each) => each !== null);
  const kinds = `${tellCount(fleet.drives.length)} kinds of drives`;
  if (gains.length === 0) return `${volumes(fleet.traces)} on ${kinds}: no scheme wrote the flash less than none at all.`;
  const worse = gains.reduce((sum, each) => sum + each.best.worse_than_ordinary, 0);
  const compared = gains.reduce((sum, each) => sum + each.best.cells, 0);
  const losers = worse === 0 ? "none is worse off" : `${tellCount(worse)} of ${tellCount(compared)} are worse off`;
  const names = [...new Set(gains.map((each) => each.best.scheme))];
  const how = `${medianAndRange(gains.map((each) => each.gain), tellRatio)} times`;
  return `On ${gains.length === fleet.drives.length ? `each of ${kinds}` : `${tellCount(gains.length)} of ${kinds}`}, the best scheme (${names.join(", ")}) makes the flash of ${volumes(fleet.traces)} last ${how} as long as on ordinary drives; ${losers}.`;
}

/** The verdict over the volumes on one kind of drive. */
function fleetVerdict(fleet, drive) {
  const schemes = drive.groups.length;
  const isOneOfMany = fleet.drives.length > 1;
  const section = html("section", { id: "verdict", "aria-label": "verdict" },
    html(isOneOfMany ? "h2" : "h1", { class: isOneOfMany ? "headline" : null }, fleetHeadline(drive)),
    html("p", { class: "lead" }, `${volumes(fleet.traces)}, ${schemes} ${schemes === 1 ? "scheme" : "schemes"}, ${driveWords(drive)}.`),
    html("div", { class: "facts" }, fleetFacts(drive)));
  const counts = new Set(drive.groups.map((group) => group.cells));
  if (counts.size > 1) {
    section.append(html("p", { class: "warning", role: "note" },
      "Not every scheme saw every volume: the sweep is not done, or cells of it failed. Distributions are over the volumes there are."));
  }
  return section;
}
