//! The difference of two results as tables for a terminal.

use serde_json::Value;

use crate::{
    difference::{Change, Difference, Figures, Moved},
    foreign::line,
    format::{bytes, ratio},
    grid::{Cell, Column, Grid, Look},
};

/// The difference as two tables: changed settings, and moved figures. As CSV it is the latter only.
pub fn difference_table(difference: &Difference, look: &Look) -> String {
    let moves = moves(&difference.schemes).text(look);
    if look.csv {
        return moves;
    }
    let changed = if difference.changed.is_empty() {
        "nothing was set otherwise".to_owned()
    } else {
        changes(&difference.changed).text(look)
    };
    let note = match line(&difference.note) {
        note if note.is_empty() => note,
        note => format!("{}\n\n", look.bad(&note)),
    };
    format!("{note}{changed}\n\n{moves}")
}

fn changes(changes: &[Change]) -> Grid {
    let mut grid = Grid::new(["changed", "before", "after"].map(Column::words));
    for change in changes {
        grid.push([
            Cell::from(&change.key),
            Cell::from(setting(&change.before)),
            Cell::from(setting(&change.after)),
        ]);
    }
    grid
}

/// A setting's value as a person reads it.
fn setting(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn moves(schemes: &[Moved]) -> Grid {
    let figures = [
        ("WAF before", 0),
        ("WAF after", 0),
        ("WAF moved", 0),
        ("copied before", 3),
        ("copied after", 3),
        ("copied moved", 4),
        ("lifetime before", 1),
        ("lifetime after", 1),
    ];
    let figures = figures.map(|(name, rank)| Column::number(name).rank(rank));
    let mut grid = Grid::new([Column::words("scheme")].into_iter().chain(figures));
    for scheme in schemes {
        grid.push(row(scheme));
    }
    grid
}

fn row(moved: &Moved) -> [Cell; 9] {
    let both = moved.before.zip(moved.after);
    let waf = |figures: Option<Figures>| {
        let waf = figures.and_then(|figures| figures.waf);
        Cell::maybe(waf, |waf| ratio(Some(*waf)))
    };
    let copied = |figures: Option<Figures>| {
        let copied = figures.map(|figures| figures.copied_bytes);
        Cell::maybe(copied, |copied| bytes(*copied))
    };
    let lifetime = |figures: Option<Figures>| {
        let times = figures.and_then(|figures| figures.lifetime_vs_ordinary);
        Cell::maybe(times, |times| format!("{times:.2}x"))
    };
    let percent = |of: fn(Figures) -> Option<f64>| {
        let pair = both.and_then(|(before, after)| of(before).zip(of(after)));
        let pair = pair.filter(|(before, _)| *before > 0.0);
        let moved = pair.map(|(before, after)| after / before - 1.0);
        Cell::maybe(moved, |moved| format!("{:+.1} %", 100.0 * moved))
    };
    [
        Cell::from(&moved.name),
        waf(moved.before),
        waf(moved.after),
        percent(|figures| figures.waf),
        copied(moved.before),
        copied(moved.after),
        percent(|figures| Some(figures.copied_bytes as f64)),
        lifetime(moved.before),
        lifetime(moved.after),
    ]
}
