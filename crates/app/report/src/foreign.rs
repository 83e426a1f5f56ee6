//! Printing of text from elsewhere: names of files, threads, schemes and hosts, and messages that repeat them.
//!
//! A terminal obeys control characters, and shows text in the order that bidirectional marks ask for.
//! Both are printed as JSON writes them in a string (`\u001b`), so that JSON stays JSON, and nothing is
//! left out.

use std::{borrow::Cow, fmt::Write as _};

/// The most characters of a name that are printed (our choice: the longest path that still reads as one).
const MOST_NAME: usize = 320;
/// The most characters of a message that are printed (our choice: ten times the longest of our own).
const MOST_MESSAGE: usize = 8_000;
/// The most lines of a message (our choice: a parser shows the line and a caret; no message of ours has more).
const MOST_LINES: usize = 16;

/// The escape codes that the command itself prints in colour: green, yellow, and back to normal.
pub(crate) const COLOURS: [&str; 3] = ["\u{1b}[32;1m", "\u{1b}[33m", "\u{1b}[0m"];

/// Escapes control characters, and characters that hide or reorder text, in a text of any length and of many lines.
/// Line breaks and the command's own colours are kept.
pub fn printable(text: &str) -> Cow<'_, str> {
    // Most of what is printed, JSON of many megabytes too, is ASCII without control characters.
    let plain = |byte: u8| (b' '..=b'~').contains(&byte) || byte == b'\n';
    if text.bytes().all(plain) || !text.chars().any(is_hostile) {
        return Cow::Borrowed(text);
    }
    let (mut printable, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('\u{1b}') {
        let (before, after) = rest.split_at(at);
        let colour = COLOURS.iter().find(|colour| after.starts_with(**colour));
        printable += &escaped(before);
        // What is no colour of ours loses its first character here, the rest in the next round.
        printable += colour.copied().unwrap_or("\\u001b");
        rest = &after[colour.map_or(1, |colour| colour.len())..];
    }
    printable += &escaped(rest);
    Cow::Owned(printable)
}

/// A name for use within a line: one line, cut in its middle if it is very long.
pub fn foreign(text: &str) -> String {
    whole(&cut(text, MOST_NAME))
}

/// A line of text that contains names: one line, cut in its middle if it is very long.
pub fn line(text: &str) -> String {
    whole(&cut(text, MOST_MESSAGE))
}

/// The cells of a table's row, each one line.
pub fn cells<T: AsRef<str>>(row: impl IntoIterator<Item = T>) -> Vec<String> {
    row.into_iter().map(|cell| line(cell.as_ref())).collect()
}

/// A text as one line, however long, for programs to read.
pub(crate) fn whole(text: &str) -> String {
    escaped(text).replace('\n', "\\n")
}

/// A message that repeats text from elsewhere. Lines after the first are indented, so that none can pass for another
/// message; a very long message is cut in its middle.
pub fn message(text: &str) -> String {
    let text = escaped(&cut(text, MOST_MESSAGE));
    if text.lines().count() <= MOST_LINES {
        text.trim_end().replace('\n', "\n    ")
    } else {
        text.replace('\n', "\\n")
    }
}

/// Whether a terminal would obey the character, or the character hides or reorders text around it (Unicode 16:
/// categories Cc, Zl, Zp, and of Cf all but the soft hyphen and the joiners that scripts and emoji need).
fn is_hostile(letter: char) -> bool {
    let is_control = letter.is_control() && letter != '\n';
    is_control
        || matches!(letter,
            '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\t' => escaped.push(' '),
            letter if is_hostile(letter) => {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    // Writing to a string cannot fail.
                    let _ = write!(escaped, "\\u{unit:04x}");
                }
            }
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// The text in at most `most` characters: the first two thirds, a note of what was left out, and the last third.
fn cut(text: &str, most: usize) -> Cow<'_, str> {
    let Some((_, rest)) = split(text, most) else {
        return Cow::Borrowed(text);
    };
    let (head, _) = split(text, most * 2 / 3).unwrap_or((text, ""));
    let tail = text.char_indices().rev().nth(most / 3 - 1);
    let tail = tail.map_or(rest, |(at, _)| &text[at..]);
    let left_out = text.len() - head.len() - tail.len();
    Cow::Owned(format!("{head} [{left_out} bytes] {tail}"))
}

/// Splits the text before the character of that number; `None` where it is shorter.
fn split(text: &str, characters: usize) -> Option<(&str, &str)> {
    let (at, _) = text.char_indices().nth(characters)?;
    Some(text.split_at(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_and_what_turns_text_around_is_escaped() {
        for (text, expected) in [
            ("plain \u{e9}\u{1f600}", "plain \u{e9}\u{1f600}"),
            ("\u{1b}[2J\u{7}", "\\u001b[2J\\u0007"),
            ("\u{9b}1m\u{7f}", "\\u009b1m\\u007f"),
            ("a\u{202e}b\u{2066}", "a\\u202eb\\u2066"),
            ("\u{e0041}", "\\udb40\\udc41"),
            ("a\tb\rc", "a b\\u000dc"),
            ("two\nlines", "two\nlines"),
        ] {
            assert_eq!(printable(text), expected);
        }
        assert!(matches!(printable("\u{e9}"), Cow::Borrowed(_)));
    }

    #[test]
    fn our_colours_stay_and_no_others() {
        let [green, yellow, none] = COLOURS;
        let text = format!("{green}yes{none} \u{1b}[31mno{yellow}\u{1b}{none}\u{7}");
        let expected = format!("{green}yes{none} \\u001b[31mno{yellow}\\u001b{none}\\u0007");
        assert_eq!(printable(&text), expected);
        assert_eq!(foreign(green), "\\u001b[32;1m");
    }

    #[test]
    fn json_stays_json_and_means_the_same() {
        let name = "\u{1b}]0;x\u{7}\u{202e}\u{e0041}\n\u{7f}\u{85}";
        let json = serde_json::to_string(name).unwrap();
        let read: String = serde_json::from_str(&printable(&json)).unwrap();
        assert_eq!(read, name);
    }

    #[test]
    fn a_name_is_one_line_and_cut_in_its_middle() {
        assert_eq!(foreign("a\nb"), "a\\nb");
        let long = format!("{}\u{e9}{}", "a".repeat(1000), "z".repeat(1000));
        let cut = foreign(&long);
        assert!(cut.starts_with("aaa") && cut.ends_with("zzz"), "{cut}");
        assert!(cut.contains(" [1683 bytes] "), "{cut}");
        assert_eq!(foreign(&"\u{e9}".repeat(320)), "\u{e9}".repeat(320));
    }

    #[test]
    fn no_line_of_a_message_passes_for_another() {
        assert_eq!(message("no a\nanabranch: b\n"), "no a\n    anabranch: b");
        assert_eq!(message("1\n".repeat(40).as_str()).lines().count(), 1);
        assert!(message(&"x".repeat(1 << 20)).len() < 9_000);
    }
}
