//! Rehearsing: miniature drives that try out settings on a sample of the writes.

use anabranch_ssd::{
    ClosedUnits, Config, Destination, Device, PageRange, Relocate, StreamId, Survivor, Victim,
    VictimRule,
};

use super::{
    mind::Mind,
    sample::Sample,
    setting::{Copies, Room, Setting, Victims},
};
use crate::scheme::HostGeometry;

/// Judgements in each capacity written (our choice).
const JUDGEMENTS: u32 = 16;

/// Classes to begin with, as far as the drive has room for them (our choice: fewer and more were
/// both worse on the recordings tuned with).
const CLASSES: u32 = 6;

/// The settings rehearsed on a drive, the one to begin with first: as many classes as pay mostly,
/// more and fewer; copies among new data or by themselves; both kinds of victims; and the last as if
/// nothing were known. Of 30 combinations on the recordings tuned with, the best of these was within
/// 1.5 % of the best.
fn settings(room: &Room) -> Vec<Setting> {
    use Copies::{Apart, One, Together};
    use Victims::{Emptiest, Patient};
    let usual = room.classes(CLASSES);
    let more = room.classes(u32::from(usual) + 2);
    let all = [
        (usual, Together, Patient),
        (usual, Together, Emptiest),
        (more, Together, Patient),
        (usual, Apart, Patient),
        (1, One, Emptiest),
    ];
    let mut settings: Vec<Setting> = Vec::with_capacity(all.len());
    for (classes, copies, victims) in all {
        let setting = Setting {
            classes,
            copies,
            victims,
        };
        if !settings.contains(&setting) {
            settings.push(setting);
        }
    }
    settings
}

/// Decides on a miniature drive, by a setting of its own and what was learned on the drive itself.
#[derive(Debug)]
struct Understudy<'a> {
    setting: Setting,
    room: Room,
    sample: Sample,
    mind: &'a Mind,
}

impl Relocate for Understudy<'_> {
    fn destination(&mut self, _victim: &Victim) -> Destination {
        Destination::Each
    }

    fn survivor(&mut self, victim: &Victim, survivor: Survivor) -> StreamId {
        let page = self.sample.page(survivor.page);
        match self.mind.predictor.remaining(page) {
            Some(life) => self.setting.copy_stream(self.mind, life, &self.room),
            None => victim.stream,
        }
    }

    fn choose_victim(&mut self, closed: &mut ClosedUnits, now: u64) -> Option<u32> {
        self.setting.choose_victim(closed, now, &self.room)
    }
}

/// A miniature drive and how it does.
#[derive(Debug)]
struct Stage {
    drive: Device,
    setting: Setting,
    /// Pages it would have saved the drive had it led, since it last did worse.
    saved_pages: f64,
    /// Pages it had copied when that was last worked out.
    counted_pages: u64,
}

impl Stage {
    /// Pages copied since this was last asked.
    fn newly_copied(&mut self) -> u64 {
        let counted = self.drive.counters().copied_pages;
        counted - std::mem::replace(&mut self.counted_pages, counted)
    }

    fn memory_bytes(&self) -> usize {
        let config = self.drive.config();
        let units = config.physical_units as usize;
        let streams = usize::from(config.streams());
        let rings = streams * (config.pages_per_unit as usize + 2);
        // Both maps; of a unit its counters and its places in the rings; the rings' heads.
        config.logical_pages as usize * 4
            + units * (config.pages_per_unit as usize * 4 + 96)
            + rings * 8
            + size_of::<Stage>()
    }
}

/// Miniature drives of as much spare as the drive has, but with a sample of its pages. They see the sampled writes, predicted as the drive's are, each under a setting of
/// its own; the one that copies least is followed.
#[derive(Debug)]
pub(super) struct Rehearsal {
    stages: Vec<Stage>,
    sample: Sample,
    room: Room,
    /// Sampled pages written since the last judgement, and how many there are from one to the
    /// next.
    pending_pages: u32,
    judge_pages: u32,
    /// What a setting must have saved to take over.
    margin_pages: f64,
    leader: Setting,
}

impl Rehearsal {
    /// Drives for a drive. A setting takes over once it would have saved `margin` times what all
    /// streams' open units hold. `None` for a drive of which no miniature can be made.
    pub fn new(geometry: &HostGeometry, sample: Sample, margin: f64) -> Option<Rehearsal> {
        let unit_pages = sample.unit_pages(geometry.pages_per_unit);
        let room = Room::new(geometry).shrunk(unit_pages);
        let settings = settings(&room);
        // An understudy wants to hear of neither ages nor places; no more does nobody.
        let stage = |&setting: &Setting| {
            Some(Stage {
                drive: Device::new(miniature(geometry, sample, &setting), &()).ok()?,
                setting,
                saved_pages: 0.0,
                counted_pages: 0,
            })
        };
        Some(Rehearsal {
            stages: settings.iter().map(stage).collect::<Option<Vec<Stage>>>()?,
            leader: *settings.first()?,
            room,
            sample,
            pending_pages: 0,
            judge_pages: (sample.pages() / JUDGEMENTS).max(1),
            margin_pages: margin * f64::from(unit_pages) * f64::from(room.count()),
        })
    }

    /// The setting that does best.
    pub fn leader(&self) -> Setting {
        self.leader
    }

    /// A page of a predicted life is written. Answers whether another setting leads now.
    #[inline]
    pub fn write(&mut self, mind: &Mind, page: u32, life: f32) -> bool {
        match self.sample.number(page) {
            Some(number) => self.perform(mind, number, life),
            None => false,
        }
    }

    fn perform(&mut self, mind: &Mind, number: u32, life: f32) -> bool {
        let page = PageRange::new(number, 1);
        for stage in &mut self.stages {
            let mut understudy = Understudy {
                setting: stage.setting,
                room: self.room,
                sample: self.sample,
                mind,
            };
            let stream = stage.setting.host_stream(mind, life, &self.room);
            // A miniature is made without faults, and the number and stream are its own: it has
            // nothing to refuse.
            let _ = stage.drive.write(&mut understudy, page, stream);
        }
        self.pending_pages += 1;
        self.pending_pages >= self.judge_pages && self.judge()
    }

    /// Pages are discarded.
    pub fn discard(&mut self, pages: PageRange) {
        let numbers = self.sample.numbers(pages);
        if numbers.count > 0 {
            for stage in &mut self.stages {
                let _ = stage.drive.discard(numbers);
            }
        }
    }

    /// Adds up what each setting would have saved beside the leading one, and lets the one take
    /// over that has saved most, if that is enough.
    fn judge(&mut self) -> bool {
        self.pending_pages = 0;
        let newly = |stage: &mut Stage| (stage.setting, stage.newly_copied());
        let copied: Vec<(Setting, u64)> = self.stages.iter_mut().map(newly).collect();
        let leading = copied.iter().find(|(setting, _)| *setting == self.leader);
        let leading = leading.map_or(0, |(_, pages)| *pages) as f64;
        let (mut best, mut most) = (self.leader, self.margin_pages);
        for (stage, (setting, pages)) in self.stages.iter_mut().zip(copied) {
            stage.saved_pages = (stage.saved_pages + leading - pages as f64).max(0.0);
            if stage.saved_pages > most {
                (best, most) = (setting, stage.saved_pages);
            }
        }
        if best == self.leader {
            return false;
        }
        self.leader = best;
        self.stages
            .iter_mut()
            .for_each(|stage| stage.saved_pages = 0.0);
        true
    }

    pub fn memory_bytes(&self) -> usize {
        self.stages.iter().map(Stage::memory_bytes).sum()
    }
}

/// A drive with the sample's pages and as much spare, where a setting is tried. An open unit is half
/// empty in the mean; where a miniature has fewer units, that would weigh more, and is given back.
fn miniature(geometry: &HostGeometry, sample: Sample, setting: &Setting) -> Config {
    let thinning = sample.thinning();
    let open_units = setting.streams() * (thinning - 1) / (2 * thinning);
    Config {
        logical_pages: sample.pages(),
        page_bytes: geometry.page_bytes,
        pages_per_unit: sample.unit_pages(geometry.pages_per_unit),
        physical_units: geometry.physical_units.div_ceil(thinning) + open_units,
        host_streams: geometry.host_streams,
        internal_streams: geometry.internal_streams,
        victim_rule: VictimRule::Scheme,
        chips: 1,
        seed: 0,
        gc_start_free_units: 1,
        gc_stop_free_units: 1,
        reclaim_groups: 1,
        persistently_isolated: 0,
        streams_off_permille: 1000,
        wear: Default::default(),
        faults: Default::default(),
    }
}

#[cfg(test)]
mod tests {
    use anabranch_trace::{ContextId, FileId, WriteHint};

    use super::{super::predictor::Senses, *};
    use crate::{Write, by_page::tests::DRIVE};

    const PAGES: u32 = 8192;
    const GEOMETRY: HostGeometry = HostGeometry {
        logical_pages: PAGES,
        pages_per_unit: 128,
        physical_units: 72,
        ..DRIVE
    };

    fn rehearsal(margin: f64) -> (Rehearsal, Mind) {
        let senses = Senses {
            contexts: true,
            history: true,
        };
        let sample = Sample::new(&GEOMETRY, 16, 1024, 1);
        let rehearsal = Rehearsal::new(&GEOMETRY, sample, margin).unwrap();
        (rehearsal, Mind::new(PAGES, senses))
    }

    /// Writes pages of one writer; how often the lead changed.
    fn run(
        (rehearsal, mind): (&mut Rehearsal, &mut Mind),
        now: &mut u64,
        pages: impl Iterator<Item = u32>,
    ) -> usize {
        let mut changes = 0;
        for page in pages {
            let write = Write {
                pages: PageRange::new(page, 1),
                context: ContextId(1),
                file: FileId(0),
                hint: WriteHint::NotSet,
                tenant: 0,
                now_pages: *now,
            };
            let life = mind.predictor.write(page, &write, *now);
            mind.classes.count(life);
            if now.is_multiple_of(2048) {
                mind.classes.settle();
            }
            changes += usize::from(rehearsal.write(mind, page, life));
            *now += 1;
        }
        changes
    }

    fn at_random(writes: u32) -> impl Iterator<Item = u32> {
        let mut state = 1_u64;
        (0..writes).map(move |_| (crate::by_page::draw(&mut state) % u64::from(PAGES)) as u32)
    }

    #[test]
    fn the_setting_that_copies_least_comes_to_lead() {
        let (mut rehearsal, mut mind) = rehearsal(1.0);
        let first = rehearsal.leader();
        let mut now = 0;
        run((&mut rehearsal, &mut mind), &mut now, at_random(40 * PAGES));
        let leader = rehearsal.leader();
        let copied = |stage: &Stage| stage.drive.counters().copied_pages as f64;
        let best = rehearsal.stages.iter().map(copied).fold(f64::MAX, f64::min);
        let leads = |stage: &&Stage| stage.setting == leader;
        let leading = rehearsal.stages.iter().find(leads).map(copied).unwrap();
        assert!(leading < best * 1.05, "{leader:?}: {leading} {best}");
        // Random deaths: there is little to part.
        assert!(leader.classes < first.classes);
    }

    #[test]
    fn where_nothing_is_copied_the_lead_stays() {
        let (mut rehearsal, mut mind) = rehearsal(1.0);
        let mut now = 0;
        let round = (0..10 * PAGES).map(|step| step % PAGES);
        assert_eq!(run((&mut rehearsal, &mut mind), &mut now, round), 0);
    }

    #[test]
    fn a_greater_margin_changes_less() {
        let changes = |margin| {
            let (mut rehearsal, mut mind) = rehearsal(margin);
            let mut now = 0;
            run((&mut rehearsal, &mut mind), &mut now, at_random(20 * PAGES))
        };
        assert_eq!(changes(1e9), 0);
        assert!(changes(0.0) > 1);
    }

    #[test]
    fn a_miniature_has_the_spare_of_its_drive() {
        let sample = Sample::new(&GEOMETRY, 16, 1024, 1);
        let setting = settings(&Room::new(&GEOMETRY))[0];
        let small = miniature(&GEOMETRY, sample, &setting);
        assert_eq!((small.pages_per_unit, small.logical_pages), (16, 1024));
        assert_eq!(small.physical_units, GEOMETRY.physical_units);
        let large = HostGeometry {
            logical_pages: 128 * 2048,
            physical_units: 2200,
            ..GEOMETRY
        };
        let sample = Sample::new(&large, 16, 1024, 1);
        let small = miniature(&large, sample, &setting);
        assert_eq!((small.pages_per_unit, small.logical_pages), (16, 256 * 16));
        // An eighth of the units, and seven eighths of half a unit for each of six classes.
        assert_eq!(small.physical_units, 275 + 2);
    }

    #[test]
    fn a_drive_without_room_is_not_rehearsed() {
        let full = HostGeometry {
            physical_units: 64,
            ..GEOMETRY
        };
        let sample = Sample::new(&full, 16, 1024, 1);
        assert!(Rehearsal::new(&full, sample, 1.0).is_none());
    }

    #[test]
    fn settings_differ_and_fit_the_drive() {
        for host_streams in 1..10 {
            let geometry = HostGeometry {
                host_streams,
                ..GEOMETRY
            };
            let settings = settings(&Room::new(&geometry));
            for (index, setting) in settings.iter().enumerate() {
                assert!(u16::from(setting.classes) <= host_streams);
                assert!(!settings[..index].contains(setting));
            }
        }
    }
}
