//! `anabranch contexts`: the contexts of a trace, with what they wrote and how long it lived.

use std::collections::BTreeSet;

use anabranch_advice::{ContextRow, Contexts};
use anabranch_replay::without_parameters;
use anabranch_report::{Cell, Column, Grid, Look, foreign};

use crate::{arguments::ContextsArguments, error::Result, output::json, progress::Bar, source};

const GENERATIONS: &str = "generation N: what was made of files of generation N-1 that the thread had read; \
                           generation 0 was made of none\n";

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
            foreign(label(row))
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
    if shown.iter().any(|row| row.label.contains(", generation ")) {
        text += GENERATIONS;
    }
    for remedy in without_symbols(shown).iter().chain(&found.remedies) {
        text += &format!("{}\n", foreign(remedy));
    }
    if found.lost_events > 0 {
        text += &format!(
            "LOST EVENTS: {} kernel events were not captured\n",
            found.lost_events
        );
    }
    look.wrapped(&text)
}

/// The label without the number that the table shows beside it.
fn label(row: &ContextRow) -> &str {
    let number = format!(" #{}", row.id);
    row.label.strip_suffix(&number).unwrap_or(&row.label)
}

/// A sentence on programs without symbols.
fn without_symbols(rows: &[ContextRow]) -> Option<String> {
    let calls = rows.iter().flat_map(|row| &row.path);
    let offsets = calls.filter_map(|call| call.split_once("+0x"));
    // Code in brackets lies in no file.
    let is_runtime = |object: &str| {
        ["lib", "ld-", "["]
            .iter()
            .any(|own| object.starts_with(own))
    };
    let bare: BTreeSet<&str> = offsets
        .map(|(object, _)| object)
        .filter(|object| !is_runtime(object))
        .collect();
    let names: Vec<&str> = bare.into_iter().collect();
    (!names.is_empty()).then(|| {
        format!(
            "calls without a name are offsets, as in {0}+0x…: no symbols were found for {1}. Install the distribution's \
             debug package for it (…-dbgsym, …-debuginfo) before you record",
            names[0],
            names.join(", ")
        )
    })
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
            Cell::from(label(row)),
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

#[cfg(test)]
mod tests {
    use anabranch_trace::ContextKind;

    use super::*;

    fn row(label: &str, path: &[&str]) -> ContextRow {
        ContextRow {
            id: 61,
            signature: String::new(),
            label: label.to_owned(),
            file: String::new(),
            kind: ContextKind::Application,
            role: "mariadbd".to_owned(),
            path: path.iter().map(|call| (*call).to_owned()).collect(),
            generation: 0,
            writes: 1,
            written_bytes: 4096,
            share: 1.0,
            samples: 0,
            lifetime_p25_bytes: None,
            lifetime_p50_bytes: None,
            lifetime_p75_bytes: None,
            stream: None,
        }
    }

    fn described(row: ContextRow) -> String {
        let found = Contexts {
            schema: 1,
            page_bytes: 4096,
            contexts: vec![row],
            lost_events: 0,
            remedies: Vec::new(),
        };
        describe(&found, 20, &Look::default())
    }

    #[test]
    fn a_contexts_number_stands_once_in_its_row() {
        let text = described(row("ibdata1 · mariadbd #61", &[]));
        assert_eq!(text.matches("#61").count(), 1, "{text}");
    }

    #[test]
    fn a_generation_is_explained_where_one_is_shown() {
        assert!(described(row("*.o · as, generation 1", &[])).contains("generation N:"));
        assert!(!described(row("*.o · as", &[])).contains("generation N:"));
    }

    #[test]
    fn calls_without_names_come_with_the_remedy() {
        let text = described(row("x", &["pwrite64", "mariadbd+0x5d", "libc.so.6+0x1"]));
        assert!(
            text.contains("no symbols were found for mariadbd"),
            "{text}"
        );
        let text = described(row("x", &["write", "method_vectorcall_O"]));
        assert!(!text.contains("no symbols"), "{text}");
    }
}
