// The page of a sweep, put together.

function fleetWords(data) {
  const meaning = [
    ["volume", "a trace of the sweep"],
    ["cell", "one scheme on one drive fed with one volume"],
    ["pN", "what N of a hundred volumes lie at or below, a value that occurs"],
    ["write amplification", "bytes programmed into the flash for each byte the host wrote: the rest are copies"],
    ["lifetime", "write amplification of an ordinary drive, baseline+gc, over that of the scheme, of the whole run: how many times as long the flash lasts"],
    ["bound", "a scheme that knows the future; it cannot be built, and is best nowhere"],
  ];
  const footer = html("footer", null, html("h3", null, "Words"),
    html("dl", null, meaning.map(([term, sense]) => [html("dt", null, term), html("dd", null, sense)])));
  if (data.thinned.length > 0) {
    footer.append(html("p", { id: "thinned" }, `To keep the page small: ${data.thinned.join("; ")}. The sweep's directory has the rest.`));
  }
  footer.append(html("p", null, `Anabranch ${data.version}. This page holds its data and needs no network.`));
  return footer;
}

function startFleet() {
  const data = JSON.parse(document.getElementById("data").textContent);
  const fleet = understandFleet(data);
  const main = document.getElementById("page");
  const body = html("div");
  let shown = 0;
  const show = (at) => {
    shown = at;
    drawn.length = 0;
    const drive = fleet.drives[at];
    const heat = fleetHeatFigure(fleet, drive, choose);
    const pictures = [heat, distributionFigure(fleet, drive), boxesFigure(fleet, drive), winsFigure(fleet, drive), cellsFigure(fleet)]
      .filter((picture) => picture);
    body.replaceChildren(fleetVerdict(fleet, drive), contents(pictures), ...pictures);
    // Pictures measure the page: it must hold them first.
    redraw();
  };
  const options = fleet.drives.map((drive, at) => [String(at), `${at + 1} of ${fleet.drives.length}: ${driveName(fleet.drives, drive)}`]);
  const select = selection("This page shows drive", options, "0", (at) => show(Number(at)));
  const choose = (at) => { select.querySelector("select").value = String(at); show(at); };
  main.replaceChildren(html("div", { class: "brand" }, html("b", null, "Anabranch"), " · would streams help a fleet?"));
  if (fleet.drives.length > 1) main.append(html("h1", null, allDrivesHeadline(fleet)), html("div", { class: "controls" }, select));
  main.append(body, fleetWords(data));
  watchTheme(() => show(shown));
  show(0);
}

startFleet();
