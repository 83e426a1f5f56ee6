//! A table that fits its place: as wide as the terminal, or as CSV.

use std::collections::{BTreeMap, BTreeSet};

use comfy_table::{CellAlignment, Table, presets};

use crate::foreign::{COLOURS, line, whole};

/// The width to which columns of words are cut before columns are left out (our choice).
const WORDS_WIDTH: usize = 36;
/// The width to which they are cut when nothing else helps (our choice).
const LEAST_WIDTH: usize = 12;

/// How tables and texts are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Look {
    /// Columns of the terminal; `None` where there is no limit.
    pub width: Option<usize>,
    /// Whether tables are comma-separated values, with exact figures and no text around them.
    pub csv: bool,
    /// Whether the terminal shows colours.
    pub colour: bool,
}

impl Look {
    /// One line of words in green, or as they are where there are no colours.
    pub fn good(&self, words: &str) -> String {
        self.coloured(COLOURS[0], words)
    }

    /// One line of words in yellow, or as they are where there are no colours.
    pub fn bad(&self, words: &str) -> String {
        self.coloured(COLOURS[1], words)
    }

    /// Wraps the sentences of a text to the terminal's width. Lines of tables and indented lines stay, and so do
    /// commands, which get a line of their own where they would be broken.
    pub fn wrapped(&self, text: &str) -> String {
        let Some(width) = self.width else {
            return text.to_owned();
        };
        let lines = text.split('\n').map(|line| {
            if line.starts_with(['|', ' ']) {
                line.to_owned()
            } else {
                broken(line, width)
            }
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    fn coloured(&self, colour: &str, words: &str) -> String {
        let words = line(words);
        if self.colour {
            format!("{colour}{words}{}", COLOURS[2])
        } else {
            words
        }
    }
}

/// A column of a table: its head, and how it is fitted.
#[derive(Debug, Clone)]
pub struct Column {
    name: String,
    key: Option<&'static str>,
    is_number: bool,
    rank: u8,
}

impl Column {
    /// A column of words, which is cut where there is no room.
    pub fn words(name: impl Into<String>) -> Column {
        Column {
            name: line(&name.into()),
            key: None,
            is_number: false,
            rank: 0,
        }
    }

    /// The column's head.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// A column of figures, which is never cut.
    pub fn number(name: impl Into<String>) -> Column {
        Column {
            is_number: true,
            ..Column::words(name)
        }
    }

    /// Gives the column another name in CSV, where figures are in another unit.
    #[must_use]
    pub fn key(self, key: &'static str) -> Column {
        Column {
            key: Some(key),
            ..self
        }
    }

    /// Lets the column be left out where there is no room, those of higher rank first.
    #[must_use]
    pub fn rank(self, rank: u8) -> Column {
        Column { rank, ..self }
    }
}

/// A cell: the text for people, and the figure itself for programs. Both are one line without control characters,
/// wherever they come from.
#[derive(Debug, Clone)]
pub struct Cell {
    text: String,
    raw: String,
}

impl Cell {
    /// A cell with a rounded text or a unit for people, and `raw` for programs.
    pub fn new(text: impl Into<String>, raw: impl ToString) -> Cell {
        Cell {
            text: line(&text.into()),
            raw: whole(&raw.to_string()),
        }
    }

    /// A cell of a figure that may be missing.
    pub fn maybe<T: ToString>(value: Option<T>, text: impl FnOnce(&T) -> String) -> Cell {
        match value {
            Some(value) => Cell::new(text(&value), value.to_string()),
            None => Cell::new("-", ""),
        }
    }
}

impl Cell {
    /// The text for people.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The figure itself.
    pub fn raw(&self) -> &str {
        &self.raw
    }
}

impl<T: ToString> From<T> for Cell {
    fn from(value: T) -> Cell {
        let text = value.to_string();
        Cell {
            raw: whole(&text),
            text: line(&text),
        }
    }
}

/// A table that is being made.
///
/// ```
/// use anabranch_report::{Cell, Column, Grid, Look, bytes};
///
/// // Where there is no room, names are cut, and the column with a rank goes.
/// let mut grid = Grid::new([
///     Column::words("file"),
///     Column::number("written").key("written_bytes").rank(1),
///     Column::number("WAF"),
/// ]);
/// let written_bytes = 3_u64 << 30;
/// grid.push([
///     Cell::from("/var/lib/database/000012.sst"),
///     Cell::new(bytes(written_bytes), written_bytes),
///     Cell::new("1.25", 1.25),
/// ]);
/// let narrow = grid.text(&Look { width: Some(30), ..Look::default() });
/// assert!(narrow.contains("1.25") && narrow.contains("(no room for: written"));
///
/// // Programs get every column, with exact figures.
/// let csv = grid.text(&Look { csv: true, ..Look::default() });
/// assert_eq!(csv, "file,written_bytes,WAF\n/var/lib/database/000012.sst,3221225472,1.25");
/// ```
#[derive(Debug, Clone)]
pub struct Grid {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Grid {
    /// A table without rows.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Grid {
        Grid {
            columns: columns.into_iter().collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row of as many cells as there are columns.
    pub fn push(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Whether the table has no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table, without a line break at its end.
    pub fn text(&self, look: &Look) -> String {
        if look.csv {
            return self.csv();
        }
        let (widths, left_out) = self.fitted(look.width);
        let is_cut = |(at, width): (usize, &Option<usize>)| {
            width.is_some_and(|width| width < self.natural(at))
        };
        let is_cut = widths.iter().enumerate().any(is_cut);
        let seen: Vec<(usize, usize)> = widths
            .iter()
            .enumerate()
            .filter_map(|(at, width)| Some((at, (*width)?)))
            .collect();
        let mut table = Table::new();
        let names = seen.iter().map(|&(at, _)| self.columns[at].name.clone());
        table.load_style(presets::ASCII_MARKDOWN).set_header(names);
        for (column, &(at, _)) in table.column_iter_mut().zip(&seen) {
            if self.columns[at].is_number {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let columns = seen.iter().map(|&(at, width)| {
            let texts: Vec<&str> = self.rows.iter().map(|row| row[at].text.as_str()).collect();
            cut(&texts, width)
        });
        let columns: Vec<Vec<String>> = columns.collect();
        for row in 0..self.rows.len() {
            table.add_row(columns.iter().map(|column| &column[row]));
        }
        match (left_out.is_empty(), is_cut) {
            (true, false) => table.to_string(),
            (true, true) => format!("{table}\n(words are cut; --wide shows all)"),
            (false, _) => format!(
                "{table}\n(no room for: {}; --wide shows all)",
                left_out.join(", ")
            ),
        }
    }

    /// The width that a column has where there is room.
    fn natural(&self, at: usize) -> usize {
        let cells = self.rows.iter().map(|row| row[at].text.chars().count());
        let name = self.columns[at].name.chars().count();
        cells.chain([name]).max().unwrap_or(0)
    }

    /// The width of each column, `None` for those left out, and the names of these.
    fn fitted(&self, room: Option<usize>) -> (Vec<Option<usize>>, Vec<&str>) {
        let mut natural: Vec<Option<usize>> = (0..self.columns.len())
            .map(|at| Some(self.natural(at)))
            .collect();
        let Some(room) = room else {
            return (natural, Vec::new());
        };
        let mut left_out = Vec::new();
        let mut widths = loop {
            let mut widths = natural.clone();
            self.narrow(&mut widths, room, WORDS_WIDTH);
            let there = (0..widths.len()).filter(|&at| widths[at].is_some());
            let least = there.max_by_key(|&at| (self.columns[at].rank, at));
            let least = least.filter(|&at| self.columns[at].rank > 0);
            match least.filter(|_| needed(&widths) > room) {
                Some(at) => {
                    natural[at] = None;
                    left_out.push(self.columns[at].name.as_str());
                }
                None => break widths,
            }
        };
        self.narrow(&mut widths, room, LEAST_WIDTH);
        left_out.reverse();
        (widths, left_out)
    }

    /// Cuts columns of words, the widest first, until all fit or none is wider than `least`.
    fn narrow(&self, widths: &mut [Option<usize>], room: usize, least: usize) {
        while needed(widths) > room {
            let wordy = (0..widths.len()).filter(|&at| !self.columns[at].is_number);
            let widest = wordy.max_by_key(|&at| widths[at].unwrap_or(0));
            match widest.and_then(|at| widths[at].as_mut()) {
                Some(width) if *width > least => *width -= 1,
                _ => break,
            }
        }
    }

    fn csv(&self) -> String {
        let head = self.columns.iter().map(|column| match column.key {
            Some(key) => key.to_owned(),
            None => quoted(&column.name.replace(' ', "_")),
        });
        let rows = self.rows.iter().map(|row| {
            let cells = row.iter().map(|cell| quoted(&cell.raw));
            cells.collect::<Vec<_>>().join(",")
        });
        let lines = [head.collect::<Vec<_>>().join(",")].into_iter().chain(rows);
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Breaks a line of prose into lines, of which those after the first are indented.
fn broken(line: &str, width: usize) -> String {
    if seen(line) <= width {
        return line.to_owned();
    }
    let (prose, command) = match line.split_once(": anabranch ") {
        Some((prose, command)) => (format!("{prose}:"), Some(format!("anabranch {command}"))),
        None => (line.to_owned(), None),
    };
    let mut lines: Vec<String> = Vec::new();
    for word in prose.split(' ') {
        match lines.last_mut() {
            Some(last) if seen(last) + 1 + seen(word) <= width => {
                last.push(' ');
                last.push_str(word);
            }
            Some(_) => lines.push(format!("  {word}")),
            None => lines.push(word.to_owned()),
        }
    }
    lines.extend(command.map(|command| format!("  {command}")));
    lines.join("\n")
}

/// Number of characters of a text that take room: codes of colours do not.
fn seen(text: &str) -> usize {
    let mut is_code = false;
    text.chars()
        .filter(|letter| {
            let is_seen = !is_code && *letter != '\u{1b}';
            is_code = *letter == '\u{1b}' || is_code && *letter != 'm';
            is_seen
        })
        .count()
}

/// Characters that columns of these widths take, with the separators between them.
fn needed(widths: &[Option<usize>]) -> usize {
    widths
        .iter()
        .flatten()
        .map(|width| width + 3)
        .sum::<usize>()
        + 1
}

/// The cells of a column cut to `width`. Cells that begin alike and differ farther on are cut around the place where
/// they differ.
fn cut(texts: &[&str], width: usize) -> Vec<String> {
    let mut shown: Vec<String> = texts.iter().map(|text| window(text, 0, width)).collect();
    let mut alike: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (text, cut) in texts.iter().zip(&shown) {
        alike.entry(cut.clone()).or_default().insert(text);
    }
    for same in alike.into_values().filter(|same| same.len() > 1) {
        let (first, last) = (same.first().copied(), same.last().copied());
        // Of sorted texts the first and the last have in common what all have.
        let chars = |text: Option<&'_ str>| text.unwrap_or_default().chars().collect::<Vec<char>>();
        let (first, last) = (chars(first), chars(last));
        let common = first
            .iter()
            .zip(&last)
            .take_while(|(one, other)| one == other);
        let common = common.count();
        for (text, cut) in texts.iter().zip(&mut shown) {
            if same.contains(text) {
                *cut = window(text, common, width);
            }
        }
    }
    shown
}

/// A part of a text in this width: its beginning or, where that ends before `place`, some of its beginning and the text
/// around `place`.
fn window(text: &str, place: usize, width: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= width {
        return text.to_owned();
    }
    let said = |part: &[char]| part.iter().collect::<String>();
    if place + 2 < width {
        return said(&chars[..width.saturating_sub(1)]) + "…";
    }
    let head = width / 3;
    let room = width.saturating_sub(head + 1);
    let start = place
        .saturating_sub(room / 4)
        .min(chars.len().saturating_sub(room));
    let rest = &chars[start..];
    if rest.len() > room {
        format!(
            "{}…{}…",
            said(&chars[..head]),
            said(&rest[..room.saturating_sub(1)])
        )
    } else {
        format!("{}…{}", said(&chars[..head]), said(rest))
    }
}

/// A cell quoted for a CSV file (RFC 4180).
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let mut grid = Grid::new([
            Column::words("context"),
            Column::number("written").rank(1),
            Column::number("share"),
        ]);
        let name = "a very long name of a context, which nobody reads to its end";
        grid.push([
            Cell::from(name),
            Cell::new("1.00 GiB", 1_u64 << 30),
            Cell::new("50 %", 0.5),
        ]);
        grid
    }

    fn width(text: &str) -> usize {
        text.lines().next().map_or(0, |line| line.chars().count())
    }

    #[test]
    fn without_a_limit_everything_is_shown() {
        let text = grid().text(&Look::default());
        assert!(
            text.contains("to its end") && text.contains("1.00 GiB"),
            "{text}"
        );
    }

    #[test]
    fn words_are_cut_before_columns_are_left_out_and_that_is_said() {
        let look = |width| Look {
            width: Some(width),
            ..Look::default()
        };
        let text = grid().text(&look(70));
        assert!(
            width(&text) <= 70 && text.contains('…') && text.contains("1.00 GiB"),
            "{text}"
        );
        assert!(
            text.ends_with("\n(words are cut; --wide shows all)"),
            "{text}"
        );
        let text = grid().text(&look(48));
        assert!(
            width(&text) <= 48 && text.contains("no room for: written"),
            "{text}"
        );
        // What a column leaves is given to the words.
        assert!(width(&text) > 44, "{text}");
        let text = grid().text(&look(24));
        assert!(width(&text) <= 24, "{text}");
    }

    #[test]
    fn cells_that_begin_alike_are_shown_by_where_they_differ() {
        let texts = [
            "*.sst · WriterSyncClose < FinishCompactionOutputFile < AddToOutput · rocksdb:low",
            "*.sst · WriterSyncClose < FinishCompactionOutputFile < CloseOutput · rocksdb:low",
            "*.log · WriteToWAL · db_bench",
            "*.sst · WriterSyncClose < FinishCompactionOutputFile < AddToOutput · rocksdb:low",
        ];
        for width in 12..90 {
            let shown = cut(&texts, width);
            assert!(
                shown.iter().all(|cell| cell.chars().count() <= width),
                "{shown:?}"
            );
            assert_ne!(shown[0], shown[1], "{width}");
            assert_eq!(shown[0], shown[3], "{width}");
        }
        assert_eq!(cut(&texts, 36)[0], "*.sst · Writ…le < AddToOutput · roc…");
    }

    #[test]
    fn csv_has_the_figures_and_every_column() {
        let look = Look {
            csv: true,
            width: Some(10),
            colour: true,
        };
        let text = grid().text(&look);
        assert!(
            text.starts_with("context,written,share\n\"a very long name of a context, which"),
            "{text}"
        );
        assert!(text.ends_with(",1073741824,0.5"), "{text}");
    }

    #[test]
    fn sentences_are_as_wide_as_the_terminal_and_tables_and_commands_stay_whole() {
        let look = Look {
            width: Some(30),
            colour: true,
            ..Look::default()
        };
        let table = "| a table that is as wide as it is |";
        let command = "anabranch export a-long-name.parquet --to rules -o advice";
        let text = format!(
            "{table}\n{}\nNext, what to do: {command}",
            look.bad("some words that do not fit on a line of thirty")
        );
        let wrapped = look.wrapped(&text);
        let lines: Vec<&str> = wrapped.lines().collect();
        assert_eq!(lines[0], table);
        assert_eq!(
            lines[1..3],
            [
                "\u{1b}[33msome words that do not fit on",
                "  a line of thirty\u{1b}[0m"
            ]
        );
        assert_eq!(lines[3..], ["Next, what to do:", &format!("  {command}")]);
        assert_eq!(Look::default().wrapped(&text), text);
    }

    #[test]
    fn colours_are_there_only_where_they_are_wanted() {
        assert_eq!(Look::default().good("yes"), "yes");
        let look = Look {
            colour: true,
            ..Look::default()
        };
        assert_eq!(look.good("yes"), "\u{1b}[32;1myes\u{1b}[0m");
    }
}
