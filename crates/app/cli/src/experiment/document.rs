//! The claims of an experiment in a document: a table, and the commands that make its rows.

use std::path::Path;

use anabranch_trace::WholeFile;

use super::{claim::ClaimAnswer, findings::ExperimentFindings, grid::Again, pivot::PivotFindings};
use crate::error::{CommandError, Result};

/// The head of the table of claims.
const HEAD: &str = "\
| row | claim | published | ours | holds | fill; unit; spare; steady | why |
|---:|---|---|---|---|---|---|
";

/// The name of the marks around the table of all experiments' points: figures that have a band.
const POINTS: &str = "points";
/// The head of the table of points.
const POINTS_HEAD: &str = "\
| experiment | row | point | published | best guess | error | band | in it |
|---|---:|---|---:|---:|---:|---|---|
";

/// Characters of a line of prose in the documents. Our choice.
const WIDTH: usize = 120;

/// Writes an experiment's findings between its marks in a document, and its points into the table of all experiments'
/// points. A document that has neither place is left alone.
///
/// # Errors
/// When the document cannot be read or written.
pub fn write(path: &Path, found: &ExperimentFindings) -> Result {
    let wrong = |problem: String| CommandError::wrong_use(format!("{}: {problem}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let mut changed = text.clone();
    if inside(&changed, &found.name).is_some() {
        changed = between(&changed, &found.name, &section(found)).map_err(wrong)?;
    }
    if let Some(known) = inside(&changed, POINTS) {
        let table = points(known, &found.name, &found.claims);
        changed = between(&changed, POINTS, &table).map_err(wrong)?;
    }
    if changed == text {
        return Ok(());
    }
    let mut file = WholeFile::create(path)?;
    std::io::Write::write_all(&mut file, changed.as_bytes()).map_err(|error| {
        CommandError::work(anyhow::anyhow!("cannot write {}: {error}", path.display()))
    })?;
    Ok(file.finish()?)
}

fn marks(name: &str) -> (String, String) {
    (
        format!("<!-- experiment {name} -->\n"),
        format!("<!-- end of {name} -->\n"),
    )
}

/// The document with another text between an experiment's marks.
fn between(text: &str, name: &str, words: &str) -> Result<String, String> {
    let (begin, end) = marks(name);
    let parts = text.split_once(&begin).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(&end)?;
        Some((before, after))
    });
    let (before, after) =
        parts.ok_or_else(|| format!("it has no lines {} and {}", begin.trim(), end.trim()))?;
    Ok(format!("{before}{begin}{words}{end}{after}"))
}

/// The text between an experiment's marks.
fn inside<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (begin, end) = marks(name);
    let (_, rest) = text.split_once(&begin)?;
    Some(rest.split_once(&end)?.0)
}

/// The table of points, with those of one experiment replaced and the others unchanged.
fn points(known: &str, name: &str, claims: &[ClaimAnswer]) -> String {
    let own = format!("| `{name}` | ");
    let others = known
        .lines()
        .filter(|line| line.starts_with("| `") && !line.starts_with(&own));
    let mut rows: Vec<String> = others.map(|line| format!("{line}\n")).collect();
    let point = |claim: &ClaimAnswer| {
        let (band, best) = (claim.band.as_ref()?, claim.value?);
        Some(format!(
            "{own}{} | {} | {} | {best:.3} | {:+.1} % | {:.3} to {:.3} | {} |\n",
            claim.row,
            plain(&claim.claim),
            plain(&claim.published),
            100.0 * band.error,
            band.least,
            band.most,
            holds(claim),
        ))
    };
    let place = rows.partition_point(|row| row.as_str() < own.as_str());
    rows.splice(place..place, claims.iter().filter_map(point));
    format!("{POINTS_HEAD}{}", rows.concat())
}

fn holds(claim: &ClaimAnswer) -> &'static str {
    if claim.holds { "yes" } else { "**no**" }
}

/// The section of a document on an experiment.
fn section(found: &ExperimentFindings) -> String {
    let command = &found.command;
    let mut text = filled(&format!(
        "`{command}` ({}): {}",
        found.source,
        found.setup.trim()
    ));
    if !found.claims.is_empty() {
        let rows: String = found.claims.iter().map(row).collect();
        let alone = filled(&format!(
            "One row alone: `{command} --claim ROW`. The comparisons:"
        ));
        text += &format!("\n{HEAD}{rows}\n{alone}\n");
    }
    for (command, rows) in commands(&found.claims) {
        text += &filled(&format!("- rows {rows}: `{command}`"));
    }
    text + &found.tables.iter().map(table).collect::<String>()
}

fn table(table: &PivotFindings) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| plain(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule = "|---:".repeat(table.head.len());
    let rows: String = table.rows.iter().map(|row| line(row)).collect();
    let settled = if table.steady {
        ""
    } else {
        " (not all steady)"
    };
    let title = filled(&format!("{}{settled}:", table.title));
    format!("\n{title}\n{}{rule}|\n{rows}", line(&table.head))
}

/// A paragraph or an item of a list in lines of at most [`WIDTH`] characters, the last one ended too. Lines break between
/// words, and never within a command.
fn filled(text: &str) -> String {
    let indent = if text.starts_with("- ") { "  " } else { "" };
    let mut lines: Vec<String> = Vec::new();
    for word in words(text) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= WIDTH => {
                line.push(' ');
                line.push_str(&word);
            }
            Some(_) => lines.push(format!("{indent}{word}")),
            None => lines.push(word),
        }
    }
    lines.join("\n") + "\n"
}

/// The words of a text; a command in backquotes is one.
fn words(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut is_command = false;
    for part in text.split_whitespace() {
        match found.last_mut() {
            Some(command) if is_command => {
                command.push(' ');
                command.push_str(part);
            }
            _ => found.push(part.to_owned()),
        }
        is_command ^= part.matches('`').count() % 2 == 1;
    }
    found
}

fn row(claim: &ClaimAnswer) -> String {
    let cells = [
        claim.row.to_string(),
        plain(&claim.claim),
        plain(&claim.published),
        plain(&claim.ours),
        holds(claim).to_owned(),
        claim.basis.words(),
        plain(&claim.why),
    ];
    format!("| {} |\n", cells.join(" | "))
}

/// A text for a table's cell, with stars and bars escaped.
fn plain(text: &str) -> String {
    text.replace('*', "\\*").replace('|', "\\|")
}

/// The command of each comparison, once, with all schemes that claims looked at, and the rows that rest on it.
fn commands(claims: &[ClaimAnswer]) -> Vec<(String, String)> {
    let mut found: Vec<(Again, Vec<usize>)> = Vec::new();
    for claim in claims {
        for again in &claim.basis.commands {
            match found
                .iter_mut()
                .find_map(|(known, rows)| known.join(again).then_some(rows))
            {
                Some(rows) => rows.push(claim.row),
                None => found.push((again.clone(), vec![claim.row])),
            }
        }
    }
    let one = |(again, rows): (Again, Vec<usize>)| (String::from(again), numbers(&rows));
    found.into_iter().map(one).collect()
}

fn numbers(rows: &[usize]) -> String {
    rows.iter()
        .map(usize::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_between_the_marks_changes() {
        let text = "before\n<!-- experiment a -->\nold\n<!-- end of a -->\nafter\n";
        assert_eq!(
            between(text, "a", "new\n").unwrap(),
            "before\n<!-- experiment a -->\nnew\n<!-- end of a -->\nafter\n"
        );
        assert!(between(text, "b", "").unwrap_err().contains("experiment b"));
    }

    #[test]
    fn lines_end_before_the_margin_and_commands_stay_whole() {
        let command = format!("`anabranch replay {}`", "x ".repeat(80));
        assert_eq!(filled("one\ntwo"), "one two\n");
        assert_eq!(
            filled(&format!("- rows 1: {command}")),
            format!("- rows 1:\n  {command}\n")
        );
        let long = filled(&"words ".repeat(60));
        assert!(long.lines().all(|line| line.len() <= WIDTH) && long.lines().count() == 3);
    }

    #[test]
    fn a_cell_keeps_its_stars_and_bars() {
        assert_eq!(plain("PCStream* | x"), "PCStream\\* \\| x");
    }
}
