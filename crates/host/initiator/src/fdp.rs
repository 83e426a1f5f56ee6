//! Flexible Data Placement as a host uses it (Base §8.1.10).

use crate::{Completion, Entry, Host, Result, Transfer, number};

/// A configuration (log 20h; Base §5.1.12.1.28): its descriptor begins at byte 16 of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FdpConfiguration {
    /// Reclaim group identifier format: bits 3:0 of byte 2.
    pub group_bits: u8,
    /// Whether the descriptor is valid: bit 7 of byte 2.
    pub valid: bool,
    /// Reclaim groups, bytes 7:4.
    pub groups: u32,
    /// Reclaim unit handles, bytes 9:8.
    pub handles: u16,
    /// Placement identifiers a namespace may have, bytes 11:10, 0's based there, counted here.
    pub most_identifiers: u32,
    /// Namespaces, bytes 15:12.
    pub namespaces: u32,
    /// Bytes of a reclaim unit, bytes 23:16.
    pub unit_bytes: u64,
    /// Estimated time limit of a unit, bytes 27:24.
    pub time_limit_s: u32,
    /// Types of the handles, from byte 64 on, four bytes each: 1 initially, 2 persistently isolated.
    pub isolation: Vec<u8>,
}

/// FDP Statistics (log 22h; Base §5.1.12.1.30).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FdpStatistics {
    /// Host bytes with metadata written, bytes 15:0.
    pub host_bytes: u128,
    /// Media bytes with metadata written, bytes 31:16.
    pub media_bytes: u128,
    /// Media bytes erased, bytes 47:32.
    pub erased_bytes: u128,
}

/// The reclaim unit of a placement identifier (Base §7.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandleStatus {
    /// Placement identifier, bytes 1:0.
    pub identifier: u16,
    /// Reclaim unit handle, bytes 3:2.
    pub handle: u16,
    /// Reclaim unit available media writes, bytes 15:8, in logical blocks.
    pub available_blocks: u64,
}

/// An FDP event (log 23h; Base §5.1.12.1.31), 64 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FdpEvent {
    /// The event's type, byte 0.
    pub kind: u8,
    /// Valid fields, byte 1: bit 0 identifier, 1 namespace, 2 location.
    pub flags: u8,
    /// Placement identifier, bytes 3:2.
    pub identifier: u16,
    /// Namespace, bytes 15:12.
    pub namespace: u32,
}

impl Host {
    /// Reads the first FDP configuration of the namespace's endurance group.
    ///
    /// # Errors
    /// When the target refuses the command.
    pub fn fdp_configuration(&mut self) -> Result<FdpConfiguration> {
        let log = self.fdp_log(0x20, 4096)?;
        let at = 16;
        let field = |from: usize, length: usize| number(&log, at + from, length);
        let handles = field(8, 2) as u16;
        Ok(FdpConfiguration {
            group_bits: field(2, 1) as u8 & 0xf,
            valid: field(2, 1) & 0x80 != 0,
            groups: field(4, 4) as u32,
            handles,
            most_identifiers: field(10, 2) as u32 + 1,
            namespaces: field(12, 4) as u32,
            unit_bytes: field(16, 8) as u64,
            time_limit_s: field(24, 4) as u32,
            isolation: (0..usize::from(handles))
                .map(|handle| field(64 + 4 * handle, 1) as u8)
                .collect(),
        })
    }

    /// Reads the FDP statistics.
    ///
    /// # Errors
    /// When the target refuses the command.
    pub fn fdp_statistics(&mut self) -> Result<FdpStatistics> {
        let log = self.fdp_log(0x22, 64)?;
        Ok(FdpStatistics {
            host_bytes: number(&log, 0, 16),
            media_bytes: number(&log, 16, 16),
            erased_bytes: number(&log, 32, 16),
        })
    }

    /// Reads how handles are used (log 21h; Base §5.1.12.1.29): descriptors of 8 bytes from byte 8 on, whose byte 0 is
    /// 0 (unused), 1 (host specified) or 2 (controller specified).
    ///
    /// # Errors
    /// When the target refuses the command.
    pub fn fdp_usage(&mut self) -> Result<Vec<u8>> {
        let log = self.fdp_log(0x21, 1024)?;
        let handles = number(&log, 0, 2) as usize;
        Ok((0..handles)
            .map(|handle| number(&log, 8 + 8 * handle, 1) as u8)
            .collect())
    }

    /// Reads the host's events: log specific parameter, dword 10 bit 8, is 1.
    ///
    /// # Errors
    /// When the target refuses the command.
    pub fn fdp_events(&mut self) -> Result<Vec<FdpEvent>> {
        let group = self.namespace.endurance_group;
        let entry = Entry::log(0x23, u32::MAX, 4096, group);
        let ten = number(&entry.0, 40, 4) as u32;
        let log = self
            .admin
            .succeed(
                "fdp events",
                entry.dword(10, ten | 1 << 8),
                Transfer::In(4096),
            )?
            .data;
        let count = number(&log, 0, 4) as usize;
        let event = |place: usize| 64 + 64 * place;
        Ok((0..count)
            .map(|place| FdpEvent {
                kind: number(&log, event(place), 1) as u8,
                flags: number(&log, event(place) + 1, 1) as u8,
                identifier: number(&log, event(place) + 2, 2) as u16,
                namespace: number(&log, event(place) + 12, 4) as u32,
            })
            .collect())
    }

    /// Enables or disables kinds of events of a placement handle (feature 1Eh, Base §5.1.25.1.21):
    /// the handle in dword 11 bits 15:0, the number of kinds in 23:16, "enable" in dword 12 bit 0.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn enable_fdp_events(
        &mut self,
        handle: u16,
        kinds: &[u8],
        enable: bool,
    ) -> Result<Completion> {
        let eleven = u32::from(handle) | (kinds.len() as u32) << 16;
        let mut entry = Entry::feature(true, 0x1e, eleven).dword(12, u32::from(enable));
        entry.0[4..8].copy_from_slice(&1_u32.to_le_bytes());
        self.admin.run(entry, Transfer::out(kinds))
    }

    /// Reclaim Unit Handle Status (I/O Management Receive, 12h: MO 1 in dword 10 bits 7:0; Base §7.3).
    ///
    /// # Errors
    /// When the target refuses the command.
    pub fn handle_status(&mut self) -> Result<Vec<HandleStatus>> {
        let entry = Entry::new(0x12, 1).dword(10, 1).dword(11, 4096 / 4 - 1);
        let data = self
            .io()?
            .succeed("handle status", entry, Transfer::In(4096))?
            .data;
        let count = number(&data, 14, 2) as usize;
        let descriptor = |place: usize| 16 + 32 * place;
        Ok((0..count)
            .map(|place| HandleStatus {
                identifier: number(&data, descriptor(place), 2) as u16,
                handle: number(&data, descriptor(place) + 2, 2) as u16,
                available_blocks: number(&data, descriptor(place) + 8, 8) as u64,
            })
            .collect())
    }

    /// Reclaim Unit Handle Update (I/O Management Send, 1Dh: MO 1, the number of identifiers, 0's
    /// based, in dword 10 bits 31:16; Base §7.4).
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn update_handles(&mut self, identifiers: &[u16]) -> Result<Completion> {
        let data: Vec<u8> = identifiers
            .iter()
            .flat_map(|identifier| identifier.to_le_bytes())
            .collect();
        let entry = Entry::new(0x1d, 1).dword(10, 1 | (identifiers.len() as u32 - 1) << 16);
        self.io()?.run(entry, Transfer::out(data))
    }

    fn fdp_log(&mut self, page: u8, bytes: usize) -> Result<Vec<u8>> {
        let group = self.namespace.endurance_group;
        self.log(page, bytes, group)
    }
}
