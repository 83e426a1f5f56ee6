//! Rehearsing: miniature drives that try out settings on a sample of the writes.

use anabranch_ssd::{
    Config, Device, PageRange, StreamId,
    relocate::{Destination, Relocate, Survivor, Victim},
    victims::{ClosedUnits, VictimRule},
};

use super::{
    mind::{Mind, Outlook},
    sample::Sample,
    setting::{Copies, Guide, Room, Setting, Victims},
};
use crate::{geometry::HostGeometry, scheme::DeviceHalf};

/// Judgements in each capacity written (our choice).
const JUDGEMENTS: u32 = 16;

/// Classes to begin with, as far as the drive has room for them (our choice: fewer and more were
/// both worse on the recordings tuned with).
const CLASSES: u32 = 6;

/// Rules over files' names are left by the first judgement where they speak of less than this part of
/// what was written (our choice).
const RULED_PARTS: u32 = 64;

/// The settings rehearsed on a drive, the one to begin with first. Without `names` there are no rules over files' names.
///
/// - Copies and victims ours, `wide`: six classes, copies among them or in one stream, and the rules, each with victims
///   by cost and benefit with the age's root or the age, sought among all units; two classes and the emptiest units; three
///   as if nothing were known.
/// - The same without `wide`: as many classes as pay mostly, more and two; copies among new data or by themselves; both
///   kinds of victims; the rules; and one as if nothing were known.
/// - Copies and victims the drive's: the rules, which need not be learned, then numbers of classes, down to one, which is
///   a drive without streams.
fn settings(room: &Room, beside: DeviceHalf, names: bool, wide: bool) -> Vec<Setting> {
    use Copies::{Apart, Chain, One, Together};
    use Victims::{CostBenefit, CostBenefitRoot, Emptiest, Patient};
    let usual = room.classes(CLASSES);
    let more = room.classes(u32::from(usual) + 2);
    let two = room.classes(2);
    let all = match beside {
        DeviceHalf::Own if wide => vec![
            (Guide::Lives, usual, Together, CostBenefitRoot),
            (Guide::Lives, usual, Together, CostBenefit),
            (Guide::Lives, usual, One, CostBenefitRoot),
            (Guide::Lives, usual, One, CostBenefit),
            (Guide::Lives, two, Together, Emptiest),
            (Guide::Rules, usual, One, CostBenefitRoot),
            (Guide::Rules, usual, One, CostBenefit),
            (Guide::Lives, 1, One, CostBenefitRoot),
            (Guide::Lives, 1, Chain, CostBenefit),
            (Guide::Lives, 1, One, Emptiest),
        ],
        DeviceHalf::Own => vec![
            (Guide::Lives, usual, Together, Patient),
            (Guide::Lives, usual, Together, Emptiest),
            (Guide::Lives, more, Together, Patient),
            (Guide::Lives, usual, Apart, Patient),
            (Guide::Lives, two, Together, Emptiest),
            (Guide::Rules, usual, One, Emptiest),
            (Guide::Lives, 1, One, Emptiest),
        ],
        DeviceHalf::Relocation(_) => {
            let lives = [usual, more, room.classes(4), room.classes(3), two, 1];
            let rules = (Guide::Rules, usual, Together, Emptiest);
            let lives = lives.map(|classes| (Guide::Lives, classes, Together, Emptiest));
            std::iter::once(rules).chain(lives).collect()
        }
    };
    let mut settings: Vec<Setting> = Vec::with_capacity(all.len());
    for (guide, classes, copies, victims) in all {
        let setting = Setting {
            guide,
            classes,
            copies,
            victims,
        };
        if (names || guide == Guide::Lives) && !settings.contains(&setting) {
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
            Some(life) => self
                .setting
                .copy_stream(self.mind, life, victim.stream, &self.room),
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
    /// The drive's own relocation, where copies are not ours to decide.
    relocation: Option<Box<dyn Relocate>>,
    /// Pages it would have saved the drive had it led, since it last did worse.
    saved_pages: f64,
    /// Pages it had copied when that was last worked out.
    counted_pages: u64,
}

impl Stage {
    /// A miniature for a setting; `None` where there is no room for it.
    fn new(drive: &Config, beside: DeviceHalf, sample: Sample, setting: Setting) -> Option<Stage> {
        let mut config = miniature(drive, sample, &setting);
        let relocation = match beside {
            DeviceHalf::Own => {
                config.victim_rule = VictimRule::Scheme;
                None
            }
            DeviceHalf::Relocation(kind) => {
                config.internal_streams = kind.internal_streams(&config);
                Some(kind.build(&config))
            }
        };
        // An understudy wants to hear of neither ages nor places; no more does nobody.
        let listener = relocation.as_deref().unwrap_or(&());
        Some(Stage {
            drive: Device::new(config, listener).ok()?,
            setting,
            relocation,
            saved_pages: 0.0,
            counted_pages: 0,
        })
    }

    /// The sampled page `number` is written.
    fn write(&mut self, mind: &Mind, room: Room, sample: Sample, number: u32, outlook: Outlook) {
        let page = PageRange::new(number, 1);
        let stream = self.setting.host_stream(mind, outlook, &room);
        // A miniature is made without faults, and the number and stream are its own: it has
        // nothing to refuse.
        let _ = match &mut self.relocation {
            Some(relocation) => self.drive.write(&mut **relocation, page, stream),
            None => {
                let mut understudy = Understudy {
                    setting: self.setting,
                    room,
                    sample,
                    mind,
                };
                self.drive.write(&mut understudy, page, stream)
            }
        };
    }

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
    /// Sampled pages written until the first judgement that no rule over names speaks of.
    unruled_pages: Option<u32>,
}

impl Rehearsal {
    /// Miniatures of a drive whose copies and victims `beside` decides. A setting takes over once it
    /// would have saved `margin` units; rules over names are tried if there are `names`, more settings if
    /// `wide`. `None` for a drive of which no miniature can be made.
    pub fn new(
        drive: &Config,
        beside: DeviceHalf,
        sample: Sample,
        margin: f64,
        names: bool,
        wide: bool,
    ) -> Option<Rehearsal> {
        let unit_pages = sample.unit_pages(drive.pages_per_unit);
        let room = Room::new(&HostGeometry::of(drive)).shrunk(unit_pages);
        let settings = settings(&room, beside, names, wide);
        let stage = |&setting: &Setting| Stage::new(drive, beside, sample, setting);
        Some(Rehearsal {
            stages: settings.iter().map(stage).collect::<Option<Vec<Stage>>>()?,
            leader: *settings.first()?,
            unruled_pages: Some(0),
            room,
            sample,
            pending_pages: 0,
            judge_pages: (sample.pages() / JUDGEMENTS).max(1),
            margin_pages: margin * f64::from(unit_pages),
        })
    }

    /// The setting that does best.
    pub fn leader(&self) -> Setting {
        self.leader
    }

    /// A page is written. Answers whether another setting leads now.
    #[inline]
    pub fn write(&mut self, mind: &Mind, page: u32, outlook: Outlook) -> bool {
        match self.sample.number(page) {
            Some(number) => self.perform(mind, number, outlook),
            None => false,
        }
    }

    fn perform(&mut self, mind: &Mind, number: u32, outlook: Outlook) -> bool {
        for stage in &mut self.stages {
            stage.write(mind, self.room, self.sample, number, outlook);
        }
        self.pending_pages += 1;
        if let Some(pages) = &mut self.unruled_pages {
            *pages += u32::from(outlook.ruled == StreamId::default());
        }
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

    /// Leaves rules that nearly nothing obeys for the setting after them, at the first judgement.
    fn leave_rules(&mut self) -> bool {
        let unruled = self.unruled_pages.take().unwrap_or(0);
        let nearly_all = self.judge_pages - self.judge_pages / RULED_PARTS;
        match self.stages.get(1) {
            Some(next) if self.leader.guide == Guide::Rules && unruled >= nearly_all => {
                self.leader = next.setting;
                true
            }
            _ => false,
        }
    }

    /// Adds up what each setting would have saved beside the leading one, and lets the one take
    /// over that has saved most, if that is enough.
    fn judge(&mut self) -> bool {
        self.pending_pages = 0;
        if self.leave_rules() {
            return true;
        }
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
fn miniature(drive: &Config, sample: Sample, setting: &Setting) -> Config {
    let thinning = sample.thinning();
    let open_units = setting.streams() * (thinning - 1) / (2 * thinning);
    let geometry = HostGeometry {
        logical_pages: sample.pages(),
        pages_per_unit: sample.unit_pages(drive.pages_per_unit),
        physical_units: drive.physical_units.div_ceil(thinning) + open_units,
        ..HostGeometry::of(drive)
    };
    Config {
        victim_rule: drive.victim_rule,
        ..geometry.drive()
    }
}

#[cfg(test)]
mod tests {
    use anabranch_ssd::{relocate::RelocationKind, victims::ClosedUnit};
    use anabranch_trace::{ContextId, FileId, WriteHint};

    use super::{
        super::{
            page::Senses,
            setting::{age, gain},
        },
        *,
    };
    use crate::{assign::Write, by_page::tests::DRIVE};

    const PAGES: u32 = 8192;
    const GEOMETRY: HostGeometry = HostGeometry {
        logical_pages: PAGES,
        pages_per_unit: 128,
        physical_units: 72,
        ..DRIVE
    };

    fn rehearsal(beside: DeviceHalf, margin: f64) -> (Rehearsal, Mind) {
        rehearsal_of(beside, margin, false)
    }

    fn rehearsal_of(beside: DeviceHalf, margin: f64, wide: bool) -> (Rehearsal, Mind) {
        let senses = Senses {
            contexts: true,
            history: true,
        };
        let sample = Sample::new(&GEOMETRY, 16, 1024, 1);
        let rehearsal =
            Rehearsal::new(&GEOMETRY.drive(), beside, sample, margin, true, wide).unwrap();
        (rehearsal, Mind::new(&GEOMETRY, senses))
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
            let outlook = mind.write(page, &write, *now);
            if now.is_multiple_of(2048) {
                mind.classes.redraw();
            }
            changes += usize::from(rehearsal.write(mind, page, outlook));
            *now += 1;
        }
        changes
    }

    fn at_random(writes: u32) -> impl Iterator<Item = u32> {
        let mut state = 1_u64;
        (0..writes).map(move |_| (crate::by_page::draw(&mut state) % u64::from(PAGES)) as u32)
    }

    #[test]
    fn a_wide_rehearsal_seeks_victims_among_all_units() {
        let (rehearsal, _) = rehearsal_of(DeviceHalf::Own, 16.0, true);
        let narrow = |stage: &Stage| stage.setting.victims == Victims::Patient;
        assert_eq!(rehearsal.stages.len(), 10);
        assert!(!rehearsal.stages.iter().any(narrow));
        // Where victims are the drive's there is nothing more to try.
        let room = Room::new(&GEOMETRY);
        let beside = DeviceHalf::Relocation(RelocationKind::Gc);
        assert_eq!(
            settings(&room, beside, true, true),
            settings(&room, beside, true, false)
        );
    }

    #[test]
    fn the_setting_that_copies_least_comes_to_lead() {
        for wide in [false, true] {
            the_best_leads(wide);
        }
    }

    fn the_best_leads(wide: bool) {
        let (mut rehearsal, mut mind) = rehearsal_of(DeviceHalf::Own, 16.0, wide);
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
        let (mut rehearsal, mut mind) = rehearsal(DeviceHalf::Own, 16.0);
        let mut now = 0;
        let round = (0..10 * PAGES).map(|step| step % PAGES);
        assert_eq!(run((&mut rehearsal, &mut mind), &mut now, round), 0);
    }

    #[test]
    fn a_greater_margin_changes_less() {
        let changes = |margin| {
            let (mut rehearsal, mut mind) = rehearsal(DeviceHalf::Own, margin);
            let mut now = 0;
            run((&mut rehearsal, &mut mind), &mut now, at_random(20 * PAGES))
        };
        assert_eq!(changes(1e9), 0);
        assert!(changes(0.0) > 1);
    }

    /// Chooses victims by a setting, and holds each against all closed units.
    #[derive(Debug)]
    struct Looked {
        setting: Setting,
        victims: u32,
    }

    impl Relocate for Looked {
        fn destination(&mut self, victim: &Victim) -> Destination {
            Destination::Stream(StreamId((victim.stream.0 + 1) % 3))
        }

        fn choose_victim(&mut self, closed: &mut ClosedUnits, now: u64) -> Option<u32> {
            let score = |unit: ClosedUnit| {
                let age = age(&unit, now);
                let is_root = self.setting.victims == Victims::CostBenefitRoot;
                (if is_root { age.sqrt() } else { age }) * gain(&unit, GEOMETRY.pages_per_unit)
            };
            let chosen = self
                .setting
                .choose_victim(closed, now, &Room::new(&GEOMETRY));
            let all = (0..closed.units()).filter_map(|unit| closed.get(unit));
            let best = all.map(score).fold(0.0, f64::max);
            let found = chosen.and_then(|unit| closed.get(unit));
            assert_eq!(found.map_or(0.0, score), best);
            self.victims += 1;
            chosen
        }
    }

    #[test]
    fn of_all_closed_units_the_best_is_found() {
        let all = settings(&Room::new(&GEOMETRY), DeviceHalf::Own, true, true);
        for setting in [all[0], all[1]] {
            let mut config = GEOMETRY.drive();
            config.victim_rule = VictimRule::Scheme;
            let mut looked = Looked {
                setting,
                victims: 0,
            };
            let mut drive = Device::new(config, &looked).unwrap();
            for (at, page) in at_random(60_000).enumerate() {
                // Half of the writes go to an eighth of the pages, which has a stream of its own.
                let (page, stream) = if at % 2 == 0 {
                    (page / 8, 1)
                } else {
                    (page, 0)
                };
                let range = PageRange::new(page, 1);
                drive.write(&mut looked, range, StreamId(stream)).unwrap();
            }
            assert!(looked.victims > 500, "{}", looked.victims);
        }
    }

    #[test]
    fn a_miniature_has_the_spare_of_its_drive() {
        let sample = Sample::new(&GEOMETRY, 16, 1024, 1);
        let setting = settings(&Room::new(&GEOMETRY), DeviceHalf::Own, true, false)[0];
        let small = miniature(&GEOMETRY.drive(), sample, &setting);
        assert_eq!((small.pages_per_unit, small.logical_pages), (16, 1024));
        assert_eq!(small.physical_units, GEOMETRY.physical_units);
        let large = HostGeometry {
            logical_pages: 128 * 2048,
            physical_units: 2200,
            ..GEOMETRY
        };
        let sample = Sample::new(&large, 16, 1024, 1);
        let small = miniature(&large.drive(), sample, &setting);
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
        assert!(Rehearsal::new(&full.drive(), DeviceHalf::Own, sample, 1.0, true, false).is_none());
    }

    #[test]
    fn settings_differ_and_fit_the_drive() {
        let halves = [DeviceHalf::Own, DeviceHalf::Relocation(RelocationKind::Fdp)];
        for (host_streams, beside) in (1..10).flat_map(|streams| halves.map(|half| (streams, half)))
        {
            let geometry = HostGeometry {
                host_streams,
                ..GEOMETRY
            };
            for wide in [false, true] {
                let settings = settings(&Room::new(&geometry), beside, true, wide);
                for (index, setting) in settings.iter().enumerate() {
                    assert!(u16::from(setting.classes) <= host_streams);
                    assert!(!settings[..index].contains(setting));
                }
            }
        }
    }

    #[test]
    fn without_names_no_rules_are_rehearsed() {
        let room = Room::new(&GEOMETRY);
        for beside in [DeviceHalf::Own, DeviceHalf::Relocation(RelocationKind::Gc)] {
            let ruled = |names| {
                let settings = settings(&room, beside, names, false);
                settings
                    .iter()
                    .filter(|one| one.guide == Guide::Rules)
                    .count()
            };
            assert_eq!((ruled(true), ruled(false)), (1, 0));
        }
    }

    #[test]
    fn beside_a_drive_that_relocates_random_deaths_end_in_one_class() {
        let beside = DeviceHalf::Relocation(RelocationKind::Gc);
        let (mut rehearsal, mut mind) = rehearsal(beside, 8.0);
        assert_eq!(rehearsal.leader().guide, Guide::Rules);
        // Files without names: the rules are left at once.
        let mut now = 0;
        run((&mut rehearsal, &mut mind), &mut now, at_random(PAGES / 8));
        assert_eq!(rehearsal.leader().guide, Guide::Lives);
        assert!(rehearsal.leader().classes > 1);
        run((&mut rehearsal, &mut mind), &mut now, at_random(40 * PAGES));
        // One class, or rules that none of this obeys: one stream.
        let Setting { guide, classes, .. } = rehearsal.leader();
        assert!(guide == Guide::Rules || classes == 1);
        // The drives collect by the rule and with the streams of the drive rehearsed for.
        for stage in &rehearsal.stages {
            let config = stage.drive.config();
            assert_eq!(config.victim_rule, VictimRule::Greedy);
            assert_eq!(config.internal_streams, 1);
        }
    }
}
