//! Would streams pay here? A rule over the schemes' figures.

use anabranch_replay::{DriveKind, ORDINARY, WORTH};
use anabranch_report::ratio;
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
}

/// The best of the schemes for a kind of drive.
fn best(schemes: &[SchemeView], kind: DriveKind) -> Option<&SchemeView> {
    let waf = |scheme: &SchemeView| scheme.waf_window.unwrap_or(f64::INFINITY);
    let rivals = schemes.iter();
    let rivals = rivals.filter(|scheme| DriveKind::of_name(&scheme.name) == Some(kind));
    rivals.min_by(|one, other| waf(one).total_cmp(&waf(other)))
}

impl Answer {
    /// The answer after so many capacities of writes.
    pub fn of(schemes: &[SchemeView], capacities: f64) -> Answer {
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
                "too early to tell: {capacities:.2} capacities written, {CAPACITIES} are needed ({figures} so far)"
            ),
            AnswerKind::NotCompared => {
                format!(
                    "nothing to compare: name {ORDINARY}, an ordinary drive, and another scheme with --scheme"
                )
            }
        };
        Answer {
            kind,
            words,
            best: best.map(|best| best.name.clone()),
            life,
        }
    }
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

    fn scheme(name: &str, waf: f64, error: Option<f64>) -> SchemeView {
        SchemeView {
            name: name.into(),
            host_bytes: 1,
            copied_bytes: 0,
            waf: Some(waf),
            error,
            waf_window: Some(waf),
            window_error: error,
        }
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
            Answer::of(&schemes, capacities)
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
        let alone = Answer::of(&[scheme("baseline+gc", 1.5, None)], 3.0);
        assert_eq!((alone.kind, alone.life), (AnswerKind::NotCompared, None));
    }
}
