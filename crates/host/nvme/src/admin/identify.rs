//! Identify (§5.1.13; NVM §4.1.5).

use std::sync::Arc;

use super::{Request, names::Names};
use crate::{
    command::ALL_NAMESPACES,
    completion::{Answer, Status},
    controller::{Controller, VERSION},
    drive::Mode,
    health::{CRITICAL_KELVIN, WARNING_KELVIN},
    namespace::{BLOCK_SHIFTS, MOST_NAMESPACES, Namespace},
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

/// The block size of an LBA format.
pub(super) fn block_shift_of(format: u8) -> Option<u32> {
    BLOCK_SHIFTS.get(usize::from(format)).copied()
}

/// Set of namespaces to search: those of the controller, or all.
enum Scope {
    Attached,
    Allocated,
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
    pub const COMMAND_SET_ALLOCATED: u32 = 0x1a;
    pub const COMMAND_SETS: u32 = 0x1c;
}

impl Request<'_> {
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
            cns::COMMAND_SET_NAMESPACE
                | cns::COMMAND_SET_CONTROLLER
                | cns::COMMAND_SET_ACTIVE
                | cns::COMMAND_SET_ALLOCATED
        );
        // The NVM command set is number 0, and the only one.
        if takes_command_set && command_set != 0 {
            return Err(Status::INVALID_FIELD);
        }
        match structure {
            // What is common to all.
            cns::NAMESPACE if self.command.namespace == ALL_NAMESPACES => {
                Ok(data(self.identify_namespace(None)))
            }
            cns::NAMESPACE => self.of_namespace(Scope::Attached, |namespace| {
                self.identify_namespace(Some(namespace))
            }),
            cns::ALLOCATED_NAMESPACE => self.of_namespace(Scope::Allocated, |namespace| {
                self.identify_namespace(Some(namespace))
            }),
            cns::CONTROLLER => Ok(data(self.io_controller())),
            cns::ACTIVE_NAMESPACES | cns::COMMAND_SET_ACTIVE => {
                self.namespace_list(&self.controller.namespaces())
            }
            cns::ALLOCATED_NAMESPACES | cns::COMMAND_SET_ALLOCATED => {
                self.namespace_list(&self.target.namespaces())
            }
            cns::DESCRIPTORS => Ok(data(self.descriptors(&*self.namespace()?))),
            cns::COMMAND_SET_NAMESPACE if self.command.namespace == ALL_NAMESPACES => {
                Ok(data(vec![0; PAGE]))
            }
            cns::COMMAND_SET_NAMESPACE => self.of_namespace(Scope::Attached, |_| vec![0; PAGE]),
            cns::COMMAND_SET_CONTROLLER => Ok(data(self.command_set_controller())),
            cns::INDEPENDENT_NAMESPACE if self.command.namespace == ALL_NAMESPACES => {
                Ok(data(independent_namespace(true)))
            }
            cns::INDEPENDENT_NAMESPACE => self.of_namespace(Scope::Attached, |namespace| {
                independent_namespace(namespace.is_shared())
            }),
            cns::ATTACHED_CONTROLLERS => {
                let id = self.command.namespace;
                self.check_identifier(id)?;
                Ok(data(self.controller_list(|one| one.has(id))))
            }
            cns::CONTROLLERS => Ok(data(self.controller_list(|_| true))),
            cns::ENDURANCE_GROUPS => Ok(data(self.endurance_groups())),
            cns::COMMAND_SETS => Ok(data(command_sets())),
            _ => Err(Status::INVALID_FIELD),
        }
    }

    /// Fields that both kinds of controllers have.
    fn common_controller(&self) -> Vec<u8> {
        let mut page = vec![0; PAGE];
        let names = Names::of(&self.target.options.subsystem);
        put_text(&mut page, 4, 20, &names.serial(), b' ');
        put_text(&mut page, 24, 40, "Anabranch emulated SSD", b' ');
        put_text(&mut page, 64, 8, env!("CARGO_PKG_VERSION"), b' ');
        put(&mut page, 77, &[MOST_DATA_SHIFT]);
        put(&mut page, 78, &self.controller.id.to_le_bytes());
        put(&mut page, 80, &VERSION.to_le_bytes());
        // What discovery controllers that stay connected must have as well (§3.1.3.3): events, requests for
        // them (AERL, after the Abort Command Limit; both 0's based), Keep Alive with a granularity of 1 s.
        put(&mut page, 92, &self.controller.notices().to_le_bytes());
        put(&mut page, 258, &[3, (MOST_EVENT_REQUESTS - 1) as u8]);
        put(&mut page, 320, &10_u16.to_le_bytes());
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
        // Host identifiers of 128 bits, endurance groups, traffic keeps alive; and perhaps FDP.
        let fdp = u32::from(target.facts.mode == Mode::Fdp) << 19;
        let attributes = 1_u32 | 1 << 4 | 1 << 6 | fdp;
        put(&mut page, 96, &attributes.to_le_bytes());
        // Controller Type: I/O.
        put(&mut page, 111, &[1]);
        let directives = u16::from(target.facts.mode != Mode::Plain) << 5;
        // Format, Namespace Management and Attachment, and perhaps directives.
        let optional_admin = 1_u16 << 1 | 1 << 3 | directives;
        put(&mut page, 256, &optional_admin.to_le_bytes());
        // Firmware: one slot, which is read-only (FRMW).
        put(&mut page, 260, &[1 << 1 | 1]);
        put(&mut page, 266, &WARNING_KELVIN.to_le_bytes());
        put(&mut page, 268, &CRITICAL_KELVIN.to_le_bytes());
        // Bytes there are, and those that are no namespace's (TNVMCAP, UNVMCAP).
        let free = target.drive().namespaces().free_bytes();
        put(
            &mut page,
            280,
            &u128::from(target.facts.bytes).to_le_bytes(),
        );
        put(&mut page, 296, &u128::from(free).to_le_bytes());
        put(&mut page, 340, &ENDURANCE_GROUP.to_le_bytes());
        // Sizes of queue entries: 64 and 16 bytes.
        put(&mut page, 512, &[0x66, 0x44]);
        put(&mut page, 516, &MOST_NAMESPACES.to_le_bytes());
        // Compare, Dataset Management, Write Zeroes, features that tell what can be saved, Timestamp,
        // Verify.
        let optional_io = 1_u16 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 6 | 1 << 7;
        put(&mut page, 520, &optional_io.to_le_bytes());
        // A write cache where there is a file; flushes may name all namespaces.
        put(&mut page, 525, &[u8::from(target.store.is_file()) | 3 << 1]);
        // Namespaces there may be (MNAN).
        put(&mut page, 540, &MOST_NAMESPACES.to_le_bytes());
        put_text(&mut page, 768, 256, &target.options.subsystem, 0);
        // In units of 16 bytes: capsules of commands and responses.
        let capsule = (64 + target.options.in_capsule_bytes) / 16;
        put(&mut page, 1792, &capsule.to_le_bytes());
        put(&mut page, 1796, &1_u32.to_le_bytes());
        // One descriptor to a list; I/O queues can be disconnected.
        put(&mut page, 1803, &[1, 1]);
        page
    }

    /// Of a namespace that there is; zeroes of one that there may be (§5.1.13.2.1).
    fn of_namespace(
        &self,
        scope: Scope,
        tell: impl FnOnce(&Namespace) -> Vec<u8>,
    ) -> Result<Answer, Status> {
        let id = self.command.namespace;
        self.check_identifier(id)?;
        let found = match scope {
            Scope::Attached => self.namespace().ok(),
            Scope::Allocated => self.target.drive().namespaces().get(id).cloned(),
        };
        Ok(data(found.map_or_else(|| vec![0; PAGE], |one| tell(&one))))
    }

    /// Identify Namespace (NVM §4.1.5.1), or what of it is common to all namespaces.
    fn identify_namespace(&self, namespace: Option<&Namespace>) -> Vec<u8> {
        let mut page = vec![0; PAGE];
        let target = self.target;
        let shift = namespace.map_or(12, Namespace::block_shift);
        // Thin provisioning: pages that hold nothing take none. Preferred sizes are told.
        put(&mut page, 24, &[1 | 1 << 4]);
        put(&mut page, 25, &[BLOCK_SHIFTS.len() as u8 - 1]);
        if let Some(namespace) = namespace {
            let mapped = namespace.mapped_pages() * u64::from(target.facts.page_bytes);
            let blocks = namespace.blocks();
            put(&mut page, 0, &blocks.to_le_bytes());
            put(&mut page, 8, &blocks.to_le_bytes());
            put(&mut page, 16, &(mapped >> shift).min(blocks).to_le_bytes());
            let format = BLOCK_SHIFTS.iter().position(|&one| one == shift);
            put(&mut page, 26, &[format.unwrap_or(0) as u8]);
            // Whether several controllers may have it.
            put(&mut page, 30, &[u8::from(namespace.is_shared())]);
            let capacity = u128::from(namespace.capacity());
            put(&mut page, 48, &capacity.to_le_bytes());
        }
        // Deallocated blocks read as zeroes, also those deallocated by Write Zeroes.
        put(&mut page, 33, &[1 | 1 << 3]);
        // Preferred write and deallocate granularity and alignment: a page, 0's based.
        let preferred = (target.facts.page_bytes >> shift).max(1) as u16 - 1;
        for at in [64, 66, 68, 70, 72] {
            put(&mut page, at, &preferred.to_le_bytes());
        }
        put(&mut page, 102, &ENDURANCE_GROUP.to_le_bytes());
        for (index, shift) in BLOCK_SHIFTS.iter().enumerate() {
            put(&mut page, 128 + 4 * index + 2, &[*shift as u8]);
        }
        page
    }

    /// The namespaces greater than the one named, of those.
    fn namespace_list(&self, all: &[Arc<Namespace>]) -> Result<Answer, Status> {
        // FFFFFFFEh and FFFFFFFFh are none to list from.
        if self.command.namespace >= ALL_NAMESPACES - 1 {
            return Err(Status::INVALID_NAMESPACE);
        }
        let mut page = vec![0; PAGE];
        let ids = all.iter().map(|one| one.id());
        let greater = ids.filter(|&id| id > self.command.namespace);
        for (place, id) in greater.enumerate() {
            put(&mut page, 4 * place, &id.to_le_bytes());
        }
        Ok(data(page))
    }

    /// Namespace Identification Descriptors: UUID and command set.
    fn descriptors(&self, namespace: &Namespace) -> Vec<u8> {
        let mut page = vec![0; PAGE];
        put(&mut page, 0, &[3, 16]);
        let names = Names::of(&self.target.options.subsystem);
        put(&mut page, 4, &names.uuid(namespace.birth()));
        put(&mut page, 20, &[4, 1]);
        page
    }

    /// Controllers of the drive from the one named on, of those that are such.
    fn controller_list(&self, is_such: impl Fn(&Controller) -> bool) -> Vec<u8> {
        let from = (self.command.dword(10) >> 16) as u16;
        let controllers = self.target.controllers();
        let io = controllers.iter().filter(|one| one.is_io() && is_such(one));
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
        // Said of all namespaces at once: as of the largest blocks that one has.
        let namespaces = self.controller.namespaces();
        let shifts = namespaces.iter().map(|one| one.block_shift());
        let blocks = MOST_DEALLOCATED >> shifts.max().unwrap_or(12);
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

/// Fields that are the same in all command sets: whether it is shared, our endurance group, and that it is ready.
fn independent_namespace(is_shared: bool) -> Vec<u8> {
    let mut page = vec![0; PAGE];
    put(&mut page, 1, &[is_shared.into()]);
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
