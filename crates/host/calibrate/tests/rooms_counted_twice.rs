//! A drive that keeps no flash and counts the room of each full unit a second time, as QEMU's does, of many shapes.
#![allow(clippy::expect_used)]

use std::time::Duration;

use anabranch_calibrate::{
    CalibrateError, CalibratedDrive, Discard, DriveCommand, Findings, Isolation, Link,
    PlacementMethod, Settings, calibrate,
};

const MIB: u64 = 1 << 20;
const HANDLES: u64 = 2;

#[derive(Clone)]
struct Model {
    block_bytes: u64,
    bytes: u64,
    unit_bytes: u64,
    /// Cost of a smaller write.
    mapping_bytes: u64,
    /// The largest command is 4 KiB << this.
    transfer_shift: u8,
    takes_discards: bool,
    groups: u32,
    /// Room that it reports, true or not.
    said_room_bytes: Option<u64>,
    /// Bytes after which its count is programmed, or at a flush.
    buffer_bytes: u64,
    /// It counts the room of a full unit once more.
    counts_twice: bool,
    buffered_bytes: u64,
    room_bytes: u64,
    host_bytes: u64,
    media_bytes: u64,
    /// First byte and bytes of each write.
    writes: Vec<(u64, u64)>,
}

impl Model {
    /// 8 MiB in blocks of 4 KiB, with units of so many bytes.
    fn of(unit_bytes: u64) -> Model {
        Model {
            block_bytes: 4096,
            bytes: 8 * MIB,
            unit_bytes,
            mapping_bytes: 4096,
            transfer_shift: 5,
            takes_discards: true,
            groups: 1,
            said_room_bytes: None,
            buffer_bytes: 1,
            counts_twice: true,
            buffered_bytes: 0,
            room_bytes: unit_bytes,
            host_bytes: 0,
            media_bytes: 0,
            writes: Vec::new(),
        }
    }

    fn identify(&self, structure: u32) -> Vec<u8> {
        let mut told = vec![0; 4096];
        match structure {
            0 => {
                put(&mut told, 0, &(self.bytes / self.block_bytes).to_le_bytes());
                told[102] = 1;
                told[130] = self.block_bytes.trailing_zeros() as u8;
            }
            1 => {
                told[77] = self.transfer_shift;
                put(&mut told, 96, &(1_u32 << 19).to_le_bytes());
                told[520] = u8::from(self.takes_discards) << 2;
            }
            _ => told[0] = 1,
        }
        told
    }

    fn log(&self, page: u32) -> Vec<u8> {
        if page == 0x22 {
            let mut told = vec![0; 64];
            put(&mut told, 0, &self.host_bytes.to_le_bytes());
            let media = self.media_bytes.saturating_sub(self.buffered_bytes);
            put(&mut told, 16, &media.to_le_bytes());
            return told;
        }
        let mut told = vec![0; 16 + 64 + 4 * HANDLES as usize];
        let (all, own) = (told.len() as u32, told.len() as u16 - 16);
        put(&mut told, 4, &all.to_le_bytes());
        // Its Descriptor Size, Number of Reclaim Groups, of handles, and nominal size of a unit.
        put(&mut told, 16, &own.to_le_bytes());
        put(&mut told, 20, &self.groups.to_le_bytes());
        told[24] = HANDLES as u8;
        put(&mut told, 32, &self.unit_bytes.to_le_bytes());
        told
    }

    fn handle_status(&self) -> Vec<u8> {
        let mut told = vec![0; 16];
        told[14] = HANDLES as u8;
        for handle in 0..HANDLES as u8 {
            let room = match handle {
                0 => self.said_room_bytes.unwrap_or(self.late_room_bytes()),
                _ => self.unit_bytes,
            };
            let mut one = vec![0; 32];
            (one[0], one[2]) = (handle, handle);
            put(&mut one, 8, &(room / self.block_bytes).to_le_bytes());
            told.extend(one);
        }
        told
    }

    /// The room of the unit that is programmed.
    fn late_room_bytes(&self) -> u64 {
        match self.room_bytes + self.buffered_bytes {
            room if room > self.unit_bytes => room - self.unit_bytes,
            room => room,
        }
    }

    fn write(&mut self, start: u64, bytes: u64, place: u32) {
        self.writes.push((start, bytes));
        self.host_bytes += bytes;
        self.media_bytes += bytes.next_multiple_of(self.mapping_bytes);
        self.buffered_bytes = (self.buffered_bytes + bytes) % self.buffer_bytes;
        if place != 0 {
            return;
        }
        let mut left = bytes;
        while left >= self.room_bytes {
            left -= self.room_bytes;
            if self.counts_twice {
                self.media_bytes += self.room_bytes;
            }
            self.room_bytes = self.unit_bytes;
        }
        self.room_bytes -= left;
    }
}

impl Link for Model {
    fn ask(&mut self, command: &DriveCommand, data: &mut [u8]) -> Result<u32, CalibrateError> {
        let words = command.words;
        let told = match command.opcode {
            0x06 => self.identify(words[0]),
            0x02 if command.what != "read" => self.log(words[0] & 0xff),
            0x12 => self.handle_status(),
            // The first configuration is in force.
            0x0a => return Ok(1),
            0x01 => {
                let start = u64::from(words[0]) * self.block_bytes;
                let bytes = (u64::from(words[2] & 0xffff) + 1) * self.block_bytes;
                assert_eq!(data.len() as u64, bytes, "a command's data are its blocks");
                self.write(start, bytes, words[3] >> 16);
                return Ok(0);
            }
            0x00 => {
                self.buffered_bytes = 0;
                return Ok(0);
            }
            _ => return Ok(0),
        };
        let told = told.get(..data.len()).ok_or(CalibrateError::Refused {
            what: command.what,
            status: 0xf,
        })?;
        data.copy_from_slice(told);
        Ok(0)
    }
}

fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    bytes[at..at + field.len()].copy_from_slice(field);
}

fn learned(model: &mut Model) -> Findings {
    let mut drive = CalibratedDrive::open(model).expect("it is a drive");
    let told = vec![Isolation::Initial; HANDLES as usize];
    assert_eq!(
        drive.about().placement,
        PlacementMethod::Fdp { groups: 1, told }
    );
    let settings = Settings {
        seed: 7,
        idle: Duration::ZERO,
    };
    calibrate(&mut drive, settings, &mut |_| ()).expect("it does not fail")
}

#[test]
fn its_count_is_of_no_copies_however_few_units_end() {
    // In the fill none ends, one, none, two and four; of the first three one, one and none while it is overwritten.
    for unit_mib in [16, 9, 32, 4, 1] {
        let found = learned(&mut Model::of(unit_mib * MIB));
        assert_eq!(found.spare, None, "{unit_mib}: {found:#?}");
        assert_eq!(found.physical.bytes, None);
        assert_eq!(found.discard, Discard::NotKnown);
        let notes = found.notes.join("\n");
        assert!(
            notes.contains("what a discard frees is not known"),
            "{notes}"
        );
    }
}

#[test]
fn commands_are_whole_blocks_and_whole_mapping_units() {
    let largest_is_a_block = Model {
        block_bytes: 8192,
        mapping_bytes: 8192,
        transfer_shift: 1,
        ..Model::of(MIB)
    };
    let largest_is_a_mapping_unit = Model {
        mapping_bytes: 16 << 10,
        transfer_shift: 2,
        ..Model::of(MIB)
    };
    let unit_is_not_whole = Model {
        mapping_bytes: 16 << 10,
        ..Model::of(MIB + 4096)
    };
    for mut model in [
        largest_is_a_block,
        largest_is_a_mapping_unit,
        unit_is_not_whole,
        Model {
            // No unit ends in a series of lone writes of 64 KiB, which would cost more.
            mapping_bytes: 64 << 10,
            ..Model::of(5 * MIB)
        },
    ] {
        let found = learned(&mut model);
        let mapping = model.mapping_bytes;
        assert_eq!(found.mapping_unit.best_bytes(), Some(mapping));
        for &(start, bytes) in &model.writes {
            // A lone write may be less.
            let whole = bytes < mapping || bytes % mapping == 0;
            assert!(start % mapping == 0 && whole, "{start} {bytes} {mapping}");
        }
    }
}

#[test]
fn a_room_that_lies_does_not_make_the_fill_endless() {
    for room_bytes in [(128 << 10) + 4096, (64 << 10) + 4096, 96 << 10, 4096, 0] {
        let mut model = Model {
            said_room_bytes: Some(room_bytes),
            ..Model::of(MIB)
        };
        learned(&mut model);
        // The fill is written in order; what is overwritten lies anywhere.
        let pairs = model.writes.windows(2);
        let in_order = |pair: &&[(u64, u64)]| pair[0].0 + pair[0].1 == pair[1].0;
        let small = pairs.filter(in_order).filter(|pair| pair[1].1 < 64 << 10);
        assert!(
            small.clone().count() < 24,
            "{room_bytes}: {}",
            small.count()
        );
    }
}

#[test]
fn a_drive_whose_rooms_do_not_fall_has_no_false_spare() {
    // As large at each look; those of less than two writes fit units of as many bytes, which is no lie to be seen.
    for said_room_bytes in [MIB / 2, MIB, 8 * MIB, 1 << 40] {
        for unit_mib in [1, 4, 9] {
            let mut model = Model {
                said_room_bytes: Some(said_room_bytes),
                ..Model::of(unit_mib * MIB)
            };
            let found = learned(&mut model);
            assert_eq!(found.spare, None, "{unit_mib} {said_room_bytes}");
            let lies = said_room_bytes != unit_mib * MIB;
            let said = found.notes.join("\n").contains("does not fall");
            assert!(said || !lies, "{unit_mib} {said_room_bytes}: {found:#?}");
        }
    }
}

#[test]
fn a_room_that_is_counted_when_the_buffer_is_programmed_is_no_lie_and_one_that_stays_is() {
    for buffer_kib in [64, 96, 256, 1000] {
        for unit_mib in [3, 9] {
            let honest = Model {
                buffer_bytes: buffer_kib << 10,
                counts_twice: false,
                bytes: 32 * MIB,
                ..Model::of(unit_mib * MIB)
            };
            let found = learned(&mut honest.clone());
            let late = found.write_buffer.best_bytes();
            assert!(late.is_some(), "{buffer_kib} {unit_mib}: {found:#?}");
            let notes = found.notes.join("\n");
            assert!(!notes.contains("does not fall"), "{buffer_kib} {notes}");
            // What is sent in overwrites shows that the spare was looked for.
            assert!(found.sent_bytes > 64 * MIB, "{buffer_kib} {found:#?}");
            let mut constant = Model {
                said_room_bytes: Some(unit_mib * MIB),
                ..honest
            };
            let notes = learned(&mut constant).notes.join("\n");
            assert!(notes.contains("does not fall"), "{buffer_kib} {notes}");
        }
    }
}

#[test]
fn what_a_discard_frees_is_no_question_where_there_are_none() {
    for unit_mib in [4, 32] {
        let mut model = Model {
            takes_discards: false,
            ..Model::of(unit_mib * MIB)
        };
        let found = learned(&mut model);
        assert_eq!(found.discard, Discard::NotTaken);
        let notes = found.notes.join("\n");
        assert!(!notes.contains("not known: no copies"), "{notes}");
        assert!(!notes.contains("what a discard frees"), "{notes}");
    }
}

#[test]
fn groups_that_are_not_told_are_not_taken_for_one() {
    for groups in [0, 2] {
        let mut model = Model {
            groups,
            ..Model::of(MIB)
        };
        assert!(CalibratedDrive::open(&mut model).is_err(), "{groups}");
    }
}
