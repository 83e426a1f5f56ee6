//! The answers for the three kinds of drives, in words.

use super::{Known, percent, waf};
use crate::{
    outcome::SchemeResult,
    verdict::{Answer, DriveAnswer, DriveKind, OtherVictims},
};

impl Known<'_> {
    /// The answers for a drive that is sold, one with the scheme in its firmware, and the bound.
    pub(super) fn drive_answers(&self) -> Vec<DriveAnswer> {
        if self.before.is_none() {
            return Vec::new();
        }
        let kinds = [DriveKind::Sold, DriveKind::Firmware, DriveKind::Bound];
        let each = kinds
            .into_iter()
            .filter_map(|kind| Some(self.drive_answer(kind, self.chosen(kind)?)));
        each.collect()
    }

    fn drive_answer(&self, drive: DriveKind, scheme: &SchemeResult) -> DriveAnswer {
        let answer = self.answer_with(scheme);
        let life = self.life_with(scheme);
        let life = life.filter(|_| answer != Answer::NoAnswerYet);
        let before = self.before.map_or(1.0, waf);
        // A drive that copies nothing has nothing to spare.
        let spared = (before > 1.0).then(|| (before - waf(scheme)) / (before - 1.0));
        let spared = spared.filter(|_| life.is_some());
        let others = self.outcome.other_victims.as_ref();
        let others = others.filter(|_| drive == DriveKind::Sold && life.is_some());
        let life_other_victims = others.and_then(OtherVictims::life);
        let words = match life {
            None => format!(
                "no answer yet; so far a WAF of {:.2}, an ordinary drive's {before:.2}",
                waf(scheme)
            ),
            Some(life) => {
                let copies = match spared {
                    Some(spared) if spared >= 0.005 => {
                        format!("{} of the copies spared", percent(spared))
                    }
                    _ => "no copies spared".to_owned(),
                };
                format!(
                    "{life:.2} times as long as an ordinary drive, {copies}, with the scheme `{}`{}{}",
                    scheme.name,
                    self.ours_beside(drive, scheme),
                    self.band(life_other_victims)
                )
            }
        };
        DriveAnswer {
            drive,
            answer,
            scheme: scheme.name.clone(),
            waf: scheme.waf_window,
            life,
            spared,
            life_other_victims,
            title: self.title(drive, scheme),
            words,
        }
    }

    /// Our scheme's figure, where another is named because it is better.
    fn ours_beside(&self, drive: DriveKind, chosen: &SchemeResult) -> String {
        let ours = self.ours(drive).filter(|ours| ours.name != chosen.name);
        let life = ours.and_then(|ours| Some((ours, self.life_with(ours)?)));
        life.map_or_else(String::new, |(ours, life)| {
            format!(" (`{}` {life:.2} times)", ours.name)
        })
    }

    /// The other end of the band in which a drive on sale lies.
    fn band(&self, life: Option<f64>) -> String {
        let others = self.outcome.other_victims.as_ref().zip(life);
        others.map_or_else(String::new, |(others, life)| {
            format!(
                "; {life:.2} times with {} victims in place of {}",
                others.victim_rule, self.outcome.device.victim_rule
            )
        })
    }

    fn title(&self, drive: DriveKind, scheme: &SchemeResult) -> String {
        match drive {
            DriveKind::Bound => "The bound, were the future known".to_owned(),
            DriveKind::Firmware if scheme.name.starts_with("anabranch") => {
                "A drive with our scheme in its firmware".to_owned()
            }
            DriveKind::Firmware => "A drive with a scheme in its firmware".to_owned(),
            _ => format!(
                "A drive that is sold (FDP or streams, {} handles)",
                self.outcome.device.host_streams
            ),
        }
    }
}

/// The headline: the first answer in one sentence.
pub(super) fn headline(first: &DriveAnswer) -> String {
    let drive = match first.drive {
        DriveKind::Firmware => "with the scheme in the drive's firmware",
        _ => "on a drive that is sold",
    };
    let life = first.life.unwrap_or(1.0);
    let copies = match first.spared {
        Some(spared) if spared >= 0.005 => {
            format!(", and {} of the copies are spared", percent(spared))
        }
        _ => ", and no copies are spared".to_owned(),
    };
    let lead = if first.answer == Answer::WorthIt {
        "Worth it"
    } else {
        "Not worth it"
    };
    format!(
        "{lead}: {drive} the flash lasts {life:.2} times as long as on an ordinary drive{copies}."
    )
}
