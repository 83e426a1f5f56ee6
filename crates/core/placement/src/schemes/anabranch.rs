//! `anabranch`: ours. Lives are predicted as a processor predicts branches, and what no prediction
//! can say is rehearsed on miniature drives (`docs/anabranch-scheme.md`).

mod classes;
mod curve;
mod flows;
mod mind;
mod page;
mod predictor;
mod rehearsal;
mod room;
mod sample;
mod setting;
mod span;
mod tables;
mod trust;
mod unfinished;

use anabranch_ssd::{
    Config, Origin, PageRange, StreamId,
    relocate::{Destination, Relocate, RelocationKind, Survivor, Victim},
    victims::{ClosedUnits, VictimRule},
};

use crate::{
    assign::{Assign, Names, Write},
    by_page::place_each,
    geometry::HostGeometry,
    parameter::{named, one_of, parameters},
    scheme::{DeviceHalf, Host, HostScheme, Unfit},
};
use mind::Mind;
use page::Senses;
use rehearsal::Rehearsal;
use room::Room;
use sample::Sample;
pub use setting::{Copies, Victims};
use setting::{Guide, Setting};
use unfinished::Unfinished;

one_of! {
    /// Whether something is used.
    Switch {
        /// It is.
        On = "on",
        /// It is not.
        Off = "off",
    }
}

one_of! {
    /// What is tried out on miniature drives.
    Rehearse {
        /// Seven settings.
        On = "on",
        /// Ten, whose victims are sought among all units, with more ways for copies. Of a host half
        /// alone the same as `on`.
        Wide = "wide",
        /// Nothing.
        Off = "off",
    }
}

parameters! {
    /// Parameters of [`Anabranch`]. All defaults are our choice.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct Parameters {
        /// Whether settings are rehearsed. Off, those below hold throughout.
        rehearse: Word(Rehearse) = Rehearse::Wide,
            "settings tried out on miniature drives: wide ten, on seven, off none";
        /// Classes, at most one for each host stream.
        classes: Count(1..=8) = 6,
            "without rehearsal: classes, at most one a host stream";
        /// Where copies go.
        copies: Word(Copies) = Copies::Together,
            "without rehearsal: where copies go";
        /// Which closed unit is collected next.
        victims: Word(Victims) = Victims::Patient,
            "without rehearsal: which closed unit is collected next";
        /// Whether contexts, hints and files are gone by.
        contexts: Word(Switch) = Switch::On,
            "whether contexts, hints and files are gone by";
        /// Whether the lives before at an address are gone by.
        history: Word(Switch) = Switch::On,
            "whether the lives before at an address are gone by";
        /// Pages a unit of a miniature drive keeps at least.
        unit_pages as "unit-pages": Count(1..=65_536) = 32,
            "pages a unit of a miniature drive keeps at least";
        /// Pages a miniature drive keeps at least.
        least_pages as "least-pages": Count(1..=1 << 24) = 4096,
            "pages a miniature drive keeps at least";
        /// By how much the copies of the setting that leads, made and owed, must exceed another's for that to take over, in
        /// units.
        margin: Number(0.0..=1e6) = 2.0,
            "units of copies by which another setting must be better to take over";
        /// Seed of the sample.
        seed: Count(0..=u32::MAX) = 1,
            "seed of the sample";
    }
}

impl HostScheme for Parameters {
    named!("anabranch");

    fn build(&self, geometry: &HostGeometry) -> Result<Host, Unfit> {
        let drive = geometry.drive();
        Ok(Host::whole(Anabranch::new(self, &drive, DeviceHalf::Own)))
    }

    fn build_beside(&self, drive: &Config, relocation: RelocationKind) -> Result<Host, Unfit> {
        let beside = DeviceHalf::Relocation(relocation);
        Ok(Host::alone(Anabranch::new(self, drive, beside)))
    }

    fn victim_rule(&self) -> Option<VictimRule> {
        Some(VictimRule::Scheme)
    }
}

/// Classes are redrawn when this share of the capacity has been written for the first time, and
/// then whenever what was written has doubled, and `REDRAW_PARTS` times a capacity at least (our
/// choice).
const FIRST_REDRAW_PARTS: u64 = 1024;
const REDRAW_PARTS: u64 = 4;

/// Predicts how long each page will live, as a processor predicts branches, and how long a copied one
/// still will; classes of predicted lives, with the bounds between them where they part what is
/// written best, are the streams of both. How many classes pay, where copies go and which unit is
/// the best victim no prediction says: that is rehearsed on miniature drives. Beside a drive that
/// relocates by itself it is the host half alone, and rehearses on miniatures that relocate so.
///
/// Memory: 8 bytes a page of the drive, 2 MiB of curves, and the miniature drives: each 8 bytes for
/// every page sampled.
#[derive(Debug)]
pub struct Anabranch {
    mind: Mind,
    rehearsal: Option<Rehearsal>,
    setting: Setting,
    room: Room,
    beside: DeviceHalf,
    capacity: u64,
    unfinished: Unfinished,
    started_at: Option<u64>,
    redraw_at: u64,
}

impl Anabranch {
    /// For a drive whose copies and victims `beside` decides.
    pub fn new(parameters: &Parameters, drive: &Config, beside: DeviceHalf) -> Anabranch {
        let geometry = &HostGeometry::of(drive);
        let senses = Senses {
            contexts: parameters.contexts == Switch::On,
            history: parameters.history == Switch::On,
        };
        let sample = Sample::new(
            geometry,
            parameters.unit_pages,
            parameters.least_pages,
            parameters.seed,
        );
        let rehearsal = match parameters.rehearse {
            Rehearse::Off => None,
            on => {
                let (margin, wide) = (parameters.margin, on == Rehearse::Wide);
                Rehearsal::new(drive, beside, sample, margin, senses.contexts, wide)
            }
        };
        let room = Room::new(geometry);
        let fixed = Setting {
            guide: Guide::Lives,
            classes: room.classes(parameters.classes),
            copies: parameters.copies,
            victims: parameters.victims,
        };
        Anabranch {
            mind: Mind::new(geometry, senses),
            setting: rehearsal.as_ref().map_or(fixed, Rehearsal::leader),
            rehearsal,
            room,
            beside,
            capacity: u64::from(geometry.logical_pages).max(1),
            unfinished: Unfinished::new(room.count(), geometry.pages_per_unit),
            started_at: None,
            redraw_at: 0,
        }
    }

    #[inline]
    fn place(&mut self, page: u32, now_pages: u64, write: &Write) -> StreamId {
        if now_pages >= self.redraw_at {
            self.redraw_classes(now_pages);
        }
        let outlook = self.mind.write(page, write, now_pages);
        if let Some(rehearsal) = &mut self.rehearsal
            && rehearsal.write(&self.mind, page, outlook)
        {
            self.setting = rehearsal.leader();
            self.unfinished.change();
        }
        let stream = self.setting.host_stream(&self.mind, outlook, &self.room);
        let stream = self.unfinished.place(stream, self.room.host_streams);
        if self.beside != DeviceHalf::Own {
            // A drive that relocates by itself does not tell what it appends where.
            self.unfinished.appended(stream, 1, Origin::Host);
        }
        stream
    }

    #[cold]
    fn redraw_classes(&mut self, now_pages: u64) {
        let started_at = *self.started_at.get_or_insert(now_pages);
        self.mind.classes.redraw();
        let written = now_pages - started_at;
        let least = self.capacity / FIRST_REDRAW_PARTS;
        let most = self.capacity / REDRAW_PARTS;
        self.redraw_at = now_pages + written.clamp(least, most.max(least)).max(1);
    }
}

impl Assign for Anabranch {
    fn assign(&mut self, write: &Write) -> StreamId {
        place_each(write, |page, now_pages| self.place(page, now_pages, write))
    }

    fn touch(&self, pages: &[u32]) {
        self.mind.predictor.touch_written(pages);
    }

    fn discard(&mut self, pages: PageRange, now_pages: u64) {
        self.mind.discard(pages, now_pages);
        if let Some(rehearsal) = &mut self.rehearsal {
            rehearsal.discard(pages);
        }
    }

    fn written_elsewhere(&mut self, pages: PageRange, now_pages: u64) {
        self.mind.discard(pages, now_pages);
        if let Some(rehearsal) = &mut self.rehearsal {
            rehearsal.written_elsewhere(&self.mind, pages);
        }
    }

    fn learn(&mut self, names: &Names) {
        self.mind.learn(names);
    }

    fn goes_by_page(&self) -> bool {
        true
    }

    fn memory_bytes(&self) -> usize {
        self.mind.memory_bytes()
            + self.unfinished.memory_bytes()
            + self.rehearsal.as_ref().map_or(0, Rehearsal::memory_bytes)
    }
}

impl Relocate for Anabranch {
    fn destination(&mut self, _victim: &Victim) -> Destination {
        Destination::Each
    }

    fn touch_survivors(&self, pages: &[u32]) {
        self.mind.predictor.touch(pages);
    }

    fn survivor(&mut self, victim: &Victim, survivor: Survivor) -> StreamId {
        match self.mind.predictor.remaining(survivor.page) {
            Some(life) => {
                self.mind.classes.count(life);
                let stream = self
                    .setting
                    .copy_stream(&self.mind, life, victim.stream, &self.room);
                self.unfinished.place(stream, self.room.count())
            }
            None => self.setting.heir(victim.stream, &self.room),
        }
    }

    fn opened(&mut self, stream: StreamId) {
        self.unfinished.gone(stream);
    }

    fn appended(&mut self, stream: StreamId, pages: u32, origin: Origin) {
        self.unfinished.appended(stream, pages, origin);
    }

    fn abandoned(&mut self, stream: StreamId) {
        self.unfinished.gone(stream);
    }

    fn choose_victim(&mut self, closed: &mut ClosedUnits, now: u64) -> Option<u32> {
        self.setting.choose_victim(closed, now, &self.room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_page::tests::DRIVE;

    fn anabranch() -> Anabranch {
        let parameters = Parameters {
            rehearse: Rehearse::Off,
            ..Parameters::default()
        };
        Anabranch::new(&parameters, &DRIVE.drive(), DeviceHalf::Own)
    }

    #[test]
    fn classes_are_redrawn_as_often_on_a_drive_that_was_written_before() {
        let redrawn_after = |start: u64| {
            let mut anabranch = anabranch();
            [0, 1, 7, 100, 1 << 30].map(|written| {
                anabranch.redraw_classes(start + written);
                anabranch.redraw_at - start
            })
        };
        assert_eq!(redrawn_after(0), redrawn_after(1 << 40));
    }

    #[test]
    fn a_unit_that_is_another_or_was_taken_is_not_left_open() {
        let gone: [fn(&mut Anabranch, StreamId); 2] = [Relocate::opened, Relocate::abandoned];
        for gone in gone {
            let mut anabranch = anabranch();
            anabranch.appended(StreamId(1), 5, Origin::Host);
            gone(&mut anabranch, StreamId(1));
            anabranch.unfinished.change();
            let placed = anabranch.unfinished.place(StreamId(0), 2);
            assert_eq!(placed, StreamId(0));
        }
    }
}
