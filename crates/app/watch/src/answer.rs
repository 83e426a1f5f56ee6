//! Would streams pay here? A rule over the schemes' figures.

use anabranch_replay::{DriveKind, Endurance, ORDINARY, Stands, WORTH};
use anabranch_report::{ratio, span, standing_words};
use serde::Serialize;

use crate::scheme_view::SchemeView;

/// Capacities that must be written before garbage collection tells of the load and not of the beginning (our
/// choice: the first fills shadow drives that began empty, and the answer is by the next).
const CAPACITIES: f64 = 2.0;

/// Kind of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerKind {
    /// A scheme makes the flash last longer, by more than the errors of both.
    WorthIt,
    /// None does.
    NotWorthIt,
    /// It looks so, and the errors are too wide to say.
    Unclear,
    /// Less than two capacities were written.
    TooEarly,
    /// There is nothing to compare.
    NotCompared,
}

impl AnswerKind {
    /// Whether enough was written to compare the drives.
    fn is_judged(self) -> bool {
        matches!(
            self,
            AnswerKind::WorthIt | AnswerKind::NotWorthIt | AnswerKind::Unclear
        )
    }
}

/// The answer, with the figures it rests on: those of the last capacity of writes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// Kind of the answer.
    pub kind: AnswerKind,
    /// One sentence.
    pub words: String,
    /// The best scheme.
    pub best: Option<String>,
    /// Life of the flash with it, as a multiple.
    pub life: Option<f64>,
    /// Seconds until it is early no more, at the rate so far; null where there is an answer, or no rate.
    pub known_in_seconds: Option<f64>,
    /// Endurance of the ordinary drive and of the best, where there is an answer and a limit is known.
    pub stands: Vec<Stands>,
}

/// The load that was watched.
#[derive(Debug, Clone, Copy)]
pub struct Load<'a> {
    /// Capacities written.
    pub capacities: f64,
    /// Seconds in which they were.
    pub seconds: f64,
    /// The drive's endurance at this load, where it is known.
    pub endurance: Option<&'a Endurance>,
}

impl Load<'_> {
    /// The seconds until enough is written, at the rate so far.
    fn known_in_seconds(&self) -> Option<f64> {
        let rate = self.capacities / self.seconds;
        (rate > 0.0 && rate.is_finite()).then(|| (CAPACITIES - self.capacities).max(0.0) / rate)
    }
}

fn best(schemes: &[SchemeView], kind: DriveKind) -> Option<&SchemeView> {
    let waf = |scheme: &SchemeView| scheme.waf_window.unwrap_or(f64::INFINITY);
    let rivals = schemes.iter();
    let rivals = rivals.filter(|scheme| DriveKind::of_name(&scheme.name) == Some(kind));
    rivals.min_by(|one, other| waf(one).total_cmp(&waf(other)))
}

impl Answer {
    /// The answer for this load.
    pub fn of(schemes: &[SchemeView], load: Load<'_>) -> Answer {
        let capacities = load.capacities;
        let before = schemes.iter().find(|scheme| scheme.name == ORDINARY);
        let best = best(schemes, DriveKind::Sold).or_else(|| best(schemes, DriveKind::Firmware));
        let waf = |scheme: Option<&SchemeView>| scheme.and_then(|scheme| scheme.waf_window);
        let life = waf(before)
            .zip(waf(best))
            .map(|(before, best)| before / best);
        let kind = match (before.zip(best), life) {
            (None, _) => AnswerKind::NotCompared,
            (_, None) => AnswerKind::TooEarly,
            _ if capacities < CAPACITIES => AnswerKind::TooEarly,
            (Some((before, best)), Some(life)) => judged(before, best, life),
        };
        let name = best.map_or("", |best| best.name.as_str());
        let figures = format!(
            "WAF {} on an ordinary drive, {} with {name}",
            describe(before),
            describe(best)
        );
        let known_in = load
            .known_in_seconds()
            .filter(|_| kind == AnswerKind::TooEarly);
        let stands = match (load.endurance, before, best) {
            (Some(endurance), Some(before), Some(best)) if kind.is_judged() => {
                standing(endurance, before, best)
            }
            _ => Vec::new(),
        };
        let words = match kind {
            AnswerKind::WorthIt => format!(
                "streams pay: the flash lasts {:.2} times as long as on an ordinary drive ({figures})",
                life.unwrap_or(1.0)
            ),
            AnswerKind::NotWorthIt => format!("streams do not pay: {figures}"),
            AnswerKind::Unclear => {
                format!(
                    "streams may pay, within the error: {figures}; more samples or a finer rate tell"
                )
            }
            AnswerKind::TooEarly => format!(
                "too early to tell: {capacities:.2} capacities written, {CAPACITIES} are needed{} ({figures} so far)",
                known_in.map_or_else(String::new, |seconds| format!(
                    ", in about {} at this rate",
                    span(seconds)
                ))
            ),
            AnswerKind::NotCompared => {
                format!(
                    "nothing to compare: name {ORDINARY}, an ordinary drive, and another scheme with --scheme"
                )
            }
        };
        let standing = load
            .endurance
            .map(|endurance| standing_words(&stands, endurance));
        Answer {
            kind,
            words: words + &standing.unwrap_or_default(),
            best: best.map(|best| best.name.clone()),
            life,
            known_in_seconds: known_in,
            stands,
        }
    }
}

/// The endurance of the ordinary drive, and of the best.
fn standing(endurance: &Endurance, before: &SchemeView, best: &SchemeView) -> Vec<Stands> {
    let Some(ordinary) = before.waf_window else {
        return Vec::new();
    };
    let all = [before, best].into_iter();
    all.filter_map(|one| Some(endurance.with(&one.name, one.waf_window?, ordinary)))
        .collect()
}

fn judged(before: &SchemeView, best: &SchemeView, life: f64) -> AnswerKind {
    let errors = before.window_error.unwrap_or(0.0) + best.window_error.unwrap_or(0.0);
    let gain = before.waf_window.unwrap_or(1.0) - best.waf_window.unwrap_or(1.0);
    if life < WORTH {
        AnswerKind::NotWorthIt
    } else if gain > errors {
        AnswerKind::WorthIt
    } else {
        AnswerKind::Unclear
    }
}

/// A scheme's WAF with its error, in a word.
fn describe(scheme: Option<&SchemeView>) -> String {
    let waf = ratio(scheme.and_then(|scheme| scheme.waf_window));
    match scheme.and_then(|scheme| scheme.window_error) {
        Some(error) => format!("{waf} ± {error:.3}"),
        None => waf,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_replay::Limit;

    fn scheme(name: &str, waf: f64, error: Option<f64>) -> SchemeView {
        SchemeView {
            name: name.into(),
            host_page_bytes: 1,
            copied_bytes: 0,
            waf: Some(waf),
            error,
            waf_window: Some(waf),
            window_error: error,
        }
    }

    /// A capacity an hour.
    fn load(capacities: f64) -> Load<'static> {
        Load {
            capacities,
            seconds: capacities * 3600.0,
            endurance: None,
        }
    }

    #[test]
    fn who_is_early_is_told_when_there_is_an_answer() {
        let schemes = [
            scheme("baseline+gc", 1.5, None),
            scheme("pcstream+fdp", 1.2, None),
        ];
        let early = Answer::of(&schemes, load(0.5));
        assert_eq!(early.known_in_seconds, Some(5400.0));
        assert!(
            early.words.contains("in about 90 minutes at this rate"),
            "{}",
            early.words
        );
        let unknown = Load {
            seconds: 0.0,
            ..load(0.5)
        };
        let unknown = Answer::of(&schemes, unknown);
        assert_eq!(unknown.known_in_seconds, None);
        assert!(!unknown.words.contains("at this rate"), "{}", unknown.words);
        let later = Answer::of(&schemes, load(3.0));
        assert_eq!((later.known_in_seconds, later.stands.len()), (None, 0));
    }

    #[test]
    fn years_are_told_of_a_drive_whose_endurance_is_known() {
        let schemes = [
            scheme("baseline+gc", 1.5, None),
            scheme("pcstream+fdp", 1.0, None),
        ];
        let endurance = Endurance {
            limit: Limit::Host { bytes: 3652.5e12 },
            logical_bytes: Some(1_000_000_000_000),
            writes_per_day: Some(1e12),
            measured_seconds: Some(60.0),
            page_rounding: 1.0,
            years: None,
            price: None,
        };
        let with = |capacities| Load {
            endurance: Some(&endurance),
            ..load(capacities)
        };
        let found = Answer::of(&schemes, with(3.0));
        assert!(
            found.words.ends_with(
                "a day it lasts 10.0 years with baseline+gc, 15.0 years with pcstream+fdp"
            ),
            "{}",
            found.words
        );
        assert_eq!(found.stands[1].years, Some(15.0));
        assert!(Answer::of(&schemes, with(0.5)).stands.is_empty());
    }

    #[test]
    fn streams_pay_where_they_save_more_than_the_errors_hide() {
        let answer = |with: f64, error: f64, capacities| {
            let schemes = [
                scheme("baseline", 9.0, Some(error)),
                scheme("baseline+gc", 1.5, Some(error)),
                scheme("pcstream+fdp", with, Some(error)),
                scheme("autostream-sfr", 1.6, Some(error)),
                scheme("anabranch", 1.0, Some(error)),
            ];
            Answer::of(&schemes, load(capacities))
        };
        let pays = answer(1.2, 0.01, 3.0);
        assert_eq!(
            (pays.kind, pays.best.as_deref()),
            (AnswerKind::WorthIt, Some("pcstream+fdp"))
        );
        assert!(pays.words.contains("1.25 times"), "{}", pays.words);
        assert_eq!(answer(1.2, 0.2, 3.0).kind, AnswerKind::Unclear);
        assert_eq!(answer(1.49, 0.0, 3.0).kind, AnswerKind::NotWorthIt);
        assert_eq!(answer(1.2, 0.01, 0.5).kind, AnswerKind::TooEarly);
        let alone = Answer::of(&[scheme("baseline+gc", 1.5, None)], load(3.0));
        assert_eq!((alone.kind, alone.life), (AnswerKind::NotCompared, None));
    }
}
