// Tables of numbers: sorted by a click, filtered by a word, and downloaded as CSV.

// Rows shown at once; the CSV always has all of them.
const ROWS_SHOWN = 250;

/**
 * A column: `key`, `label`, `of(row)` the raw value, `tell(value)` how it is read.
 * Options: `text`, `show(row)` an element, `search(row)` the words a filter looks in, `isHidden`.
 */
function column(key, label, of, tell, options) {
  return { key, label, of, tell: tell ?? String, ...options };
}

/** One cell of a CSV file (RFC 4180). A text that a spreadsheet would run is quoted as text. */
function csvCell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  let text = String(value);
  if (/^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csv(columns, rows) {
  const lines = [columns.map((each) => csvCell(each.key))];
  for (const row of rows) lines.push(columns.map((each) => csvCell(each.of(row))));
  return `${lines.map((line) => line.join(",")).join("\r\n")}\r\n`;
}

function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = html("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

function compareValues(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;
  if (b === null || b === undefined) return -1;
  if (typeof a === "string" && typeof b === "string") return a.localeCompare(b, "en", { numeric: true });
  return a < b ? -1 : 1;
}

/** A table; `rows` are any values the columns understand. */
function dataTable(name, columns, rows, options = {}) {
  const state = { sorted: null, rising: true, words: "" };
  const head = html("tr");
  const body = html("tbody");
  const count = html("span", { role: "status" });
  const visible = () => {
    const words = state.words.toLowerCase();
    const kept = words === "" ? [...rows] : rows.filter((row) => columns.some((each) =>
      String(each.search ? each.search(row) : each.of(row) ?? "").toLowerCase().includes(words)));
    if (state.sorted) {
      kept.sort((a, b) => compareValues(state.sorted.of(a), state.sorted.of(b)));
      if (!state.rising) kept.reverse();
    }
    return kept;
  };
  const cell = (each, row) => {
    const shown = each.show ? each.show(row) : each.tell(each.of(row));
    return html("td", { class: each.text ? null : "number" }, shown);
  };
  // A hidden column is in the CSV only.
  const seen = columns.filter((each) => !each.isHidden);
  const draw = () => {
    const kept = visible();
    const shown = kept.slice(0, ROWS_SHOWN);
    body.replaceChildren(...shown.map((row) => html("tr", null, seen.map((each) => cell(each, row)))));
    const rest = kept.length > shown.length ? `; the first ${ROWS_SHOWN} are shown, the CSV has all` : "";
    count.textContent = `${tellCount(kept.length)} rows${rest}`;
  };
  for (const each of seen) {
    const button = html("button", { type: "button" }, each.label);
    const header = html("th", { class: each.text ? null : "number", scope: "col" }, button);
    button.addEventListener("click", () => {
      state.rising = state.sorted === each ? !state.rising : Boolean(each.text);
      state.sorted = each;
      for (const other of head.children) other.removeAttribute("aria-sort");
      header.setAttribute("aria-sort", state.rising ? "ascending" : "descending");
      draw();
    });
    head.append(header);
  }
  const save = html("button", { type: "button", click: () => download(`${name}.csv`, csv(columns, visible())) },
    "Download CSV");
  const filter = html("input", { type: "search", placeholder: "filter …", "aria-label": "filter rows" });
  filter.addEventListener("input", () => { state.words = filter.value; draw(); options.onFilter?.(filter.value); });
  draw();
  const table = html("table", null, html("thead", null, head), body);
  if (options.label) table.setAttribute("aria-label", options.label);
  return html("div", { class: "data", "data-name": name },
    html("div", { class: "table-tools" }, options.filter ? filter : null, save, count),
    html("div", { class: "table-wrap", tabindex: 0 }, table));
}
