//! Changes of a drive while no server is there: the facts that the next one finds.

use super::drive::{LIVE, RESETTING, SimulatedDrive};
use super::random::Random;
use super::{SECTOR_BYTES, SECTORS, World};
use crate::take_over::{Counter, Disk, Facts, judge};

/// The facts about a drive, as a server finds them.
pub struct Surroundings {
    facts: Facts,
    /// Whether the drive counts another namespace's writes, too.
    pub is_shared: bool,
}

/// An event while no server was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Nothing,
    /// This host wrote past the block device, so many sectors.
    Written(usize),
    /// The drive was away, another host wrote so many sectors, perhaps none.
    Away(usize),
    /// The namespace was deleted and made anew.
    MadeAnew,
    Resized,
    ReformattedToOtherBlocks,
    /// Another firmware: smaller commands.
    Limited,
    CacheTurnedOn,
}

impl Surroundings {
    pub fn new(random: &mut Random) -> Surroundings {
        let disk = Disk {
            life: 1,
            others_sectors: random.below(100),
        };
        Surroundings {
            facts: Facts {
                unique: 1 + random.below(100),
                bytes: 1 << 18,
                block_shift: 12,
                most_bytes: 1 << 17,
                volatile_cache: false,
                disk: (!random.one_in(8)).then_some(disk),
                host_bytes: None,
            },
            is_shared: random.one_in(4),
        }
    }

    /// The facts at this moment.
    pub fn facts(&self, drive: &SimulatedDrive) -> Facts {
        Facts {
            host_bytes: Some((Counter::Placement, drive.host_bytes)),
            ..self.facts
        }
    }

    /// Something happens.
    pub fn pass(&mut self, random: &mut Random, drive: &mut SimulatedDrive) -> Event {
        let facts = &mut self.facts;
        let sectors = 1 + random.below(64) as usize;
        match random.below(96) {
            0 => {
                if let Some(disk) = &mut facts.disk {
                    disk.others_sectors += sectors as u64;
                }
                drive.host_bytes += (sectors * SECTOR_BYTES) as u64;
                Event::Written(sectors)
            }
            1..=3 => {
                let sectors = if random.one_in(2) { sectors } else { 0 };
                if let Some(disk) = &mut facts.disk {
                    disk.life += 1;
                    disk.others_sectors = 0;
                }
                drive.host_bytes += (sectors * SECTOR_BYTES) as u64;
                Event::Away(sectors)
            }
            4 => {
                facts.unique += 1;
                Event::MadeAnew
            }
            5 => {
                facts.bytes = facts.bytes * random.one_of(&[1, 4]) / 2;
                Event::Resized
            }
            6 => {
                facts.block_shift = 9;
                Event::ReformattedToOtherBlocks
            }
            7 => {
                facts.most_bytes /= 2;
                Event::Limited
            }
            8 => {
                facts.volatile_cache = true;
                Event::CacheTurnedOn
            }
            _ => Event::Nothing,
        }
    }

    /// Whether a server must not go on after an event; nothing where the facts do not tell, so that it may and need not.
    /// `unsure_bytes` were sent to the drive and not done, as far as it counts: so many of others' are hidden by them.
    pub fn must_refuse(&self, event: Event, unsure_bytes: u64) -> Option<bool> {
        let is_hidden = |sectors: usize| (sectors * SECTOR_BYTES) as u64 <= unsure_bytes;
        match event {
            Event::Nothing => Some(false),
            Event::Written(_) if self.facts.disk.is_some() => Some(true),
            Event::Written(sectors) | Event::Away(sectors) => match sectors {
                0 => Some(false),
                _ if is_hidden(sectors) => None,
                _ => Some(true),
            },
            Event::MadeAnew
            | Event::Resized
            | Event::ReformattedToOtherBlocks
            | Event::Limited
            | Event::CacheTurnedOn => Some(true),
        }
    }
}

impl World {
    /// The world goes on while no server is there; then the next one judges whether it may go on.
    pub fn may_go_on(&mut self) -> bool {
        let ledger = &self.shared.ledger;
        let before = ledger.facts().host_bytes.map_or(0, |(_, bytes)| bytes);
        let unsure_bytes = before + ledger.sent() - self.drive.host_bytes;
        let event = self.surroundings.pass(&mut self.random, &mut self.drive);
        let found = self.surroundings.facts(&self.drive);
        let ledger = &self.shared.ledger;
        let verdict = judge(
            &ledger.facts(),
            &found,
            ledger.sent(),
            self.surroundings.is_shared,
        );
        let expected = self.surroundings.must_refuse(event, unsure_bytes);
        let is_refused = verdict.is_err();
        assert!(
            expected.is_none_or(|expected| expected == is_refused),
            "{event:?}: {verdict:?}"
        );
        if event != Event::Nothing {
            self.count("changes while no server was there");
        }
        if is_refused {
            self.count("take-overs refused");
        }
        !is_refused
    }

    /// The host loses power: nobody waits any more. What the drive has then is what may be.
    pub fn lose_power(&mut self) {
        self.count("powers lost");
        self.cut_off_rewrites();
        self.cut_off();
        self.waiting.clear();
        self.drive.lose_power(&mut self.random);
        for sector in 0..SECTORS {
            self.model.find(sector, self.drive.holds(sector));
        }
        if self.drive.reach == RESETTING {
            self.reach(LIVE);
        }
        let facts = self.surroundings.facts(&self.drive);
        self.begin_anew(facts, 0);
    }
}
