//! The text on what advice is worth.

use std::path::Path;

use anabranch_advice::Advice;
use anabranch_report::{foreign, line, ratio};
use comfy_table::{CellAlignment, Table, presets};

/// A table of the checks, sentences on what is lost, and the files in `directory`.
pub fn advice(advice: &Advice, directory: &Path) -> String {
    let mut text = String::new();
    if let Some(promised) = &advice.promised {
        let scheme = foreign(&advice.scheme);
        text += &format!(
            "{scheme}: WAF {}, of the second half {}\n\n",
            ratio(promised.whole.waf()),
            ratio(promised.unseen.waf())
        );
    }
    if !advice.checks.is_empty() {
        text += &format!("{}\n\n", table(advice));
    }
    for checked in &advice.checks {
        if let (Some(false), Some(loses)) = (advice.holds(checked), &checked.loses) {
            text += &format!("what is lost in {}: {loses}\n", checked.what);
        }
    }
    for file in &advice.files {
        let path = directory.join(&file.name);
        text += &format!("wrote {}\n", line(&path.to_string_lossy()));
    }
    for note in &advice.notes {
        text += &format!("{}\n", line(note));
    }
    text
}

fn table(advice: &Advice) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header([
        "fed back",
        "WAF",
        "second half",
        "off by",
        "its promise",
    ]);
    for column in table.column_iter_mut().skip(1).take(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for checked in &advice.checks {
        let off = advice.off(checked);
        table.add_row([
            checked.what.clone(),
            ratio(checked.cost.whole.waf()),
            ratio(checked.cost.unseen.waf()),
            off.map_or_else(|| "-".to_owned(), |off| format!("{:+.1} %", 100.0 * off)),
            match advice.holds(checked) {
                Some(true) => "holds",
                Some(false) => "does NOT hold",
                None => "-",
            }
            .to_owned(),
        ]);
    }
    table
}
