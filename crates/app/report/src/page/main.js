// The page, put together.

/** The streams used, the host's and those of copies. */
function streamsWords(scheme) {
  const internal = scheme.streams.filter((stream) => stream.internal).length;
  return `${scheme.streams.length - internal}+${internal}`;
}

/** Every scheme's figures, as the terminal shows them. */
function schemesFigure(known) {
  const columns = () => [
    column("scheme", "scheme", (row) => row.name, null, { text: true }),
    column("waf_window", "WAF", (row) => row.waf_window, tellRatioExactly),
    column("waf", "WAF, whole run", (row) => row.waf, tellRatioExactly),
    ...(known.schemes.some((row) => row.sampled)
      ? [column("waf_error", "±", (row) => row.sampled?.error ?? null, (error) => (error === null ? "–" : tellRatioExactly(error)))] : []),
    column("lifetime_vs_ordinary", "lifetime", (row) => row.lifetime_vs_ordinary, (times) => (times === null ? "–" : `${tellRatio(times)}×`)),
    column("streams_used", "streams", (row) => row.streams_used, null, { show: streamsWords }),
    column("host_page_bytes", rounding(known.result) ? "page-rounded" : "host", (row) => row.host_page_bytes, tellBytes),
    column("media_bytes", "media", (row) => row.media_bytes, tellBytes),
    column("copied_bytes", "copied", (row) => row.copied_bytes, tellBytes),
    column("erased_units", "erases", (row) => row.erased_units, tellCount),
    column("steady", "steady", (row) => row.steady, (steady) => (steady ? "yes" : "no")),
    column("is_bound", "bound", (row) => row.is_bound ?? false, (bound) => (bound ? "yes" : "")),
  ];
  return figure("schemes", "Every scheme", "WAF is of the last capacity of writes; lifetime that of the flash against an ordinary drive's, baseline+gc; streams the host's + those of copies. A bound knows the future and cannot be built.",
    dataTable("schemes", columns(), known.schemes, { label: "every scheme's figures" }));
}

function settingsFigure(known) {
  const rows = Object.entries(settings(known.result)).map(([key, value]) => ({ key, value }));
  return figure("settings", "How it was made", "Everything that decided this result; the same settings and seed give the same counts.",
    numbers("settings", () => [
      column("key", "setting", (row) => row.key, null, { text: true }),
      column("value", "value", (row) => row.value, (value) => (value === null ? "–" : String(value)), { text: true }),
    ], () => rows));
}

function words(data) {
  const meaning = [
    ["erase unit", "what the flash erases as a whole: a block, or a superblock across dies"],
    ["write amplification", "bytes programmed into the flash for each byte the host wrote: the rest are copies"],
    ["stream", "a number a write carries; the drive keeps each stream in erase units of its own"],
    ["lifetime", "from a page's write to its overwrite or discard, in bytes written to the drive meanwhile"],
    ["program context", "the path of calls that issued a write, and the role of its thread"],
  ];
  const footer = html("footer", null, html("h3", null, "Words"),
    html("dl", null, meaning.map(([term, sense]) => [html("dt", null, term), html("dd", null, sense)])));
  if (data.thinned.length > 0) {
    footer.append(html("p", { id: "thinned" }, `To keep the page small: ${data.thinned.join("; ")}. The result file has the rest.`));
  }
  footer.append(html("p", null, `Anabranch ${data.version}. This page holds its data and needs no network.`));
  return footer;
}

/** What a result is of: application, trace, when and where. */
function headed(heading) {
  const rest = [heading.trace, heading.recorded && `recorded ${heading.recorded}`, heading.place].filter((part) => part);
  if (!heading.application && rest.length === 0) return [];
  return [html("p", { class: "heading" }, heading.application ? html("code", null, heading.application) : null, html("span", null, rest.join(" · ")))];
}

/** A name for one result of several: what it differs in. */
function resultName(results, at, keys) {
  const flat = settings(results[at]);
  const parts = keys.slice(0, 3).map((key) => `${settingName(key)} ${tellSetting(key, flat[key])}`);
  return `${at + 1} of ${results.length}${parts.length > 0 ? `: ${parts.join(", ")}` : ""}`;
}

function pictures(known) {
  return [
    wafFigure(known), mapFigure(known), flameFigure(known), contextsFigure(known), streamLivesFigure(known),
    scatterFigure(known), histogramsFigure(known), latencyFigure(known), latencyOverTimeFigure(known), throughputFigure(known),
    erasesFigure(known), schemesFigure(known), settingsFigure(known),
  ];
}

function start() {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { results } = data;
  const main = document.getElementById("page");
  const body = html("div");
  let lasting = 0;
  let shown = 0;
  const show = (at) => {
    shown = at;
    drawn.length = lasting;
    const known = understand(results[at], data.looks);
    const shownPictures = pictures(known).filter((picture) => picture);
    body.replaceChildren(...headed(data.headings[at]), verdict(known, results.length > 1), contents(shownPictures), ...shownPictures);
    // Pictures measure the page: it must hold them first.
    redraw();
  };
  main.replaceChildren(html("div", { class: "brand" }, html("b", null, "Anabranch"), " · would streams help?"));
  if (results.length === 0) {
    main.append(html("h1", null, "There is no result on this page."));
    return;
  }
  if (results.length > 1) {
    const keys = varyingKeys(results);
    const options = results.map((_, at) => [String(at), resultName(results, at, keys)]);
    const select = selection("This page shows result", options, "0", (at) => show(Number(at)));
    const choose = (at) => { select.querySelector("select").value = String(at); show(at); };
    main.append(gridVerdict(results), gridFigure(results, keys, choose), html("div", { class: "controls" }, select));
  }
  main.append(body, words(data));
  lasting = drawn.length;
  watchTheme(() => show(shown));
  show(0);
}

start();
