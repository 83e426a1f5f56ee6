//! The heading of a comparison: the application, its trace, when and where it was recorded.

use anabranch_replay::Comparison;
use serde::Serialize;
use serde_json::Value;

/// The most characters of a command that are shown (our choice).
const MOST_COMMAND: usize = 96;

/// The heading of a table or page. Parts that are not known are empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Heading {
    /// The command that was run.
    pub application: String,
    /// The name of the trace's file.
    pub trace: String,
    /// The time of recording in UTC, to the minute.
    pub recorded: String,
    /// The host, file system and kernel of the recording.
    pub place: String,
}

/// The heading of a comparison, made from the result alone: equal results have equal headings.
pub fn heading(outcome: &Comparison) -> Heading {
    let capture = outcome.config.get("capture");
    let of = |key: &str| capture.and_then(|capture| capture.get(key));
    let text = |key| of(key).and_then(Value::as_str).unwrap_or_default();
    let words = of("command").and_then(Value::as_array);
    let words = words.into_iter().flatten().filter_map(Value::as_str);
    let seconds = of("started_unix_s").and_then(Value::as_u64).unwrap_or(0);
    let kernel = match text("kernel") {
        "" => String::new(),
        kernel => format!("kernel {kernel}"),
    };
    let place = [text("host"), text("file_system"), &kernel];
    let trace = outcome.config.get("trace").and_then(Value::as_str);
    Heading {
        application: shortened(&words.collect::<Vec<_>>().join(" ")),
        trace: trace.unwrap_or_default().to_owned(),
        recorded: if seconds > 0 {
            date(seconds)
        } else {
            String::new()
        },
        place: joined(&place),
    }
}

impl Heading {
    /// The heading in one line, for a terminal; empty where nothing is known.
    pub fn line(&self) -> String {
        let recorded = match self.recorded.as_str() {
            "" => String::new(),
            date => format!("recorded {date}"),
        };
        joined(&[&self.trace, &self.application, &recorded, &self.place])
    }
}

fn joined(parts: &[&str]) -> String {
    let parts: Vec<&str> = parts
        .iter()
        .copied()
        .filter(|part| !part.is_empty())
        .collect();
    parts.join(" · ")
}

fn shortened(command: &str) -> String {
    match command.char_indices().nth(MOST_COMMAND) {
        Some((cut, _)) => format!("{}…", command[..cut].trim_end()),
        None => command.to_owned(),
    }
}

/// A time as `2026-11-21 23:56 UTC`.
fn date(unix_s: u64) -> String {
    let (mut year, mut day) = (1970, unix_s / 86_400);
    let length = |year: u64| 365 + u64::from(is_leap(year));
    while day >= length(year) {
        day -= length(year);
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for days in months {
        if day < days {
            break;
        }
        day -= days;
        month += 1;
    }
    let minute = unix_s / 60 % 1440;
    format!(
        "{year}-{month:02}-{:02} {:02}:{:02} UTC",
        day + 1,
        minute / 60,
        minute % 60
    )
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_795_305_360), "2026-11-21 23:56 UTC");
        assert_eq!(date(4_107_542_399), "2100-02-28 23:59 UTC");
        assert_eq!(date(4_107_542_400), "2100-03-01 00:00 UTC");
    }

    #[test]
    fn a_long_command_is_cut_between_its_letters() {
        assert_eq!(shortened("ls -l"), "ls -l");
        assert!(shortened(&"é".repeat(200)).ends_with("é…"));
    }
}
