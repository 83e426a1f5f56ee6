//! The answer of a comparison, found in its figures. It is computed once; terminal, page and JSON show the same.

use anabranch_trace::Capture;

use crate::{
    outcome::{Comparison, SchemeResult},
    verdict::{Answer, Verdict, WORTH},
};

/// A scheme that goes by hints is not recommended where the kernel refused more than this share of
/// the bytes hinted (our choice).
const REFUSED: f64 = 0.01;
/// Capacities of writes needed to judge a steady state.
const CAPACITIES_TO_JUDGE: f64 = 2.5;
/// A drive that held less than this share of data has room that works like spare flash (our choice).
const FULL: f64 = 0.85;

impl Verdict {
    /// The answer of a comparison.
    pub fn of(outcome: &Comparison) -> Verdict {
        let known = Known::of(outcome);
        let answer = known.answer();
        Verdict {
            answer,
            headline: known.headline(answer),
            evidence: known.evidence(answer),
            warnings: known.warnings(answer),
            takes: known.takes(answer),
            next: known.next(answer),
            before: known.before.map(|scheme| scheme.name.clone()),
            best: known.best.map(|scheme| scheme.name.clone()),
            waf_before: known.before.and_then(|scheme| scheme.waf_window),
            waf_with: known.best.and_then(|scheme| scheme.waf_window),
            life: known.life(),
            is_settled: known.unsettled().is_none() && known.before.or(known.best).is_some(),
        }
    }
}

/// The results that the sentences are made from.
struct Known<'a> {
    outcome: &'a Comparison,
    before: Option<&'a SchemeResult>,
    best: Option<&'a SchemeResult>,
    /// The best scheme among those that go by hints the kernel refused, if it is better than `best`.
    refused: Option<&'a SchemeResult>,
}

impl<'a> Known<'a> {
    fn of(outcome: &'a Comparison) -> Known<'a> {
        let source = &outcome.source;
        let refused_share = source.refused_hint_bytes as f64 / source.hinted_bytes.max(1) as f64;
        let are_refused = refused_share > REFUSED;
        let all = || outcome.schemes.iter();
        let before = all().find(|scheme| scheme.name == BASELINE);
        let before = before.or_else(|| all().find(|scheme| is_without_streams(scheme)));
        let rivals = || all().filter(|one| !is_without_streams(one) && !one.is_bound);
        let is_refused = |scheme: &&SchemeResult| are_refused && scheme.goes_by_hints;
        let best = least(rivals().filter(|scheme| !is_refused(scheme)));
        let refused = least(rivals().filter(is_refused));
        let beats = |one: &SchemeResult| best.is_none_or(|best| waf(one) < waf(best));
        Known {
            outcome,
            before,
            best,
            refused: refused.filter(|scheme| beats(scheme)),
        }
    }

    fn life(&self) -> Option<f64> {
        Some(self.before?.waf_window? / self.best?.waf_window?)
    }

    fn answer(&self) -> Answer {
        let judged = [self.before, self.best];
        let mut judged = judged.into_iter().flatten().peekable();
        let is_none = judged.peek().is_none();
        if !is_none && judged.all(|scheme| scheme.erased_units == 0) {
            return Answer::TooLittleWritten;
        }
        match self.life() {
            None => Answer::NotCompared,
            Some(life) if life >= WORTH => Answer::WorthIt,
            Some(_) => Answer::NotWorthIt,
        }
    }

    /// The reason why the figures of the two schemes have not settled; `None` if they have.
    fn unsettled(&self) -> Option<String> {
        let judged = [self.before, self.best].into_iter().flatten();
        let mut unsteady = judged.filter(|scheme| !scheme.steady);
        unsteady
            .next()
            .map(|scheme| format!("{}: {}", scheme.name, scheme.steady_reason))
    }

    fn headline(&self, answer: Answer) -> String {
        let life = self.life().unwrap_or(1.0);
        let (before, best) = (self.before.map(waf), self.best.map(waf));
        let name = self.best.map_or("", |best| best.name.as_str());
        let so_far = match self.unsettled() {
            None => "",
            Some(_) => " so far",
        };
        match (answer, before, best) {
            (Answer::TooLittleWritten, ..) => {
                "No answer yet: the drive never filled, so nothing had to be copied.".to_owned()
            }
            (Answer::WorthIt, Some(before), Some(best)) => {
                let spared = (before - best) / (before - 1.0).max(1e-9);
                let unsettled = if so_far.is_empty() {
                    ""
                } else {
                    ", but not settled"
                };
                format!(
                    "Worth it{so_far}{unsettled}: with {name} the flash lasts {life:.2} times as long, and {} of the copies are spared.",
                    percent(spared)
                )
            }
            (Answer::NotWorthIt, Some(before), Some(best)) if best < before => format!(
                "Not worth it{so_far}: without streams each byte written costs {before:.2} bytes of flash, and with \
                 {name}, the best, {best:.2}."
            ),
            (Answer::NotWorthIt, Some(before), Some(_)) => format!(
                "Not worth it{so_far}: no scheme compared does better than none at all, at {before:.2} bytes of flash \
                 for each byte written."
            ),
            (_, None, Some(best)) if self.outcome.schemes.len() == 1 => {
                format!("With {name} each byte written costs {best:.2} bytes of flash.")
            }
            (_, None, Some(best)) => format!(
                "The best of these schemes is {name}: each byte written costs {best:.2} bytes of flash."
            ),
            (_, Some(before), _) => format!(
                "Without streams each byte written costs {before:.2} bytes of flash; no scheme was compared \
                 with that."
            ),
            (_, None, None) => "No scheme was compared.".to_owned(),
        }
    }

    fn evidence(&self, answer: Answer) -> String {
        let (Some(before), Some(best)) = (self.before, self.best) else {
            return String::new();
        };
        if answer == Answer::TooLittleWritten {
            return String::new();
        }
        let whole = |scheme: &SchemeResult| scheme.waf.unwrap_or(1.0);
        format!(
            "Write amplification over the last capacity of writes: {:.2} with {}, {:.2} with {}; over the \
             whole run, from the drive it began with: {:.2} and {:.2}.",
            waf(before),
            before.name,
            waf(best),
            best.name,
            whole(before),
            whole(best)
        )
    }

    fn warnings(&self, answer: Answer) -> Vec<String> {
        let unsettled = self.unsettled().map(|why| format!("Not settled: {why}."));
        let unsettled = unsettled.filter(|_| answer != Answer::TooLittleWritten);
        unsettled
            .into_iter()
            .chain(self.refusal())
            .chain(self.loss())
            .collect()
    }

    fn refusal(&self) -> Option<String> {
        let scheme = self.refused?;
        let source = &self.outcome.source;
        Some(format!(
            "{} would come to {:.2}, but not as things are: it goes by the life-time hints the application asked \
             for, and the kernel refused {} of them by bytes. The application must first ask in a form that \
             the kernel grants.",
            scheme.name,
            waf(scheme),
            percent(source.refused_hint_bytes as f64 / source.hinted_bytes.max(1) as f64)
        ))
    }

    fn loss(&self) -> Option<String> {
        let lost = self.outcome.source.lost_events;
        (lost > 0)
            .then(|| {
                format!(
                    "{lost} kernel events were lost: host bytes are at least what is shown; copies and WAF may be too \
                     low (for lost writes) or too high (for lost discards)."
                )
            })
    }

    fn takes(&self, answer: Answer) -> String {
        let Some(best) = self.best.filter(|_| answer == Answer::WorthIt) else {
            return String::new();
        };
        let streams = best.streams.iter().filter(|stream| !stream.internal);
        let mut words = format!(
            "What it takes: a drive that offers {} streams, or as many FDP placement handles",
            streams.count()
        );
        if best.goes_by_hints {
            words += ", and an application that sets write life-time hints";
        }
        words += match best.drive_half.as_deref() {
            None => ".",
            Some("mixed") => "; its garbage collection stays as it is.",
            Some(_) => ", and one whose garbage collection keeps copies apart as the scheme says",
        };
        if best
            .drive_half
            .as_deref()
            .is_none_or(|half| half == "mixed")
        {
            return words;
        }
        let mut others = self.outcome.schemes.iter();
        let host_only = least(others.by_ref().filter(|one| {
            let is_host_only = one.drive_half.as_deref() == Some("mixed");
            is_host_only && !one.is_bound && !is_without_streams(one) && !one.goes_by_hints
        }));
        let before = self.before.map_or(1.0, waf);
        let host_only = host_only.filter(|other| before / waf(other) >= WORTH);
        match host_only {
            Some(other) => format!(
                "{words}. The best that needs streams alone is {}, at {:.2}.",
                other.name,
                waf(other)
            ),
            None => words + ".",
        }
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

    /// The options that made the drive, without those in `but`, for a command that is to use the same drive.
    fn drive_options(&self, but: &[&str]) -> String {
        let words = self.outcome.config.get("drive_options");
        let words = words
            .and_then(|words| words.as_array())
            .into_iter()
            .flatten();
        let words: Vec<&str> = words.filter_map(|word| word.as_str()).collect();
        let pairs = words.chunks(2).filter(|pair| !but.contains(&pair[0]));
        pairs
            .flatten()
            .map(|word| format!(" {}", quoted(word)))
            .collect()
    }

    fn next(&self, answer: Answer) -> String {
        let Some(trace) = self
            .outcome
            .config
            .get("trace")
            .and_then(|name| name.as_str())
        else {
            return String::new();
        };
        let trace = quoted(trace);
        let fuller = |why: &str| {
            if self.outcome.config.contains_key("fill") {
                String::new()
            } else {
                format!(
                    "{why}: anabranch replay {trace}{} --fill 90%",
                    self.drive_options(&["--size"])
                )
            }
        };
        let drive = self.outcome.device.logical_bytes.max(1) as f64;
        let mapped = self.before.map_or(0, |scheme| scheme.mapped_bytes) as f64 / drive;
        let is_young = self.outcome.source.capacities_written < CAPACITIES_TO_JUDGE;
        match (answer, self.best) {
            (Answer::TooLittleWritten, _) => fuller("Next, the same writes on a drive they fill"),
            (Answer::WorthIt, _) if self.is_foreign() => {
                "Next, as this trace does not tell which calls wrote: see what your own program would gain: anabranch \
                 run -- PROGRAM"
                    .to_owned()
            }
            (Answer::WorthIt, Some(best)) => format!(
                "Next, what to do about it: anabranch export {trace}{} --scheme {} --to rules,fdp,fio -o advice",
                self.drive_options(&[]),
                quoted(&best.name)
            ),
            (Answer::NotWorthIt, _) if is_young => {
                fuller("Next, a smaller drive, overwritten more often")
            }
            (Answer::NotWorthIt, _) if mapped < FULL => fuller(&format!(
                "This drive was {} full at the end; next, a fuller one",
                percent(mapped)
            )),
            (Answer::NotCompared, _) => format!(
                "Next, other schemes beside it: anabranch replay {trace}{}",
                self.drive_options(&[])
            ),
            _ => String::new(),
        }
    }
}

const BASELINE: &str = "baseline";

/// Whether a scheme's host half is that of a drive without streams.
fn is_without_streams(scheme: &SchemeResult) -> bool {
    scheme.name.split(['+', ':']).next() == Some(BASELINE)
}

/// The scheme with the fewest bytes written to flash; of equals, the first.
fn least<'a>(schemes: impl Iterator<Item = &'a SchemeResult>) -> Option<&'a SchemeResult> {
    schemes
        .filter(|scheme| scheme.waf_window.is_some())
        .min_by(|one, other| waf(one).total_cmp(&waf(other)))
}

fn waf(scheme: &SchemeResult) -> f64 {
    scheme.waf_window.unwrap_or(1.0)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// A word quoted so that a shell reads it as one.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./+:=,@%".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests;
