//! A setting: the choices that lifetimes alone do not decide.
//!
//! ```text
//! new page:  class of its predicted life, stream of a file-name rule (or class where none matches), or stream of its file
//! copy:      among new data by the life that remains; one stream of copies; or one stream
//!            further each time it survives
//! victim:    the emptiest unit, or the highest (dead / valid) x age or its root
//!            of each stream, oldest first: stop once no younger unit can score higher
//! ```

use anabranch_ssd::{
    StreamId,
    victims::{ClosedUnit, ClosedUnits},
};

use super::{
    predictor::{Prediction, Predictor},
    span::Eighths,
    stream_budget::StreamBudget,
};

/// The streams of copies. A page whose write the scheme did not see has no prediction and goes to [`Setting::heir`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Copies {
    /// By what remains of their lives, among new data of the same class.
    Together,
    /// All to one internal stream.
    One,
    /// One internal stream further each time a page survives: by how often, not by what is
    /// predicted.
    Chain,
}

/// Rule that chooses the next closed unit to collect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Victims {
    /// The one with the fewest valid pages: best where age says nothing.
    Emptiest,
    /// The one with the most dead pages for its valid ones, times its age: best where what is young soon dies.
    CostBenefit,
    /// The same with the root of the age, which waits less.
    CostBenefitRoot,
}

/// Internal streams of a chain of copies (MiDAS' simulator spreads the last of its groups over as many).
const CHAIN: u16 = 4;

/// Units of a stream that are looked at for a victim, the oldest first; beyond these its emptiest alone (our choice:
/// more than a stream has on any drive of the published tables, and few beside the pages that a unit has).
const MOST_LOOKED_AT: usize = 2048;

/// The property that separates new data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guide {
    /// Predicted lives.
    Lives,
    /// Rules over files' names, those of `manual`.
    Rules,
    /// The same; predicted lives where no rule matches.
    RulesAndLives,
    /// Files, each with a stream of its own while it is written, as `flashalloc` has it.
    Objects,
}

/// One way to use the predictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Setting {
    pub guide: Guide,
    pub classes: u8,
    pub copies: Copies,
    pub victims: Victims,
}

/// Classes of the usual setting, as far as the drive has spare units for them (our choice: fewer and more were both worse on
/// the recordings tuned with).
pub(super) const CLASSES: u32 = 6;

impl Setting {
    /// Classes of predicted lives, among which copies go too.
    pub fn classes(budget: &StreamBudget) -> Setting {
        Setting {
            guide: Guide::Lives,
            classes: budget.classes(CLASSES),
            copies: Copies::Together,
            victims: Victims::CostBenefitRoot,
        }
    }

    /// Streams it writes to.
    pub fn streams(&self) -> u32 {
        let classes = u32::from(self.classes);
        match self.copies {
            Copies::Together => classes,
            Copies::One => classes + 1,
            Copies::Chain => classes + u32::from(CHAIN),
        }
    }

    /// The class of a predicted life, among those there are streams for.
    fn class(&self, predictor: &Predictor, life: Eighths, budget: &StreamBudget) -> u16 {
        let classes = u16::from(self.classes).min(budget.host_streams);
        predictor.classes.class_of(life, usize::from(classes))
    }

    /// The stream of a page the host writes.
    #[inline]
    pub fn host_stream(
        &self,
        predictor: &Predictor,
        prediction: Prediction,
        budget: &StreamBudget,
    ) -> StreamId {
        match self.guide {
            Guide::Lives => StreamId(self.class(predictor, prediction.life, budget)),
            Guide::Rules => predictor.ruled(prediction.write),
            Guide::RulesAndLives => match predictor.ruled(prediction.write) {
                // why: rules take streams from the first on, so the other classes take them from the last on.
                StreamId::DEFAULT => match self.class(predictor, prediction.life, budget) {
                    0 => StreamId::DEFAULT,
                    class => StreamId(budget.host_streams - class),
                },
                ruled => ruled,
            },
            Guide::Objects => prediction.object,
        }
    }

    /// The stream of a page copied out of another, by what is predicted to remain of its life. On a drive
    /// without internal streams copies go among new data.
    #[inline]
    pub fn copy_stream(
        &self,
        predictor: &Predictor,
        life: Eighths,
        from: StreamId,
        budget: &StreamBudget,
    ) -> StreamId {
        self.whole_copy_stream(from, budget)
            .unwrap_or_else(|| StreamId(self.class(predictor, life, budget)))
    }

    /// The stream of every page copied out of another, where its life says nothing about it.
    #[inline]
    pub fn whole_copy_stream(&self, from: StreamId, budget: &StreamBudget) -> Option<StreamId> {
        let last = budget.internal_streams.checked_sub(1)?;
        let index = match self.copies {
            // why: each copy is placed by its own life, which no caller may skip.
            Copies::Together => return None,
            Copies::One => 0,
            Copies::Chain => {
                let survived = from.0.checked_sub(budget.host_streams);
                survived.map_or(0, |times| times + 1).min(CHAIN - 1)
            }
        };
        Some(StreamId(budget.host_streams + index.min(last)))
    }

    /// The stream that takes, under this setting, what another stream took under any. A page without a prediction goes
    /// there when it is copied: data from before the scheme, which have survived an unknown number of times, do not enter a
    /// chain of copies nor the one stream of copies, and stay among the host's streams.
    pub fn heir(&self, stream: StreamId, budget: &StreamBudget) -> StreamId {
        let last_class = u16::from(self.classes)
            .min(budget.host_streams)
            .saturating_sub(1);
        let Some(class) = stream.0.checked_sub(budget.host_streams) else {
            // why: data from before the scheme survived an unknown number of times; it stays out of the chain.
            return StreamId(stream.0.min(last_class));
        };
        let class = class.min(last_class);
        match self.copies {
            Copies::Together => StreamId(class),
            Copies::One => StreamId(budget.host_streams),
            Copies::Chain => {
                let times = stream.0 - budget.host_streams;
                StreamId(budget.host_streams + times.min(CHAIN - 1))
            }
        }
    }

    /// The closed unit to collect next; `None` for the emptiest of all.
    pub fn choose_victim(
        &self,
        closed: &mut ClosedUnits,
        now: u64,
        budget: &StreamBudget,
    ) -> Option<u32> {
        let mut best: Option<(f64, u32)> = None;
        let mut offer = |score: f64, unit: &ClosedUnit| {
            if score > best.map_or(0.0, |(highest, _)| highest) {
                best = Some((score, unit.unit));
            }
            best.map_or(0.0, |(highest, _)| highest)
        };
        let worth: fn(f64) -> f64 = match self.victims {
            // why: the device keeps the emptiest unit itself; nothing is searched.
            Victims::Emptiest => return None,
            Victims::CostBenefit => |age| age,
            Victims::CostBenefitRoot => f64::sqrt,
        };
        for stream in budget.streams() {
            let Some(emptiest) = closed.fewest_valid_of(stream) else {
                continue;
            };
            let most_gain = gain(&emptiest, budget.pages_per_unit);
            // why: a stream opens its units one after the other, so the rest are younger and cannot score higher. Units
            // that wear levelling swapped break the order: an older one may be passed over.
            for unit in closed
                .of_stream(stream)
                .take(MOST_LOOKED_AT)
                .chain([emptiest])
            {
                let worth = worth(age(&unit, now));
                let highest = offer(worth * gain(&unit, budget.pages_per_unit), &unit);
                if worth * most_gain <= highest {
                    break;
                }
            }
        }
        best.map(|(_, unit)| unit)
    }
}

/// Dead pages over valid ones. A unit without a valid page is as good as one with a hundredth of one.
pub(super) fn gain(unit: &ClosedUnit, pages_per_unit: u32) -> f64 {
    let dead = pages_per_unit.saturating_sub(unit.valid_pages);
    f64::from(dead) / f64::from(unit.valid_pages).max(0.01)
}

/// The time since a unit's middle was written. Times [`gain`] it is what cost-benefit weighs (the
/// log-structured file system, SOSP'91, §3.5), without its factor; its root is what `SepBIT`'s and `MiDAS`'
/// simulators have in its place.
pub(super) fn age(unit: &ClosedUnit, now: u64) -> f64 {
    let written_at = unit.opened_at / 2 + unit.closed_at / 2;
    (now.saturating_sub(written_at) + 1) as f64
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use anabranch_trace::FileId;

    use super::super::{page::Features, stream_budget::tests::budget};
    use super::*;
    use crate::{
        assign::{Names, Write},
        by_page::tests::{DRIVE, write},
    };

    /// A file that rules give stream 1.
    const LOG: FileId = FileId(1);

    const SETTING: Setting = Setting {
        guide: Guide::Lives,
        classes: 3,
        copies: Copies::Together,
        victims: Victims::CostBenefit,
    };

    fn predictor() -> Predictor {
        let features = Features {
            contexts: true,
            history: true,
        };
        let mut predictor = Predictor::new(&DRIVE, features);
        for _ in 0..100 {
            for life in [20.0, 60.0, 100.0] {
                predictor.classes.count(life);
            }
        }
        predictor.classes.redraw();
        predictor.learn(&Names {
            files: vec![(LOG, "log.aof".to_owned())],
            ..Names::default()
        });
        predictor
    }

    fn streams(setting: Setting, budget: &StreamBudget) -> [[u16; 3]; 2] {
        let predictor = predictor();
        let lives = [20.0, 60.0, 100.0];
        let write = &Write {
            file: LOG,
            ..write(0, 1, 0)
        };
        let prediction = |life| Prediction {
            life,
            write,
            object: StreamId(2),
        };
        [
            lives.map(|life| setting.host_stream(&predictor, prediction(life), budget).0),
            lives.map(|life| setting.copy_stream(&predictor, life, StreamId(0), budget).0),
        ]
    }

    #[test]
    fn copies_go_where_the_setting_says() {
        let budget = budget(8, 4);
        let of = |copies| streams(Setting { copies, ..SETTING }, &budget);
        assert_eq!(of(Copies::Together), [[0, 1, 2], [0, 1, 2]]);
        assert_eq!(of(Copies::One), [[0, 1, 2], [8, 8, 8]]);
        assert_eq!(of(Copies::Chain), [[0, 1, 2], [8, 8, 8]]);
    }

    #[test]
    fn in_a_chain_a_copy_goes_one_stream_on_until_the_last() {
        let chain = Setting {
            copies: Copies::Chain,
            ..SETTING
        };
        let (predictor, all) = (predictor(), budget(8, 8));
        let next = |from: u16, budget: &StreamBudget| {
            chain
                .copy_stream(&predictor, 60.0, StreamId(from), budget)
                .0
        };
        assert_eq!(
            [0, 7, 8, 9, 10, 11, 15].map(|from| next(from, &all)),
            [8, 8, 9, 10, 11, 11, 11]
        );
        assert_eq!([0, 8, 9].map(|from| next(from, &budget(8, 2))), [8, 9, 9]);
    }

    #[test]
    fn rules_place_what_is_written_and_not_what_is_copied() {
        let ruled = Setting {
            guide: Guide::Rules,
            copies: Copies::One,
            ..SETTING
        };
        assert_eq!(streams(ruled, &budget(8, 4)), [[1, 1, 1], [8, 8, 8]]);
    }

    #[test]
    fn what_no_rule_matches_goes_by_its_life_to_the_last_streams() {
        let both = Setting {
            guide: Guide::RulesAndLives,
            ..SETTING
        };
        let (predictor, budget) = (predictor(), budget(8, 0));
        let stream = |file, life| {
            let write = &Write {
                file,
                ..write(0, 1, 0)
            };
            let object = StreamId::DEFAULT;
            let prediction = Prediction {
                life,
                write,
                object,
            };
            both.host_stream(&predictor, prediction, &budget).0
        };
        let lives = [20.0, 60.0, 100.0];
        assert_eq!(lives.map(|life| stream(LOG, life)), [1; 3]);
        assert_eq!(lives.map(|life| stream(FileId(2), life)), [0, 7, 6]);
    }

    #[test]
    fn a_file_has_its_stream_while_it_is_written_and_its_copies_have_another() {
        let objects = Setting {
            guide: Guide::Objects,
            copies: Copies::One,
            ..SETTING
        };
        assert_eq!(streams(objects, &budget(8, 4)), [[2; 3], [8; 3]]);
        let mut predictor = predictor();
        let mut object = |file, at| {
            let write = &Write {
                file: FileId(file),
                ..write(at, 1, 0)
            };
            predictor.write(at, write, at.into()).object
        };
        let found = [(5, 0), (6, 1), (5, 2), (0, 3), (6, 4)].map(|(file, at)| object(file, at));
        assert_eq!(found.map(|stream| stream.0), [1, 2, 1, 0, 2]);
    }

    #[test]
    fn on_a_drive_of_few_streams_the_last_takes_the_rest() {
        let one = Setting {
            copies: Copies::One,
            ..SETTING
        };
        let [host, copies] = streams(one, &budget(2, 1));
        assert_eq!((host[0], host[2], copies), (0, 1, [2; 3]));
        assert_eq!(streams(one, &budget(3, 0)), [[0, 1, 2], [0, 1, 2]]);
    }

    #[test]
    fn a_setting_writes_to_as_many_streams_as_it_says() {
        let budget = budget(8, 8);
        let predictor = predictor();
        for copies in [Copies::Together, Copies::One, Copies::Chain] {
            let setting = Setting { copies, ..SETTING };
            let copied = budget.streams().flat_map(|from| {
                [20.0, 60.0, 100.0]
                    .map(|life| setting.copy_stream(&predictor, life, from, &budget).0)
            });
            let written = streams(setting, &budget)[0];
            let used: HashSet<u16> = copied.chain(written).collect();
            assert_eq!(used.len(), setting.streams() as usize, "{copies:?}");
        }
    }

    #[test]
    fn an_heir_is_a_stream_the_setting_uses() {
        let budget = budget(8, 4);
        for copies in [Copies::Together, Copies::One, Copies::Chain] {
            let setting = Setting { copies, ..SETTING };
            let mut used = streams(setting, &budget).concat();
            if copies == Copies::Chain {
                used.extend(budget.host_streams..budget.host_streams + CHAIN);
            }
            for stream in budget.streams() {
                let heir = setting.heir(stream, &budget);
                assert!(used.contains(&heir.0), "{copies:?} {stream:?} {heir:?}");
                assert_eq!(setting.heir(heir, &budget), heir);
                let is_copy = |stream: StreamId| stream.0 >= budget.host_streams;
                assert!(is_copy(stream) || !is_copy(heir), "{copies:?} {stream:?}");
            }
        }
    }

    #[test]
    fn the_emptier_and_the_older_unit_is_the_better_victim() {
        let unit = |valid_pages, closed_at| ClosedUnit {
            unit: 0,
            valid_pages,
            opened_at: closed_at - 10,
            closed_at,
        };
        let score = |valid, at| {
            let unit = unit(valid, at);
            age(&unit, 1000) * gain(&unit, 100)
        };
        assert!(score(50, 500) > score(60, 500));
        assert!(score(50, 100) > score(50, 500));
        assert!(score(0, 990) > score(20, 100));
        assert_eq!(score(100, 100), 0.0);
    }
}
