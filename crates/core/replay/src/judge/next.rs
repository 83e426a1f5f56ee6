//! The command to try next. Each leads to a fuller drive or away from here, so that they never go in circles:
//! the drive asked for, then one that the trace fills, then one that its live data fill.

use anabranch_trace::Capture;

use super::{
    Known,
    lack::{FULL, is_packed, peak_bytes},
    quoted,
};
use crate::{
    outcome::Comparison,
    verdict::{Answer, Verdict},
};

/// The share that a drive is to be filled by (our choice: full enough that garbage is collected).
const FILL: &str = "90%";
/// A drive that is filled has at least so many erase units (our choice: twice the fewest of a drive that the trace
/// decides, and a power of two).
const UNITS: u64 = 128;
/// The smallest erase unit (our choice: 16 pages).
const LEAST_UNIT_BYTES: u64 = 64 << 10;

impl Known<'_> {
    pub(super) fn next(&self, answer: Answer) -> String {
        let config = &self.outcome.config;
        let Some(trace) = config.get("trace").and_then(|name| name.as_str()) else {
            return String::new();
        };
        let trace = quoted(trace);
        match (answer, self.best) {
            (Answer::NoAnswerYet, _) => self.fuller(&trace),
            (Answer::WorthIt, _) if self.is_foreign() => {
                "Next, as this trace does not tell which calls wrote: see what your own program would gain: anabranch \
                 run -- PROGRAM"
                    .to_owned()
            }
            (Answer::WorthIt, Some(best)) => format!(
                "Next, what to do about it: anabranch export {trace}{} --scheme {} --to rules,fdp,fio -o advice",
                self.drive_options(),
                quoted(&best.name)
            ),
            (Answer::NotCompared, _) => format!(
                "Next, an ordinary drive and others beside it: anabranch replay {trace}{}",
                self.drive_options()
            ),
            _ => String::new(),
        }
    }

    /// The same writes on a fuller drive, if there is one.
    fn fuller(&self, trace: &str) -> String {
        if self.outcome.source.host_page_bytes == 0 {
            return "Next, a program that writes: anabranch run -- PROGRAM".to_owned();
        }
        let Some(options) = self.fuller_drive() else {
            return "Next, record for longer: no smaller drive holds these data.".to_owned();
        };
        let why = if options.iter().any(|word| word == "--pack") {
            "Next, a drive that its live data fill"
        } else {
            "Next, the same writes on a drive they fill"
        };
        let words = options.iter().map(|word| format!(" {}", quoted(word)));
        format!(
            "{why}: anabranch replay {trace}{}",
            words.collect::<String>()
        )
    }

    /// The options of `replay` for a fuller drive; `None` where there is none.
    fn fuller_drive(&self) -> Option<Vec<String>> {
        let config = &self.outcome.config;
        // A worn drive holds what it holds, and no drive is fuller than one that is packed.
        if config.contains_key("drive_file") || is_packed(self.outcome) {
            return None;
        }
        let fill = config.get("fill").and_then(|fill| fill.as_f64());
        let is_filled = fill.is_some_and(|fill| fill >= FULL);
        let unit = self.smaller_unit()?;
        let but: &[&str] = if unit.is_some() {
            &["--size", "--fill", "--unit"]
        } else {
            &["--size", "--fill"]
        };
        let mut options = self.drive_words(but);
        if let Some(unit) = unit {
            options.extend(["--unit".to_owned(), unit]);
        }
        options.extend(["--fill", FILL].map(str::to_owned));
        options.extend(is_filled.then(|| "--pack".to_owned()));
        let is_kept = config.contains_key("no_discards");
        options.extend(is_kept.then(|| "--no-discards".to_owned()));
        if let Some(late) = config.get("discards").and_then(|late| late.as_str()) {
            options.extend(["--discards", late].map(str::to_owned));
        }
        Some(options)
    }

    /// Erase units small enough for a drive that these data fill: `Some(None)` where the drive's own are, `None` where
    /// the data are too few for any.
    fn smaller_unit(&self) -> Option<Option<String>> {
        let bytes = peak_bytes(self.outcome);
        let device = &self.drive_words(&[]);
        let is_given = |option: &str| device.iter().any(|word| word == option);
        // A profile by name is scaled to the data, with as many units as it has.
        let is_scaled = is_given("--device") && !is_given("--unit");
        if is_scaled && bytes / UNITS >= LEAST_UNIT_BYTES {
            return Some(None);
        }
        if bytes >= self.outcome.device.unit_bytes.saturating_mul(UNITS / 2) {
            return Some(None);
        }
        let unit = (bytes / UNITS)
            .checked_ilog2()
            .map_or(0, |log| 1_u64 << log);
        (unit >= LEAST_UNIT_BYTES).then(|| Some(format!("{}KiB", unit >> 10)))
    }

    /// Whether the trace was imported, so that its writers are at most names of processes.
    fn is_foreign(&self) -> bool {
        match self.outcome.config.get("capture") {
            Some(capture) => {
                let capture = serde_json::from_value::<Capture>(capture.clone());
                capture.is_ok_and(|capture| capture.is_imported())
            }
            // One without tables; who runs a program live knows its calls.
            None => self
                .outcome
                .config
                .get("verb")
                .is_some_and(|verb| verb == "replay"),
        }
    }

    /// The options that made the drive, for a command that is to use the same drive.
    fn drive_options(&self) -> String {
        let words = self.drive_words(&[]).into_iter();
        words.map(|word| format!(" {}", quoted(&word))).collect()
    }

    /// The options that made the drive, without those in `but`.
    fn drive_words(&self, but: &[&str]) -> Vec<String> {
        let words = self.outcome.config.get("drive_options");
        let words = words
            .and_then(|words| words.as_array())
            .into_iter()
            .flatten();
        let words: Vec<&str> = words.filter_map(|word| word.as_str()).collect();
        let pairs = words.chunks(2).filter(|pair| !but.contains(&pair[0]));
        pairs.flatten().map(|word| (*word).to_owned()).collect()
    }
}

impl Comparison {
    /// The options of `replay` for a drive that these requests fill, where this one gives no answer yet; `None` where it
    /// does, or no drive is fuller.
    pub fn fuller_drive(&self) -> Option<Vec<String>> {
        let known = Known::of(self);
        let has_writes = self.source.host_page_bytes > 0;
        let is_open = has_writes && known.answer() == Answer::NoAnswerYet;
        is_open.then(|| known.fuller_drive()).flatten()
    }

    /// Has the same requests on a drive that they fill answer in place of this one, whose own words are kept beside it.
    pub fn answer_with(&mut self, mut filled: Comparison) {
        let own = Verdict::of(self).headline;
        let own = own.strip_prefix("No answer yet: ").unwrap_or(&own);
        let pack = if is_packed(&filled) { " --pack" } else { "" };
        if let Some(verdict) = &mut filled.verdict {
            let scale = &filled.device.scale();
            let scale = if scale.is_empty() {
                String::new()
            } else {
                format!(" {scale}")
            };
            verdict.about = format!(
                "This is the same recording replayed on a drive that it fills (--fill {FILL}{pack}). On its own drive \
                 there is no answer yet: {own}{scale}"
            );
        }
        self.verdict.clone_from(&filled.verdict);
        self.filled = Some(Box::new(filled));
    }
}
