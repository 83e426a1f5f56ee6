// Program contexts as a table: call path, bytes, lifetimes, stream.

/** A lifetime quantile of a context or stream: 0 to 4 stand for p5, p25, p50, p75, p95. */
function quantile(lives, at) {
  return lives.quantiles_bytes[at] ?? null;
}

/** A context's cell: its name, and its call path behind a click. */
function contextCell(known, context) {
  const name = known.name(context.id);
  if (context.path.length === 0) return name;
  return html("details", null, html("summary", null, name),
    html("ol", null, context.path.map((call) => html("li", null, call))));
}

/** The table of contexts. */
function contextsFigure(known) {
  const { contexts, chosen, result } = known;
  if (contexts.length === 0) return null;
  const placed = streamsOf(chosen);
  const all = result.source.host_page_bytes || 1;
  const columns = [
    column("id", "id", (row) => row.id),
    column("context", "context", (row) => known.name(row.id), null, {
      text: true, show: (row) => contextCell(known, row), search: (row) => `${known.name(row.id)} ${row.path.join(" ")}`,
    }),
    column("written_bytes", "written", (row) => row.written_bytes, tellBytes),
    column("share", "share", (row) => row.written_bytes / all, tellShare),
    column("lifetime_p25_bytes", "p25 lifetime", (row) => quantile(row, 1), tellBytes),
    column("lifetime_p50_bytes", "p50", (row) => quantile(row, 2), tellBytes),
    column("lifetime_p75_bytes", "p75", (row) => quantile(row, 3), tellBytes),
    column("ended_bytes", "ended", (row) => row.ended_bytes, tellBytes),
    column("stream", "stream", (row) => placed.get(row.id)?.stream ?? null, (id) => (id === null ? "–" : id)),
    column("stream_share", "of it", (row) => placed.get(row.id)?.share ?? null, tellShare),
    column("path", "call path", (row) => row.path.join(" < "), null, { text: true, isHidden: true }),
  ];
  const rest = result.details.unlisted_contexts;
  const more = rest > 0 ? ` ${tellCount(rest)} more contexts wrote ${tellBytes(result.details.unlisted_bytes)}.` : "";
  return figure("contexts", "Who wrote, and how long it lived",
    `A row for each program context; a click on its name shows the path of calls, innermost first. The stream is where ${chosen.name} `
    + `sent most of its bytes, and “of it” how many of them. Lifetimes are of data that was overwritten or discarded within the run (“ended”).${more}`,
    dataTable("contexts", columns, contexts, { filter: true, label: "program contexts" }));
}
