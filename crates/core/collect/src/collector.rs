//! A host that collects: its model of the drive, and the survivors that it reads and writes anew.
//!
//! ```text
//! few units are free in the model:   begin to empty one                      empty_or_begin
//! it is time:                        read its next survivors                 next_survivors, then `ended`
//! survivors were read:               move those that live there yet          rewrite_next, then `each_step`
//! no page lives there any more:      the unit is free                        empty_or_begin
//! ```

use std::io::{Read, Write};

use anabranch_ssd::{
    Config, ConfigError, Device, DeviceError, Keeps, Origin, PageRange, StreamId,
    relocate::Relocate, state::StateError,
};

use crate::{
    model::handles_of,
    rewriter::Rewriter,
    tap::{ModelStep, Steps, Tap},
};

/// The share of the model's spare units that it keeps free for what the host writes in one go: one in so many, and one at
/// least (our choice: `lab/notebook/drives.md` has what fewer and more cost).
const AHEAD: u32 = 8;

/// A step that the model took, to be repeated on the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// Pages that the host writes, in order.
    Write {
        /// The drive's handle.
        handle: StreamId,
        /// Their numbers.
        pages: &'a [u32],
    },
    /// Survivors that the host writes anew, in order.
    Rewrite {
        /// The drive's handle.
        handle: StreamId,
        /// Their numbers.
        pages: &'a [u32],
        /// The name of the rewrite, for [`Collector::ended`]; 0 where rewrites take no time.
        tag: u64,
    },
    /// The unit of a handle ended, full or not.
    End {
        /// The drive's handle.
        handle: StreamId,
    },
}

/// A host that collects.
#[derive(Debug)]
pub struct Collector {
    device: Device,
    steps: Steps,
    /// The handle of each stream of the model.
    handles: Vec<StreamId>,
    rewriter: Rewriter,
    /// Units that the model keeps free.
    ahead: u32,
}

impl Collector {
    /// A host that collects on an empty `drive` by a model of it, which keeps so much of its mapping; `relocation` is that of
    /// the scheme.
    ///
    /// # Errors
    /// When the model cannot be: see [`Config`].
    pub fn new(
        model: Config,
        drive: &Config,
        keeps: Keeps,
        relocation: &mut dyn Relocate,
    ) -> Result<Collector, ConfigError> {
        let mut steps = Steps::new(model.streams(), model.pages_per_unit);
        let handles = handles_of(&model);
        let tap = Tap {
            relocation,
            steps: &mut steps,
        };
        let device = Device::that_keeps(keeps, model, &tap)?;
        Ok(Collector {
            device,
            steps,
            handles,
            rewriter: Rewriter::default(),
            ahead: ahead(drive),
        })
    }

    /// Reads a model that was saved of a drive; nothing where it is one of another configuration. Its open units are ended, as
    /// the drive's are when its handles are updated.
    ///
    /// # Errors
    /// When it is damaged, or the scheme does not know its state.
    pub fn load(
        from: &mut dyn Read,
        model: &Config,
        drive: &Config,
        keeps: Keeps,
        relocation: &mut dyn Relocate,
    ) -> Result<Option<Collector>, StateError> {
        let mut steps = Steps::new(model.streams(), model.pages_per_unit);
        let mut tap = Tap {
            relocation,
            steps: &mut steps,
        };
        let device = Device::load_that_keeps(keeps, from, &mut tap)?;
        if device.config() != model {
            return Ok(None);
        }
        steps.clear();
        let mut collector = Collector {
            device,
            steps,
            handles: handles_of(model),
            rewriter: Rewriter::default(),
            ahead: ahead(drive),
        };
        for handle in collector.handles.clone() {
            collector.end_unit(handle);
        }
        Ok(Some(collector))
    }

    /// Writes the model. Units that are being emptied are given back to its lists: nothing may be under way.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn save(
        &mut self,
        relocation: &mut dyn Relocate,
        to: &mut dyn Write,
    ) -> Result<(), StateError> {
        let mut tap = Tap {
            relocation,
            steps: &mut self.steps,
        };
        for unit in std::mem::take(&mut self.rewriter).into_units() {
            self.device.end_emptying(&mut tap, unit);
        }
        self.device.save(&tap, to)
    }

    /// Model of the drive, from which victims and survivors are taken.
    pub fn model(&self) -> &Device {
        &self.device
    }

    /// Bytes of memory that the model's mapping holds.
    pub fn memory_bytes(&self) -> u64 {
        self.device.memory_bytes()
    }

    /// Has the model do something, which is taken down.
    fn advance<T>(
        &mut self,
        relocation: &mut dyn Relocate,
        act: impl FnOnce(&mut Device, &mut Tap<'_>, &mut Rewriter) -> T,
    ) -> T {
        let mut tap = Tap {
            relocation,
            steps: &mut self.steps,
        };
        act(&mut self.device, &mut tap, &mut self.rewriter)
    }

    /// Writes pages in a row to a stream of the model.
    ///
    /// # Errors
    /// The model's, as a drive's.
    pub fn write(
        &mut self,
        relocation: &mut dyn Relocate,
        pages: PageRange,
        stream: StreamId,
    ) -> Result<(), DeviceError> {
        self.advance(relocation, |model, tap, _| model.write(tap, pages, stream))
    }

    /// Writes pages anywhere, in order, to a stream of the model.
    ///
    /// # Errors
    /// The model's, as a drive's.
    pub fn write_scattered(
        &mut self,
        relocation: &mut dyn Relocate,
        pages: &[u32],
        stream: StreamId,
    ) -> Result<(), DeviceError> {
        self.advance(relocation, |model, tap, _| {
            model.write_scattered(tap, pages, stream)
        })
    }

    /// Discards pages.
    ///
    /// # Errors
    /// The model's, as a drive's.
    pub fn discard(&mut self, pages: PageRange) -> Result<(), DeviceError> {
        self.device.discard(pages)
    }

    /// Ends the unit of a handle though it is not full, as the drive has.
    pub fn end_unit(&mut self, handle: StreamId) {
        if let Some(stream) = self.handles.iter().position(|one| *one == handle) {
            let stream = StreamId(stream as u16);
            self.device.end_unit(stream);
            self.steps.forget_unit(stream);
        }
    }

    /// Pages until the unit of a handle ends; of a handle that the model has not, none.
    pub fn room(&self, handle: StreamId) -> u32 {
        let stream = self.handles.iter().position(|one| *one == handle);
        stream.map_or(0, |stream| self.device.unit_room(StreamId(stream as u16)))
    }

    /// Whether a write of so many pages to a stream of the model has no room until a unit is emptied.
    pub fn has_no_room(&self, stream: StreamId, pages: u32) -> bool {
        self.device.must_collect(stream, pages)
    }

    /// Whether units are being emptied.
    pub fn is_emptying(&self) -> bool {
        self.rewriter.units().next().is_some()
    }

    /// Gives credit to read survivors for what the host has written, so many pages in all.
    pub fn wrote(&mut self, host_pages: u64) {
        let units = self.rewriter.units();
        let survivors = units.map(|unit| self.device.living_pages(unit)).sum();
        let ahead = self.device.units_ahead().max(1);
        let haste = f64::from(self.ahead) / f64::from(ahead);
        self.rewriter.wrote(host_pages, survivors, haste);
    }

    /// Heeds the ends of reads and rewrites, by their tags.
    pub fn ended(&mut self, tags: &[u64]) {
        self.rewriter.ended(tags);
    }

    /// Moves the next survivors that were read: those that live in their unit yet, and that `may` move. The others stay, and
    /// their unit is emptied another time. Answers whether there were any.
    pub fn rewrite_next(
        &mut self,
        relocation: &mut dyn Relocate,
        may: impl FnMut(&u32) -> bool,
    ) -> bool {
        self.advance(relocation, |model, tap, rewriter| {
            let Some((unit, mut pages)) = rewriter.next_read(model.free_pages()) else {
                return false;
            };
            pages.retain(may);
            model.copy_survivors(tap, unit, &pages);
            true
        })
    }

    /// Ends with a unit that is empty, or begins with another where few are free. Answers whether it did either.
    pub fn empty_or_begin(&mut self, relocation: &mut dyn Relocate) -> bool {
        let ahead = self.ahead;
        self.advance(relocation, |model, tap, rewriter| {
            if let Some(emptied) = rewriter.take_emptied() {
                model.end_emptying(tap, emptied);
                return true;
            }
            // Those that are being emptied are as good as free.
            let wanted = ahead.checked_sub(rewriter.units().count() as u32);
            let (None, Some(wanted)) = (rewriter.unit_to_read(), wanted) else {
                return false;
            };
            let Some(unit) = model.begin_emptying(tap, wanted) else {
                return false;
            };
            rewriter.begin(unit, unit.gain(model.config().pages_per_unit));
            true
        })
    }

    /// The survivors to be read next, at most 64, and the name of the read; nothing where it is not time, and no pages where
    /// the unit has none left or they are [sought](Collector::is_seeking) yet. Urgent: at once, and not as far as there is
    /// credit.
    pub fn next_survivors(&mut self, is_urgent: bool) -> Option<(u64, Vec<u32>)> {
        let may_read = self.rewriter.may_read(is_urgent);
        let unit = self.rewriter.unit_to_read().filter(|_| may_read)?;
        let pages = self.device.next_survivors(unit);
        let tag = if pages.is_empty() {
            0
        } else {
            self.rewriter.reads(pages.clone())
        };
        Some((tag, pages))
    }

    /// Whether it is time to read survivors of a unit that were not named yet.
    pub fn is_seeking(&mut self, is_urgent: bool) -> bool {
        self.rewriter.may_read(is_urgent) && self.rewriter.unit_to_read().is_some()
    }

    /// Hands out each step that the model took since the last call, in order. `takes_time`: rewrites are under way until
    /// they are told to have ended.
    ///
    /// # Errors
    /// The first of `act`; the other steps are forgotten then.
    pub fn each_step<E>(
        &mut self,
        takes_time: bool,
        mut act: impl FnMut(Step<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rest = &self.steps.pages[..];
        let mut outcome = Ok(());
        for &step in &self.steps.steps {
            let step = match step {
                ModelStep::Program(stream, count, origin) => {
                    let (pages, later) = rest.split_at(count as usize);
                    rest = later;
                    let handle = self.handles[stream.index()];
                    match origin {
                        Origin::Host => Step::Write { handle, pages },
                        Origin::Copy => Step::Rewrite {
                            handle,
                            pages,
                            tag: if takes_time {
                                self.rewriter.writes()
                            } else {
                                0
                            },
                        },
                    }
                }
                ModelStep::End(stream) => Step::End {
                    handle: self.handles[stream.index()],
                },
            };
            outcome = act(step);
            if outcome.is_err() {
                break;
            }
        }
        self.steps.clear();
        outcome
    }
}

/// Units that a host keeps free on a model of a drive.
fn ahead(drive: &Config) -> u32 {
    let spare = drive.spare_units();
    (spare / drive.reclaim_groups.max(1) / AHEAD).max(1)
}

#[cfg(test)]
mod tests {
    use anabranch_ssd::relocate::RelocationKind;

    use super::*;

    #[test]
    fn a_model_that_was_saved_goes_on_and_has_lost_no_page() {
        [Keeps::Places, Keeps::Units]
            .into_iter()
            .for_each(is_saved_whole);
    }

    fn is_saved_whole(keeps: Keeps) {
        let config = Config {
            host_streams: 3,
            internal_streams: 1,
            ..Config::new(256, 8, 44)
        };
        let mut relocation = RelocationKind::Gc.build(&config);
        let mut collector =
            Collector::new(config.clone(), &config, keeps, &mut *relocation).unwrap();
        let page_of = |step: u32| (step.wrapping_mul(2_654_435_761) >> 7) % 250;
        let mut write = |collector: &mut Collector, step: u32| {
            let page = page_of(step);
            let stream = StreamId((page % 3) as u16);
            let written = collector.write(&mut *relocation, PageRange::new(page, 1), stream);
            written.unwrap();
            while collector.empty_or_begin(&mut *relocation) {}
            // A read that does not come to its end.
            let _ = collector.next_survivors(true);
        };
        (0..700).for_each(|step| write(&mut collector, step));
        assert!(collector.is_emptying());
        let mut bytes = Vec::new();
        collector.save(&mut *relocation, &mut bytes).unwrap();
        let other = Config {
            physical_units: 45,
            ..config.clone()
        };
        let mut anew = RelocationKind::Gc.build(&config);
        let mut read = |config: &Config| {
            Collector::load(&mut &bytes[..], config, config, keeps, &mut *anew).unwrap()
        };
        assert!(read(&other).is_none());
        let mut loaded = read(&config).unwrap();
        loaded.model().verify().unwrap();
        let mapped = collector.model().mapped_pages();
        assert_eq!(loaded.model().mapped_pages(), mapped);
        for handle in 0..4 {
            assert_eq!(loaded.room(StreamId(handle)), 8, "its units are ended");
        }
        for step in 700..1400 {
            let written = PageRange::new(page_of(step), 1);
            loaded.write(&mut *anew, written, StreamId(0)).unwrap();
        }
        loaded.model().verify().unwrap();
        assert!(Collector::load(&mut &bytes[..40], &config, &config, keeps, &mut *anew).is_err());
    }
}
