//! Rehearsing: miniature drives that try out settings on a sample of the writes.

mod debt;

use anabranch_ssd::{
    Config, Device, PageRange, StreamId,
    relocate::{Destination, Relocate, Survivor, Victim},
    victims::{ClosedUnits, VictimRule},
};

use super::{
    mind::{Mind, Outlook},
    room::Room,
    sample::Sample,
    setting::{Copies, Guide, Setting, Victims},
};
use crate::{geometry::HostGeometry, scheme::DeviceHalf};
use debt::owed_pages;

/// Judgements in each capacity written (our choice).
const JUDGEMENTS: u32 = 16;
/// Capacities written until what a setting cost counts half (our choice: two and one are no better).
const HALF_LIFE_CAPACITIES: u32 = 4;

/// Classes to begin with, as far as the drive has room for them (our choice: fewer and more were
/// both worse on the recordings tuned with).
const CLASSES: u32 = 6;

/// Until a setting is enough better to lead, rules over files' names lead where they speak of this part of what was
/// written at least (our choice).
const RULED_PARTS: u64 = 64;

/// The settings rehearsed on a drive, the one to begin with first. Without `names` there is none that goes by files.
///
/// - Copies and victims ours, `wide`: the rules, which need not be learned; six classes, copies among them or in one stream;
///   each of these with victims by cost and benefit, with the age's root or the age, sought among all units; two classes and
///   the emptiest units; three as if nothing were known; and a stream for each file while it is written.
/// - The same without `wide`: as many classes as pay mostly, more and two; copies among new data or by themselves; both
///   kinds of victims; the rules; and one as if nothing were known.
/// - Copies and victims the drive's: the rules, then six classes, three, one, which is a
///   drive without streams, and a stream for each file while it is written.
fn settings(room: &Room, beside: DeviceHalf, names: bool, wide: bool) -> Vec<Setting> {
    use Copies::{Apart, Chain, One, Together};
    use Victims::{CostBenefit, CostBenefitRoot, Emptiest, Patient};
    let usual = room.classes(CLASSES);
    let two = room.classes(2);
    let objects = room.most_classes();
    let all = match beside {
        DeviceHalf::Own if wide => vec![
            (Guide::Rules, usual, One, CostBenefitRoot),
            (Guide::Lives, usual, Together, CostBenefitRoot),
            (Guide::Lives, usual, Together, CostBenefit),
            (Guide::Lives, usual, One, CostBenefitRoot),
            (Guide::Lives, usual, One, CostBenefit),
            (Guide::Lives, two, Together, Emptiest),
            (Guide::Rules, usual, One, CostBenefit),
            (Guide::Lives, 1, One, CostBenefitRoot),
            (Guide::Lives, 1, Chain, CostBenefit),
            (Guide::Lives, 1, One, Emptiest),
            (Guide::Objects, objects, One, CostBenefitRoot),
        ],
        DeviceHalf::Own => vec![
            (Guide::Lives, usual, Together, Patient),
            (Guide::Lives, usual, Together, Emptiest),
            (
                Guide::Lives,
                room.classes(u32::from(usual) + 2),
                Together,
                Patient,
            ),
            (Guide::Lives, usual, Apart, Patient),
            (Guide::Lives, two, Together, Emptiest),
            (Guide::Rules, usual, One, Emptiest),
            (Guide::Lives, 1, One, Emptiest),
        ],
        DeviceHalf::Relocation(_) => vec![
            (Guide::Rules, usual, Together, Emptiest),
            (Guide::Lives, usual, Together, Emptiest),
            (Guide::Lives, room.classes(3), Together, Emptiest),
            (Guide::Lives, 1, Together, Emptiest),
            (Guide::Objects, objects, Together, Emptiest),
        ],
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
    /// Whether the mind knows every page of the miniature.
    knows_all: bool,
}

impl Relocate for Understudy<'_> {
    fn destination(&mut self, victim: &Victim) -> Destination {
        let whole = self.setting.whole_copy_stream(victim.stream, &self.room);
        match whole.filter(|_| self.knows_all) {
            Some(stream) => Destination::Stream(stream),
            None => Destination::Each,
        }
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
    /// Whether all its pages were written as sampled, so that the mind knows them.
    knows_all: bool,
    /// What it cost, in pages copied or owed; what lies back counts less.
    cost_pages: f64,
    /// Pages it had copied, and those it owed, when that was last worked out.
    counted_pages: f64,
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
            knows_all: true,
            cost_pages: 0.0,
            counted_pages: 0.0,
        })
    }

    /// The sampled page `number` is written.
    fn write(&mut self, mind: &Mind, room: Room, sample: Sample, number: u32, outlook: Outlook) {
        let stream = self.setting.host_stream(mind, outlook, &room);
        self.append(mind, room, sample, PageRange::new(number, 1), stream);
    }

    /// Sampled pages are written to a stream.
    fn append(
        &mut self,
        mind: &Mind,
        room: Room,
        sample: Sample,
        pages: PageRange,
        stream: StreamId,
    ) {
        // A miniature is made without faults, and the pages and stream are its own: it has nothing
        // to refuse.
        let _ = match &mut self.relocation {
            Some(relocation) => self.drive.write(&mut **relocation, pages, stream),
            None => {
                let mut understudy = Understudy {
                    setting: self.setting,
                    room,
                    sample,
                    mind,
                    knows_all: self.knows_all,
                };
                self.drive.write(&mut understudy, pages, stream)
            }
        };
    }

    /// What it cost so far, in pages: copies made, and copies that it came to owe. Asked at each judgement, since what it cost
    /// before the last fades.
    fn cost(&mut self) -> f64 {
        let config = self.drive.config();
        let pages = u64::from(config.physical_units) * u64::from(config.pages_per_unit);
        let slack = pages.saturating_sub(self.drive.mapped_pages());
        let owed = owed_pages(self.drive.closed_units(), config.pages_per_unit, slack);
        let counted = self.drive.counters().copied_pages as f64 + owed;
        let newly = counted - std::mem::replace(&mut self.counted_pages, counted);
        let fade = -1.0 / f64::from(JUDGEMENTS * HALF_LIFE_CAPACITIES);
        self.cost_pages = self.cost_pages * fade.exp2() + newly;
        self.cost_pages
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

/// What rules over files' names spoke of.
#[derive(Debug, Default)]
struct Spoken {
    ruled_pages: u64,
    written_pages: u64,
}

/// Miniature drives of as much spare as the drive has, but with a sample of its pages. They see the sampled writes, predicted as the drive's are, each under a setting of
/// its own; the one whose copies, made and owed, are fewest is followed.
#[derive(Debug)]
pub(super) struct Rehearsal {
    stages: Vec<Stage>,
    sample: Sample,
    room: Room,
    /// Sampled pages written since the last judgement, and how many there are from one to the
    /// next.
    pending_pages: u32,
    judge_pages: u32,
    /// By how many pages a setting must be better than the one that leads to take over.
    margin_pages: f64,
    leader: Setting,
    /// What rules spoke of; `None` once that was enough, or a setting was enough better to lead, and where rules are not the
    /// first of the settings.
    spoken: Option<Spoken>,
}

impl Rehearsal {
    /// Miniatures of a drive whose copies and victims `beside` decides. A setting takes over once it
    /// is `margin` units better; what goes by files is tried if there are `names`, more settings if
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
        let leader = *settings.first()?;
        Some(Rehearsal {
            stages: settings.iter().map(stage).collect::<Option<Vec<Stage>>>()?,
            leader,
            spoken: (leader.guide == Guide::Rules).then(Spoken::default),
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
        if let Some(spoken) = &mut self.spoken {
            spoken.written_pages += 1;
            spoken.ruled_pages += u64::from(mind.ruled(outlook.write) != StreamId::DEFAULT);
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

    /// Pages are written that no setting places. They lie in the first stream of every miniature, so that each holds what
    /// the drive holds.
    pub fn written_elsewhere(&mut self, mind: &Mind, pages: PageRange) {
        let numbers = self.sample.numbers(pages);
        if numbers.count > 0 {
            for stage in &mut self.stages {
                stage.knows_all = false;
                stage.append(mind, self.room, self.sample, numbers, StreamId::DEFAULT);
            }
        }
    }

    /// What leads while no setting is enough better, where rules are the first: the setting after them until they have spoken
    /// of enough of what was written, and from then on the rules.
    fn by_names(&mut self) -> Option<Setting> {
        let spoken = self.spoken.as_ref()?;
        let [rules, next, ..] = self.stages.as_slice() else {
            return None;
        };
        if spoken.ruled_pages * RULED_PARTS < spoken.written_pages {
            return Some(next.setting);
        }
        self.spoken = None;
        Some(rules.setting)
    }

    /// Lets the setting that costs least take over, if it is enough better than the one that leads.
    fn judge(&mut self) -> bool {
        self.pending_pages = 0;
        let cost = |stage: &mut Stage| (stage.setting, stage.cost());
        let costs: Vec<(Setting, f64)> = self.stages.iter_mut().map(cost).collect();
        let leading = costs.iter().find(|(setting, _)| *setting == self.leader);
        let mut least = leading.map_or(0.0, |(_, pages)| *pages) - self.margin_pages;
        let mut best = self.leader;
        for (setting, pages) in costs {
            if pages < least {
                (best, least) = (setting, pages);
            }
        }
        if best != self.leader {
            self.spoken = None;
        }
        let best = self.by_names().unwrap_or(best);
        std::mem::replace(&mut self.leader, best) != best
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
mod tests;
