//! Identify (§5.1.13; NVM §4.1.5).

use super::{Request, names::Names};
use crate::{
    command::ALL_NAMESPACES,
    completion::Status,
    connection::Answer,
    controller::{NAMESPACE_NOTICES, VERSION},
    drive::{Mode, NAMESPACE},
    health::{CRITICAL_KELVIN, WARNING_KELVIN},
    options::{
        DISCOVERY, ERROR_ENTRIES, MOST_DATA_SHIFT, MOST_DEALLOCATED, MOST_EVENT_REQUESTS,
        MOST_RANGES, MOST_ZEROED_SHIFT,
    },
    wire::{put, put_text},
};

/// Bytes of every Identify data structure.
pub(super) const PAGE: usize = 4096;
/// The only endurance group.
pub(super) const ENDURANCE_GROUP: u16 = 1;
/// Log2 of the block sizes there are, by LBA format.
const BLOCK_SHIFTS: [u32; 2] = [9, 12];

/// The block size of an LBA format.
pub(super) fn block_shift_of(format: u8) -> Option<u32> {
    BLOCK_SHIFTS.get(usize::from(format)).copied()
}

/// Controller or Namespace Structure.
mod cns {
    pub const NAMESPACE: u32 = 0x00;
    pub const CONTROLLER: u32 = 0x01;
    pub const ACTIVE_NAMESPACES: u32 = 0x02;
    pub const DESCRIPTORS: u32 = 0x03;
    pub const COMMAND_SET_NAMESPACE: u32 = 0x05;
    pub const COMMAND_SET_CONTROLLER: u32 = 0x06;
    pub const COMMAND_SET_ACTIVE: u32 = 0x07;
    pub const INDEPENDENT_NAMESPACE: u32 = 0x08;
    pub const ALLOCATED_NAMESPACES: u32 = 0x10;
    pub const ALLOCATED_NAMESPACE: u32 = 0x11;
    pub const ATTACHED_CONTROLLERS: u32 = 0x12;
    pub const CONTROLLERS: u32 = 0x13;
    pub const ENDURANCE_GROUPS: u32 = 0x19;
    pub const COMMAND_SETS: u32 = 0x1c;
}

impl Request<'_> {
    /// Identify.
    pub(super) fn identify(&self) -> Result<Answer, Status> {
        let structure = self.command.dword(10) & 0xff;
        let command_set = self.command.dword(11) >> 24;
        if !self.controller.is_io() {
            return match structure {
                cns::CONTROLLER => Ok(data(self.discovery_controller())),
                _ => Err(Status::INVALID_FIELD),
            };
        }
        let takes_command_set = matches!(
            structure,
            cns::COMMAND_SET_NAMESPACE | cns::COMMAND_SET_CONTROLLER | cns::COMMAND_SET_ACTIVE
        );
        // The NVM command set is number 0, and the only one.
        if takes_command_set && command_set != 0 {
            return Err(Status::INVALID_FIELD);
        }
        match structure {
            cns::NAMESPACE if self.command.namespace == ALL_NAMESPACES => {
                Ok(data(self.namespace()))
            }
            cns::NAMESPACE | cns::ALLOCATED_NAMESPACE => {
                self.check_namespace()?;
                Ok(data(self.namespace()))
            }
            cns::CONTROLLER => Ok(data(self.io_controller())),
            cns::ACTIVE_NAMESPACES | cns::ALLOCATED_NAMESPACES | cns::COMMAND_SET_ACTIVE => {
                self.namespaces()
            }
            cns::DESCRIPTORS => {
                self.check_namespace()?;
                Ok(data(self.descriptors()))
            }
            cns::COMMAND_SET_NAMESPACE => {
                self.check_namespace_or_all()?;
                Ok(data(vec![0; PAGE]))
            }
            cns::COMMAND_SET_CONTROLLER => Ok(data(self.command_set_controller())),
            cns::INDEPENDENT_NAMESPACE => {
                self.check_namespace_or_all()?;
                Ok(data(independent_namespace()))
            }
            cns::ATTACHED_CONTROLLERS => {
                self.check_namespace()?;
                Ok(data(self.controller_list()))
            }
            cns::CONTROLLERS => Ok(data(self.controller_list())),
            cns::ENDURANCE_GROUPS => Ok(data(self.endurance_groups())),
            cns::COMMAND_SETS => Ok(data(command_sets())),
            _ => Err(Status::INVALID_FIELD),
        }
    }

    /// What both kinds of controllers say of themselves.
    fn common_controller(&self) -> Vec<u8> {
        let mut page = vec![0; PAGE];
        let names = Names::of(&self.target.options.subsystem);
        put_text(&mut page, 4, 20, &names.serial(), b' ');
        put_text(&mut page, 24, 40, "Anabranch emulated SSD", b' ');
        put_text(&mut page, 64, 8, env!("CARGO_PKG_VERSION"), b' ');
        put(&mut page, 77, &[MOST_DATA_SHIFT]);
        put(&mut page, 78, &self.controller.id.to_le_bytes());
        put(&mut page, 80, &VERSION.to_le_bytes());
        // Log Page Attributes: commands supported and effects, offsets, and the pages that list
        // what is supported.
        put(&mut page, 261, &[1 << 1 | 1 << 2 | 1 << 5]);
        put(&mut page, 262, &[(ERROR_ENTRIES - 1) as u8]);
        let entries = self.target.options.queue_entries;
        put(&mut page, 514, &entries.to_le_bytes());
        // SGLs, unaligned, with offsets in capsules and transport data blocks.
        let lists = 1_u32 | 1 << 20 | 1 << 21;
        put(&mut page, 536, &lists.to_le_bytes());
        page
    }

    fn discovery_controller(&self) -> Vec<u8> {
        let mut page = self.common_controller();
        // Controller Type: discovery.
        put(&mut page, 111, &[2]);
        put_text(&mut page, 768, 256, DISCOVERY, 0);
        page
    }

    fn io_controller(&self) -> Vec<u8> {
        let mut page = self.common_controller();
        let target = self.target;
        // There may be several controllers.
        put(&mut page, 76, &[1 << 1]);
        put(&mut page, 92, &NAMESPACE_NOTICES.to_le_bytes());
        // Host identifiers of 128 bits, endurance groups, traffic keeps alive; and perhaps FDP.
        let fdp = u32::from(target.mode == Mode::Fdp) << 19;
        let attributes = 1_u32 | 1 << 4 | 1 << 6 | fdp;
        put(&mut page, 96, &attributes.to_le_bytes());
        // Controller Type: I/O.
        put(&mut page, 111, &[1]);
        let directives = u16::from(target.mode != Mode::Plain) << 5;
        let optional_admin = 1_u16 << 1 | directives;
        put(&mut page, 256, &optional_admin.to_le_bytes());
        // Firmware: one slot, which is read-only (FRMW).
        put(&mut page, 260, &[1 << 1 | 1]);
        // Abort Command Limit and Asynchronous Event Request Limit, 0's based.
        put(&mut page, 258, &[3, (MOST_EVENT_REQUESTS - 1) as u8]);
        put(&mut page, 266, &WARNING_KELVIN.to_le_bytes());
        put(&mut page, 268, &CRITICAL_KELVIN.to_le_bytes());
        put(&mut page, 280, &u128::from(target.bytes).to_le_bytes());
        // Keep Alive Support: granularity of 1 s.
        put(&mut page, 320, &10_u16.to_le_bytes());
        put(&mut page, 340, &ENDURANCE_GROUP.to_le_bytes());
        // Sizes of queue entries: 64 and 16 bytes.
        put(&mut page, 512, &[0x66, 0x44]);
        put(&mut page, 516, &NAMESPACE.to_le_bytes());
        // Compare, Dataset Management, Write Zeroes, features that tell what can be saved, Timestamp,
        // Verify.
        let optional_io = 1_u16 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 6 | 1 << 7;
        put(&mut page, 520, &optional_io.to_le_bytes());
        // A format is of all namespaces.
        put(&mut page, 524, &[1]);
        // A write cache where there is a file; flushes may name all namespaces.
        put(&mut page, 525, &[u8::from(target.store.is_file()) | 3 << 1]);
        // Namespaces there may be (MNAN).
        put(&mut page, 540, &NAMESPACE.to_le_bytes());
        put_text(&mut page, 768, 256, &target.options.subsystem, 0);
        // In units of 16 bytes: capsules of commands and responses.
        let capsule = (64 + target.options.in_capsule_bytes) / 16;
        put(&mut page, 1792, &capsule.to_le_bytes());
        put(&mut page, 1796, &1_u32.to_le_bytes());
        // One descriptor to a list; I/O queues can be disconnected.
        put(&mut page, 1803, &[1, 1]);
        page
    }

    fn namespace(&self) -> Vec<u8> {
        let mut page = vec![0; PAGE];
        let target = self.target;
        let shift = target.block_shift();
        let mapped = target.drive().mapped_pages() * u64::from(target.page_bytes);
        put(&mut page, 0, &target.blocks().to_le_bytes());
        put(&mut page, 8, &target.blocks().to_le_bytes());
        put(&mut page, 16, &(mapped >> shift).to_le_bytes());
        // Thin provisioning: pages that hold nothing take none. Preferred sizes are told.
        put(&mut page, 24, &[1 | 1 << 4]);
        put(&mut page, 25, &[BLOCK_SHIFTS.len() as u8 - 1]);
        let format = BLOCK_SHIFTS.iter().position(|&one| one == shift);
        put(&mut page, 26, &[format.unwrap_or(0) as u8]);
        // Shared by controllers.
        put(&mut page, 30, &[1]);
        // Deallocated blocks read as zeroes, also those deallocated by Write Zeroes.
        put(&mut page, 33, &[1 | 1 << 3]);
        // Preferred write and deallocate granularity and alignment: a page, 0's based.
        let preferred = (target.page_bytes >> shift).max(1) as u16 - 1;
        for at in [64, 66, 68, 70, 72] {
            put(&mut page, at, &preferred.to_le_bytes());
        }
        put(&mut page, 102, &ENDURANCE_GROUP.to_le_bytes());
        for (index, shift) in BLOCK_SHIFTS.iter().enumerate() {
            put(&mut page, 128 + 4 * index + 2, &[*shift as u8]);
        }
        page
    }

    /// The namespaces greater than the one named.
    fn namespaces(&self) -> Result<Answer, Status> {
        // FFFFFFFEh and FFFFFFFFh are none to list from.
        if self.command.namespace >= ALL_NAMESPACES - 1 {
            return Err(Status::INVALID_NAMESPACE);
        }
        let mut page = vec![0; PAGE];
        if self.command.namespace < NAMESPACE {
            put(&mut page, 0, &NAMESPACE.to_le_bytes());
        }
        Ok(data(page))
    }

    /// Namespace Identification Descriptors: UUID and command set.
    fn descriptors(&self) -> Vec<u8> {
        let mut page = vec![0; PAGE];
        put(&mut page, 0, &[3, 16]);
        let names = Names::of(&self.target.options.subsystem);
        put(&mut page, 4, &names.uuid());
        put(&mut page, 20, &[4, 1]);
        page
    }

    /// Controllers of the drive from the one named on.
    fn controller_list(&self) -> Vec<u8> {
        let from = (self.command.dword(10) >> 16) as u16;
        let controllers = self.target.controllers();
        let io = controllers.iter().filter(|one| one.is_io());
        let ids: Vec<u16> = io.map(|one| one.id).filter(|&id| id >= from).collect();
        let mut page = vec![0; PAGE];
        let fit = ids.len().min(PAGE / 2 - 1);
        put(&mut page, 0, &(fit as u16).to_le_bytes());
        for (index, id) in ids.iter().take(fit).enumerate() {
            put(&mut page, 2 + 2 * index, &id.to_le_bytes());
        }
        page
    }

    /// Of the NVM command set (NVM §4.1.5.2): what a Verify and a Write Zeroes should not exceed
    /// (VSL, WZSL), and what of a Dataset Management command is processed (DMRL, DMRSL, DMSL).
    fn command_set_controller(&self) -> Vec<u8> {
        let mut page = vec![0; PAGE];
        put(&mut page, 0, &[MOST_DATA_SHIFT, MOST_ZEROED_SHIFT]);
        put(&mut page, 3, &[MOST_RANGES]);
        let blocks = MOST_DEALLOCATED >> self.target.block_shift();
        put(&mut page, 4, &(blocks as u32).to_le_bytes());
        put(&mut page, 8, &blocks.to_le_bytes());
        page
    }

    /// Endurance groups from the one named on.
    fn endurance_groups(&self) -> Vec<u8> {
        let from = self.command.dword(11) as u16;
        let mut page = vec![0; PAGE];
        if from <= ENDURANCE_GROUP {
            put(&mut page, 0, &1_u16.to_le_bytes());
            put(&mut page, 2, &ENDURANCE_GROUP.to_le_bytes());
        }
        page
    }
}

fn data(page: Vec<u8>) -> Answer {
    Answer::Data(page, 0)
}

/// What is the same in all command sets: shared, of our endurance group, and ready.
fn independent_namespace() -> Vec<u8> {
    let mut page = vec![0; PAGE];
    put(&mut page, 1, &[1]);
    put(&mut page, 12, &ENDURANCE_GROUP.to_le_bytes());
    put(&mut page, 14, &[1]);
    page
}

/// Combinations of command sets: the NVM command set alone.
fn command_sets() -> Vec<u8> {
    let mut page = vec![0; PAGE];
    put(&mut page, 0, &1_u64.to_le_bytes());
    page
}
