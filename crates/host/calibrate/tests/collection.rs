//! Garbage collection and ends of units, learned of an emulated drive with Flexible Data Placement in this process, honest
//! or not.
#![allow(clippy::expect_used)]

use std::time::{Duration, Instant};

use anabranch_calibrate::{
    Band, CalibrateError, CalibratedDrive, Discard, DriveCommand, Findings, Link, Settings,
    Victims, calibrate,
};
use anabranch_ssd::{
    Config, PageRange,
    fdp::{FdpDevice, FdpOptions, PlacementIdentifier},
    victims::VictimRule,
};

const PAGE: u64 = 4096;
const HANDLES: u16 = 2;
/// Time without commands after which it copies: longer than a busy machine keeps this process waiting.
const PAUSE: Duration = Duration::from_secs(2);

/// Deviations from an honest drive without company.
#[derive(Clone, Copy, Default)]
struct Quirks {
    /// An update is answered, and does nothing.
    ignores_updates: bool,
    /// An update is refused.
    refuses_updates: bool,
    /// Bytes that it copies in a pause.
    idle_copies: u64,
    /// Another host writes as much in percent of what this one does.
    company_percent: u64,
    /// Discards are answered, and free nothing.
    keeps_discarded: bool,
}

struct Drive {
    device: FdpDevice,
    quirks: Quirks,
    /// Bytes counted beside the device's.
    more_bytes: u64,
    asked_at: Instant,
}

impl Drive {
    fn of(rule: VictimRule, quirks: Quirks) -> Drive {
        let config = Config {
            victim_rule: rule,
            host_streams: HANDLES,
            gc_stop_free_units: 2,
            ..Config::new(96 * 100 - 17, 100, 96 + 22)
        };
        let mut device = FdpDevice::new(&config, &FdpOptions::default()).expect("a device");
        device.create_namespace(1, &[0, 1]).expect("a namespace");
        Drive {
            device,
            quirks,
            more_bytes: 0,
            asked_at: Instant::now(),
        }
    }

    fn identify(&self, structure: u32) -> Vec<u8> {
        let mut told = vec![0; 4096];
        match structure {
            0 => {
                let pages = u64::from(self.device.device().config().logical_pages);
                put(&mut told, 0, &pages.to_le_bytes());
                told[102] = 1;
                told[130] = PAGE.trailing_zeros() as u8;
            }
            1 => {
                told[77] = 5;
                put(&mut told, 96, &(1_u32 << 19).to_le_bytes());
                told[520] = 1 << 2;
            }
            _ => told[0] = 1,
        }
        told
    }

    fn log(&mut self, page: u32) -> Vec<u8> {
        if page == 0x22 {
            if self.asked_at.elapsed() > PAUSE {
                self.more_bytes += std::mem::take(&mut self.quirks.idle_copies);
            }
            let counted = self.device.statistics();
            let mut told = vec![0; 64];
            put(&mut told, 0, &counted.host_bytes.to_le_bytes());
            put(
                &mut told,
                16,
                &(counted.media_bytes + u128::from(self.more_bytes)).to_le_bytes(),
            );
            return told;
        }
        let mut told = vec![0; 16 + 64 + 4 * usize::from(HANDLES)];
        let (all, own) = (told.len() as u32, told.len() as u16 - 16);
        put(&mut told, 4, &all.to_le_bytes());
        put(&mut told, 16, &own.to_le_bytes());
        put(&mut told, 20, &1_u32.to_le_bytes());
        told[24] = HANDLES as u8;
        put(
            &mut told,
            32,
            &self.device.device().config().unit_bytes().to_le_bytes(),
        );
        told
    }

    fn handle_status(&self) -> Vec<u8> {
        let mut told = vec![0; 16];
        told[14] = HANDLES as u8;
        for (handle, unit) in (0..).zip(self.device.status(1).expect("a namespace")) {
            let mut one = vec![0; 32];
            (one[0], one[2]) = (handle, handle);
            put(&mut one, 8, &(unit.available_bytes / PAGE).to_le_bytes());
            told.extend(one);
        }
        told
    }

    fn perform(&mut self, command: &DriveCommand, data: &[u8]) {
        let words = command.words;
        match command.opcode {
            0x01 => {
                let pages = PageRange::new(words[0], (words[2] & 0xffff) + 1);
                assert_eq!(data.len() as u64, u64::from(pages.count) * PAGE);
                let place = (words[2] >> 20 & 0xf == 2)
                    .then_some(PlacementIdentifier((words[3] >> 16) as u16));
                self.device.write(1, pages, place).expect("it is written");
                self.more_bytes += data.len() as u64 * self.quirks.company_percent / 100;
            }
            0x09 if !self.quirks.keeps_discarded => {
                let number = |at: usize| {
                    data[at..at + 4]
                        .iter()
                        .rev()
                        .fold(0, |sum, &byte| sum << 8 | u32::from(byte))
                };
                let pages = PageRange::new(number(8), number(4));
                self.device.discard(pages).expect("it is given up");
            }
            0x1d if !self.quirks.ignores_updates => {
                assert_eq!((words[0], data), (1, &[0, 0][..]));
                self.device
                    .update(1, &[PlacementIdentifier(0)])
                    .expect("it is updated");
            }
            _ => {}
        }
    }
}

impl Link for Drive {
    fn ask(&mut self, command: &DriveCommand, data: &mut [u8]) -> Result<u32, CalibrateError> {
        let told = match command.opcode {
            0x06 => Some(self.identify(command.words[0])),
            0x02 if command.what == "read" => None,
            0x02 => Some(self.log(command.words[0] & 0xff)),
            0x12 => Some(self.handle_status()),
            0x1d if self.quirks.refuses_updates => {
                let (what, status) = (command.what, 1);
                return Err(CalibrateError::Refused { what, status });
            }
            _ => {
                self.perform(command, data);
                None
            }
        };
        self.asked_at = Instant::now();
        if let Some(told) = told {
            data.copy_from_slice(&told[..data.len()]);
        }
        // The first configuration is in force.
        Ok(u32::from(command.opcode == 0x0a))
    }
}

fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    bytes[at..at + field.len()].copy_from_slice(field);
}

fn learned(rule: VictimRule, quirks: Quirks) -> Findings {
    let mut drive = Drive::of(rule, quirks);
    let mut drive = CalibratedDrive::open(&mut drive).expect("it is a drive");
    let most = anabranch_calibrate::most_sent_bytes(drive.about());
    let settings = Settings {
        seed: 7,
        idle: if quirks.idle_copies > 0 {
            PAUSE + Duration::from_millis(100)
        } else {
            Duration::from_millis(1)
        },
    };
    let found = calibrate(&mut drive, settings, &mut |_| ()).expect("it does not fail");
    assert!(found.sent_bytes <= most, "{} of {most}", found.sent_bytes);
    found
}

#[test]
fn each_rule_is_told_and_stands_in_the_profile() {
    for (rule, victims) in [
        (VictimRule::Greedy, Victims::Greedy),
        (VictimRule::CostBenefit, Victims::Age),
        (VictimRule::CostBenefitRoot, Victims::Age),
        (VictimRule::Fifo, Victims::Fifo),
    ] {
        let found = learned(rule, Quirks::default());
        assert_eq!(found.collection.victims, Some(victims), "{rule} {found:#?}");
        assert_eq!(found.collection.units_at_once, Some(2));
        let unit_bytes = 100 * PAGE;
        let ends = found.unit_ends;
        assert_eq!(
            (ends.room_is_true, ends.update_ends_unit),
            (Some(true), Some(true))
        );
        assert_eq!(ends.host_bytes, Some(unit_bytes));
        let profile = found.profile().expect("a profile");
        let row = format!("\nvictim = \"{}\"\n", victims.rule());
        assert!(profile.contains(&row), "{profile}");
        let parsed = anabranch_ssd::profile::Profile::parse("found", &profile).expect("a profile");
        let config = parsed.resolve("found").expect("a device");
        assert_eq!(
            (config.gc_start_free_units, config.gc_stop_free_units),
            (1, 2)
        );
    }
}

#[test]
fn collecting_by_the_host_needs_spare_units_and_handles() {
    let mut found = learned(VictimRule::Greedy, Quirks::default());
    let unit_bytes = found.unit.best_bytes().expect("a unit") as f64;
    for (spare_units, handles, words) in [
        (8.0, 3, "could pay"),
        (7.0, 3, "does not pay: it has 7 spare units"),
        (8.0, 2, "could not pay: it needs"),
    ] {
        let share = spare_units * unit_bytes / found.logical_bytes as f64;
        found.spare = found.spare.map(|spare| Band {
            best: share,
            ..spare
        });
        found.handle_count = handles;
        let told = found.host_collection_words();
        assert!(told.starts_with(words), "{told}");
    }
}

#[test]
fn a_rule_that_looks_at_nothing_is_not_told_and_isolation_neither() {
    // At random, it goes on copying after a discard, so that this is not seen to free room.
    let found = learned(VictimRule::Random, Quirks::default());
    assert_eq!(found.collection.victims, None, "{found:#?}");
    let found = learned(VictimRule::Choices(3), Quirks::default());
    assert_eq!(found.collection.victims, None, "{found:#?}");
    assert_eq!(found.collection.takes_empty_units_first, Some(false));
    let notes = found.notes.join("\n");
    assert!(
        notes.contains("not told apart") && notes.contains("isolation was not measured"),
        "{notes}"
    );
    assert!(found.handles.iter().all(|handle| handle.measured.is_none()));
    let profile = found.profile().expect("a profile");
    assert!(
        profile.contains("# The rule of victims was not told apart"),
        "{profile}"
    );
}

#[test]
fn an_update_that_ends_nothing_or_is_refused_is_found_out() {
    let ignores = Quirks {
        ignores_updates: true,
        ..Quirks::default()
    };
    let found = learned(VictimRule::Greedy, ignores);
    assert_eq!(found.unit_ends.update_ends_unit, Some(false));
    assert_eq!(found.unit_ends.host_bytes, None);
    let refuses = Quirks {
        refuses_updates: true,
        ..Quirks::default()
    };
    let found = learned(VictimRule::Greedy, refuses);
    assert_eq!(found.unit_ends.update_ends_unit, None);
    assert!(
        found.notes.join("\n").contains("status 0x1"),
        "{:?}",
        found.notes
    );
    // The rest stands.
    assert_eq!(found.collection.victims, Some(Victims::Greedy));
}

#[test]
fn copies_in_a_pause_are_seen() {
    let idle_copies = 1 << 20;
    let quirks = Quirks {
        idle_copies,
        ..Quirks::default()
    };
    let found = learned(VictimRule::Greedy, quirks).collection;
    assert_eq!(found.idle_copied_bytes, Some(idle_copies));
    assert!(found.idle_freed_bytes.is_some(), "{found:?}");
    let found = learned(VictimRule::Greedy, Quirks::default()).collection;
    assert_eq!(
        (found.idle_copied_bytes, found.idle_freed_bytes),
        (Some(0), None)
    );
}

#[test]
fn another_hosts_writes_and_discards_that_free_nothing_leave_the_rule_untold_with_the_reason() {
    let company = Quirks {
        company_percent: 20,
        ..Quirks::default()
    };
    let keeps = Quirks {
        keeps_discarded: true,
        ..Quirks::default()
    };
    for (quirks, reason) in [(company, "not told apart"), (keeps, "copies went on")] {
        let found = learned(VictimRule::Greedy, quirks);
        assert_eq!(found.collection.victims, None, "{found:#?}");
        let notes = found.notes.join("\n");
        assert!(notes.contains(reason), "{notes}");
        assert_eq!(found.unit.best_bytes(), Some(100 * PAGE), "the rest stands");
    }
    let found = learned(VictimRule::Greedy, keeps);
    assert_eq!(found.discard, Discard::FreesNothing);
}
