//! `anabranch contexts`: the contexts of a trace, with what they wrote and how long it lived.

use anabranch_advice::{ContextRow, Contexts};
use anabranch_replay::without_parameters;
use anabranch_report::{Cell, Column, Grid, Look, foreign};

use crate::{arguments::ContextsArguments, failure::Result, output::json, progress::Bar, source};

/// Prints the contexts of a trace, those with most bytes first.
pub fn contexts(arguments: &ContextsArguments) -> Result {
    let source = source::open(&arguments.trace, None, arguments.quick)?;
    let found = anabranch_advice::contexts(&source, arguments.streams, &mut Bar::default())?;
    let answer = &arguments.answer;
    answer.give(&json(&found)?, |look| {
        describe(&found, arguments.most, look)
    })
}

fn describe(found: &Contexts, most: usize, look: &Look) -> String {
    let rows = &found.contexts;
    let shown = &rows[..rows.len().min(most)];
    if look.csv {
        return format!("{}\n", table(rows).text(look));
    }
    let mut text = format!("{}\n", table(shown).text(look));
    let with_paths = shown.iter().filter(|row| !row.path.is_empty());
    for (at, row) in with_paths.enumerate() {
        text += if at == 0 { "\n" } else { "" };
        text += &format!(
            "#{} {} (innermost call first)\n",
            row.id,
            foreign(&row.label)
        );
        for call in &row.path {
            text += &format!("    {}\n", foreign(without_parameters(call)));
        }
    }
    if rows.len() > shown.len() {
        text += &format!(
            "\n{} more contexts wrote {:.1} % of the bytes (--most {} shows all)\n",
            rows.len() - shown.len(),
            100.0 * rows[shown.len()..].iter().map(|row| row.share).sum::<f64>(),
            rows.len()
        );
    }
    text += "\nlifetime: bytes written to the drive between a page's write and its overwrite or discard; \
             samples: pages whose life ended within the trace\n";
    if found.lost_events > 0 {
        text += &format!(
            "LOST EVENTS: {} kernel events were not captured\n",
            found.lost_events
        );
    }
    look.wrapped(&text)
}

fn table(rows: &[ContextRow]) -> Grid {
    let figures = [
        ("written", "written_bytes", 1),
        ("share", "share", 0),
        ("samples", "samples", 5),
        ("p25", "lifetime_p25_bytes", 4),
        ("p50", "lifetime_p50_bytes", 0),
        ("p75", "lifetime_p75_bytes", 4),
        ("stream", "stream", 2),
    ];
    let figures = figures.map(|(name, key, rank)| Column::number(name).key(key).rank(rank));
    let words = ["id", "context"].map(Column::words);
    let mut grid = Grid::new(words.into_iter().chain(figures));
    let told = |bytes: u64| Cell::new(anabranch_report::bytes(bytes), bytes);
    let lifetime = |bytes: Option<u64>| Cell::maybe(bytes, |bytes| anabranch_report::bytes(*bytes));
    for row in rows {
        grid.push([
            Cell::new(format!("#{}", row.id), row.id),
            Cell::from(&row.label),
            told(row.written_bytes),
            Cell::new(format!("{:.1} %", 100.0 * row.share), row.share),
            Cell::from(row.samples),
            lifetime(row.lifetime_p25_bytes),
            lifetime(row.lifetime_p50_bytes),
            lifetime(row.lifetime_p75_bytes),
            Cell::maybe(row.stream, u16::to_string),
        ]);
    }
    grid
}
