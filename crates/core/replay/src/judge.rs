//! The answer of a comparison, found in its figures. It is computed once; terminal, page and JSON show the same.

mod answers;
mod endurance;
mod lack;
mod next;
mod ways;

use crate::{
    outcome::{Comparison, SchemeResult},
    verdict::{Answer, DriveAnswer, DriveKind, ORDINARY, Verdict, WORTH},
};
use lack::Lack;

/// A scheme that goes by hints is not recommended where the kernel refused more than this share of
/// the bytes hinted (our choice).
const REFUSED: f64 = 0.01;
/// Another scheme is named in place of ours only where its WAF is lower by more than this share (our choice: less
/// is within what another run changes).
const BETTER: f64 = 0.01;

impl Verdict {
    /// The answer of a comparison.
    pub fn of(outcome: &Comparison) -> Verdict {
        let known = Known::of(outcome);
        let answer = known.answer();
        let drives = known.drive_answers();
        let first = drives.first().filter(|_| known.best.is_some());
        Verdict {
            answer,
            headline: known.headline(answer, first),
            about: outcome.device.scale(),
            other_ways: known.other_ways(),
            endurance: known.endurance_words(answer),
            stands: known.stands(answer),
            evidence: known.evidence(answer),
            warnings: known.refusal().into_iter().chain(known.loss()).collect(),
            takes: known.takes(answer),
            next: known.next(answer),
            before: known.before.map(|scheme| scheme.name.clone()),
            best: known.best.map(|scheme| scheme.name.clone()),
            waf_before: known.before.and_then(|scheme| scheme.waf_window),
            waf_with: known.best.and_then(|scheme| scheme.waf_window),
            life: first.and_then(|first| first.life),
            is_settled: known.judged().all(|scheme| scheme.steady) && known.judged().count() > 0,
            drives,
        }
    }
}

/// The results that the sentences are made from.
struct Known<'a> {
    outcome: &'a Comparison,
    /// The ordinary drive.
    before: Option<&'a SchemeResult>,
    /// The scheme of the headline: that of a drive that is sold, else of one with a scheme in its firmware.
    best: Option<&'a SchemeResult>,
    /// Whether the kernel refused the hints that schemes go by.
    are_refused: bool,
}

impl<'a> Known<'a> {
    fn of(outcome: &'a Comparison) -> Known<'a> {
        let source = &outcome.source;
        let refused_share = source.refused_hint_bytes as f64 / source.hinted_bytes.max(1) as f64;
        let mut known = Known {
            outcome,
            before: outcome.ordinary(),
            best: None,
            are_refused: refused_share > REFUSED,
        };
        let kinds = [DriveKind::Sold, DriveKind::Firmware];
        known.best = kinds.into_iter().find_map(|kind| known.chosen(kind));
        known
    }

    /// The schemes of a kind of drive that can be recommended.
    fn rivals(&self, kind: DriveKind) -> impl Iterator<Item = &'a SchemeResult> {
        let are_refused = self.are_refused;
        let schemes = self.outcome.schemes.iter();
        schemes.filter(move |one| one.kind() == kind && !(are_refused && one.goes_by_hints))
    }

    /// Our scheme on that kind of drive, or another that is better by more than [`BETTER`].
    fn chosen(&self, kind: DriveKind) -> Option<&'a SchemeResult> {
        let best = least(self.rivals(kind))?;
        let ours = self.ours(kind);
        let is_level = |ours: &&SchemeResult| waf(ours) <= waf(best) * (1.0 + BETTER);
        Some(ours.filter(is_level).unwrap_or(best))
    }

    fn ours(&self, kind: DriveKind) -> Option<&'a SchemeResult> {
        let is_ours = |one: &&SchemeResult| one.name.split(['+', ':']).next() == Some("anabranch");
        least(self.rivals(kind).filter(is_ours))
    }

    /// The two schemes that the headline compares.
    fn judged(&self) -> impl Iterator<Item = &'a SchemeResult> {
        [self.before, self.best].into_iter().flatten()
    }

    fn answer(&self) -> Answer {
        match (self.before, self.best) {
            _ if Lack::of_all(self.outcome).is_some() => Answer::NoAnswerYet,
            (Some(_), Some(best)) => self.answer_with(best),
            _ => Answer::NotCompared,
        }
    }

    /// The kind of answer for a scheme beside the ordinary drive.
    fn answer_with(&self, scheme: &SchemeResult) -> Answer {
        if self.lack(scheme).is_some() {
            return Answer::NoAnswerYet;
        }
        match self.life_with(scheme) {
            None => Answer::NotCompared,
            Some(life) if life >= WORTH => Answer::WorthIt,
            Some(_) => Answer::NotWorthIt,
        }
    }

    fn life_with(&self, scheme: &SchemeResult) -> Option<f64> {
        Some(self.before?.waf_window? / scheme.waf_window?)
    }

    /// The reason why a scheme beside the ordinary drive has no answer yet.
    fn lack(&self, scheme: &SchemeResult) -> Option<Lack> {
        Lack::of(self.outcome, &[self.before?, scheme])
    }

    fn headline(&self, answer: Answer, first: Option<&DriveAnswer>) -> String {
        if let Some(lack) = Lack::of_all(self.outcome) {
            return format!("No answer yet: {lack}.");
        }
        match (answer, self.before, self.best, first) {
            (Answer::NoAnswerYet, _, Some(best), _) => match self.lack(best) {
                Some(lack) => format!("No answer yet: {lack}."),
                None => "No answer yet.".to_owned(),
            },
            (_, Some(_), Some(_), Some(first)) => answers::headline(first),
            (_, None, Some(best), _) if self.outcome.schemes.len() == 1 => format!(
                "With {} each byte written costs {:.2} bytes of flash.",
                best.name,
                waf(best)
            ),
            (_, None, Some(best), _) => format!(
                "Not compared with an ordinary drive, `{ORDINARY}`; of these schemes {} does best: each byte \
                 written costs {:.2} bytes of flash.",
                best.name,
                waf(best)
            ),
            (_, Some(before), ..) => format!(
                "On an ordinary drive each byte written costs {:.2} bytes of flash; no scheme was compared \
                 with that.",
                waf(before)
            ),
            (_, None, None, _) => match least(self.outcome.schemes.iter()) {
                Some(one) => format!(
                    "With {} each byte written costs {:.2} bytes of flash.",
                    one.name,
                    waf(one)
                ),
                None => "No scheme was compared.".to_owned(),
            },
        }
    }

    fn evidence(&self, answer: Answer) -> String {
        let (Some(before), Some(best)) = (self.before, self.best) else {
            return String::new();
        };
        if answer == Answer::NoAnswerYet {
            return String::new();
        }
        let whole = |scheme: &SchemeResult| scheme.waf.unwrap_or(1.0);
        format!(
            "Write amplification over the last capacity of writes: {:.2} on the ordinary drive (`{}`), {:.2} with \
             `{}`; over the whole run, from the drive it began with: {:.2} and {:.2}.",
            waf(before),
            before.name,
            waf(best),
            best.name,
            whole(before),
            whole(best)
        )
    }

    /// The warning that a better scheme goes by hints which the kernel refused.
    fn refusal(&self) -> Option<String> {
        let all = self.outcome.schemes.iter();
        let hinted = all.filter(|one| one.goes_by_hints && one.kind() == DriveKind::Sold);
        let scheme = least(hinted).filter(|_| self.are_refused)?;
        if self.best.is_some_and(|best| waf(best) <= waf(scheme)) {
            return None;
        }
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
        let streams = streams.count();
        let hints = if best.goes_by_hints {
            ", and an application that sets write life-time hints"
        } else {
            ""
        };
        if best.kind() == DriveKind::Firmware {
            return format!(
                "What it takes: a drive with {streams} streams whose firmware runs the scheme `{}`{hints}; none is \
                 sold.",
                best.name
            );
        }
        let host = best.name.split('+').next().unwrap_or(&best.name);
        let way = if best.goes_by_hints {
            String::new()
        } else {
            format!(
                ", and `anabranch steer --scheme {}` in front of it",
                quoted(host)
            )
        };
        format!(
            "What it takes: a drive with FDP or streams, {streams} of its handles{hints}{way}; its garbage collection \
             stays as it is."
        )
    }
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
