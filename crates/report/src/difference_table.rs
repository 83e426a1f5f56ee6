//! The difference of two results as tables for a terminal.

use comfy_table::{CellAlignment, Table, presets};
use serde_json::Value;

use crate::{
    difference::{Change, Difference, Figures, Moved},
    format::{bytes, ratio},
};

/// Two tables: what changed, and what moved.
pub fn difference_table(difference: &Difference) -> String {
    let changed = match difference.changed.is_empty() {
        true => "nothing was set otherwise".to_owned(),
        false => changes(&difference.changed),
    };
    format!("{changed}\n\n{}", moves(&difference.schemes))
}

fn changes(changes: &[Change]) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::ASCII_MARKDOWN)
        .set_header(["changed", "before", "after"]);
    for change in changes {
        table.add_row([
            change.key.clone(),
            setting(&change.before),
            setting(&change.after),
        ]);
    }
    table.to_string()
}

/// A setting as a person reads it.
fn setting(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn moves(schemes: &[Moved]) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header([
        "scheme",
        "WAF before",
        "after",
        "moved",
        "copied before",
        "after",
        "moved",
        "lifetime before",
        "after",
    ]);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for scheme in schemes {
        table.add_row(row(scheme));
    }
    table.to_string()
}

fn row(moved: &Moved) -> [String; 9] {
    let both = moved.before.zip(moved.after);
    let tell = |figures: Option<Figures>, words: fn(Figures) -> String| {
        figures.map_or_else(|| "-".to_owned(), words)
    };
    let waf = |figures: Figures| ratio(figures.waf);
    let copied = |figures: Figures| bytes(figures.copied_bytes);
    let lifetime = |figures: Figures| {
        figures
            .lifetime_vs_baseline
            .map_or_else(|| "-".to_owned(), |times| format!("{times:.2}x"))
    };
    let percent = |of: fn(Figures) -> Option<f64>| {
        let pair = both.and_then(|(before, after)| of(before).zip(of(after)));
        match pair {
            Some((before, after)) if before > 0.0 => {
                format!("{:+.1} %", 100.0 * (after / before - 1.0))
            }
            _ => "-".to_owned(),
        }
    };
    [
        moved.name.clone(),
        tell(moved.before, waf),
        tell(moved.after, waf),
        percent(|figures| figures.waf),
        tell(moved.before, copied),
        tell(moved.after, copied),
        percent(|figures| Some(figures.copied_bytes as f64)),
        tell(moved.before, lifetime),
        tell(moved.after, lifetime),
    ]
}
