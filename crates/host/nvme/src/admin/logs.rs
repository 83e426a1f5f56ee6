//! Get Log Page (§5.1.12).

use super::{Request, identify::ENDURANCE_GROUP};
use crate::{
    completion::{Answer, Status},
    connect::ANY_CONTROLLER,
    controller::ErrorEntry,
    drive::Mode,
    health::{Health, KELVIN, SPARE_THRESHOLD},
    options::{DISCOVERY, MOST_DATA},
    totals::Tally,
    wire::{put, put_text},
};

/// Controllers that have a log page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Every,
    Io,
    /// I/O controllers of a drive with Flexible Data Placement.
    Fdp,
    Discovery,
}

/// A log page: its identifier, the controllers that have it, and its contents.
type Page = (u8, Of, fn(&Request<'_>) -> Result<Vec<u8>, Status>);

/// Every log page.
const PAGES: &[Page] = &[
    (0x00, Of::Every, |request| Ok(request.supported())),
    (0x01, Of::Every, |request| Ok(request.errors())),
    (0x02, Of::Io, |request| request.health()),
    (0x03, Of::Io, |_| Ok(firmware())),
    (0x04, Of::Io, |request| Ok(request.changed_namespaces())),
    (0x05, Of::Every, |request| Ok(request.effects())),
    (0x09, Of::Io, |request| request.endurance_group()),
    (0x12, Of::Every, |request| Ok(request.feature_effects())),
    // There is no management interface: no command of it is supported.
    (0x13, Of::Every, |_| Ok(vec![0; 4096])),
    (0x20, Of::Fdp, |request| request.fdp_configurations()),
    (0x21, Of::Fdp, |request| request.fdp_usage()),
    (0x22, Of::Fdp, |request| request.fdp_statistics()),
    (0x23, Of::Fdp, |request| request.fdp_events()),
    (0x70, Of::Discovery, |request| Ok(request.discovery())),
    (0xc0, Of::Io, |request| request.extended_health()),
];

/// A data unit of the health page: 1000 times 512 bytes, rounded up.
const DATA_UNIT: u64 = 512_000;
/// A data unit of the endurance group page: a billion bytes, rounded up.
const BILLION: u64 = 1_000_000_000;
const MS_PER_HOUR: u64 = 3_600_000;

impl Request<'_> {
    /// Get Log Page: what lies from the offset on, as much as was asked for.
    pub(super) fn log_page(&self) -> Result<Answer, Status> {
        let command = self.command;
        let dwords =
            u64::from(command.dword(10) >> 16) | u64::from(command.dword(11) & 0xffff) << 16;
        let length = (dwords + 1) * 4;
        let offset = u64::from(command.dword(12)) | u64::from(command.dword(13)) << 32;
        if offset % 4 != 0 || length > MOST_DATA.into() {
            return Err(Status::INVALID_FIELD);
        }
        let id = command.dword(10) as u8;
        let page = PAGES.iter().find(|page| page.0 == id && self.has(page));
        let page = page.ok_or(Status::INVALID_LOG_PAGE)?.2(self)?;
        if offset > page.len() as u64 {
            return Err(Status::INVALID_FIELD);
        }
        let begin = offset as usize;
        let end = page.len().min(begin.saturating_add(length as usize));
        Ok(Answer::Data(
            page.get(begin..end).unwrap_or_default().to_vec(),
            0,
        ))
    }

    fn has(&self, page: &Page) -> bool {
        let io = self.controller.is_io();
        match page.1 {
            Of::Every => true,
            Of::Io => io,
            Of::Fdp => io && self.target.facts.mode == Mode::Fdp,
            Of::Discovery => !io,
        }
    }

    /// Supported Log Pages (00h).
    fn supported(&self) -> Vec<u8> {
        let mut bytes = vec![0; 1024];
        for page in PAGES.iter().filter(|page| self.has(page)) {
            put(&mut bytes, 4 * usize::from(page.0), &[1]);
        }
        bytes
    }

    /// Error Information (01h), newest first.
    fn errors(&self) -> Vec<u8> {
        let state = self.controller.state();
        let mut bytes = vec![0; 64 * crate::options::ERROR_ENTRIES];
        for (index, entry) in state.errors.iter().enumerate() {
            put(&mut bytes, 64 * index, &encode(entry));
        }
        bytes
    }

    /// SMART / Health Information (02h).
    fn health(&self) -> Result<Vec<u8>, Status> {
        match self.command.namespace {
            0 => {}
            _ => self.check_namespace_or_all()?,
        }
        let totals = self.target.totals.sums();
        let health = Health::of(&self.target.drive());
        let mut bytes = vec![0; 512];
        put(&mut bytes, 0, &[self.controller.warnings(health)]);
        put(&mut bytes, 1, &KELVIN.to_le_bytes());
        let Health { spare, used, .. } = health;
        put(
            &mut bytes,
            3,
            &[spare, SPARE_THRESHOLD, used, health.warnings()],
        );
        let hours = self.served_ms(&totals) / MS_PER_HOUR;
        for (at, value) in [
            (32, totals.read_bytes.div_ceil(DATA_UNIT)),
            (48, totals.written_bytes.div_ceil(DATA_UNIT)),
            (64, totals.reads),
            (80, totals.writes),
            (112, totals.power_cycles),
            (128, hours),
            (144, totals.unsafe_shutdowns),
            (176, totals.failed),
        ] {
            put(&mut bytes, at, &u128::from(value).to_le_bytes());
        }
        Ok(bytes)
    }

    /// Endurance Group Information (09h): what the host wrote, and what it came to on the media.
    fn endurance_group(&self) -> Result<Vec<u8>, Status> {
        if (self.command.dword(11) >> 16) as u16 != ENDURANCE_GROUP {
            return Err(Status::INVALID_FIELD);
        }
        let totals = self.target.totals.sums();
        let (health, media_pages, free) = {
            let drive = self.target.drive();
            let free = drive.namespaces().free_bytes();
            (Health::of(&drive), drive.counters().media_pages(), free)
        };
        let media = media_pages * u64::from(self.target.facts.page_bytes);
        let mut bytes = vec![0; 512];
        put(&mut bytes, 0, &[health.warnings()]);
        let Health { spare, used, .. } = health;
        put(&mut bytes, 3, &[spare, SPARE_THRESHOLD, used]);
        for (at, value) in [
            (48, totals.read_bytes.div_ceil(BILLION)),
            (64, totals.written_bytes.div_ceil(BILLION)),
            (80, media.div_ceil(BILLION)),
            (96, totals.reads),
            (112, totals.writes),
            (144, totals.failed),
            (160, self.target.facts.bytes),
            (176, free),
        ] {
            put(&mut bytes, at, &u128::from(value).to_le_bytes());
        }
        Ok(bytes)
    }

    fn served_ms(&self, totals: &Tally) -> u64 {
        totals.served_ms + self.target.now_ms()
    }

    /// Changed Attached Namespace List (04h). Read, it is empty, and events may come again.
    fn changed_namespaces(&self) -> Vec<u8> {
        let mut bytes = vec![0; 4096];
        let retain = self.command.dword(10) >> 15 & 1 != 0;
        let mut state = self.controller.state();
        for (place, id) in state.changed_namespaces.iter().enumerate() {
            put(&mut bytes, 4 * place, &id.to_le_bytes());
        }
        if !retain {
            state.changed_namespaces.clear();
            state.told_changed = false;
        }
        bytes
    }

    /// Discovery (70h): the drive, at the address that is advertised, or else the host came to.
    fn discovery(&self) -> Vec<u8> {
        const ENTRY: usize = 1024;
        let mut bytes = vec![0; 2 * ENTRY];
        // Generation 1, and one record.
        put(&mut bytes, 0, &1_u64.to_le_bytes());
        put(&mut bytes, 8, &1_u64.to_le_bytes());
        let entry = &mut bytes[ENTRY..];
        let address = self.target.options.advertised.unwrap_or(self.address);
        let family = if address.is_ipv4() { 1 } else { 2 };
        // TCP; its address family; an NVM subsystem; a secure channel is required (1) or is not (2), flow
        // control may be disabled, and a host may give no identifier (ZHIDS: such a host is one of its own);
        // and what the channel is: TLS 1.3 (TCP §3.6.1, SECTYPE).
        let secure = self.target.options.keys.tls.is_some();
        put(
            entry,
            0,
            &[3, family, 2, 1 << 2 | 1 << 3 | if secure { 1 } else { 2 }],
        );
        put(entry, 768, &[if secure { 2 } else { 0 }]);
        // Port 0, and controllers that are dynamic (CNTLID FFFFh).
        put(entry, 6, &ANY_CONTROLLER.to_le_bytes());
        put(entry, 8, &self.target.options.admin_entries().to_le_bytes());
        put_text(entry, 32, 32, &address.port().to_string(), b' ');
        put_text(entry, 256, 256, &self.target.options.subsystem, 0);
        put_text(entry, 512, 256, &address.ip().to_string(), b' ');
        bytes
    }
}

/// Firmware Slot Information (03h): slot 1, which is active.
fn firmware() -> Vec<u8> {
    let mut bytes = vec![0; 512];
    put(&mut bytes, 0, &[1]);
    put_text(&mut bytes, 8, 8, env!("CARGO_PKG_VERSION"), b' ');
    bytes
}

fn encode(entry: &ErrorEntry) -> [u8; 64] {
    let mut bytes = [0; 64];
    put(&mut bytes, 0, &entry.count.to_le_bytes());
    put(&mut bytes, 8, &entry.queue.to_le_bytes());
    put(&mut bytes, 10, &entry.identifier.to_le_bytes());
    put(&mut bytes, 12, &(entry.status.field() << 1).to_le_bytes());
    // No parameter is named.
    put(&mut bytes, 14, &0xffff_u16.to_le_bytes());
    put(&mut bytes, 16, &entry.block.to_le_bytes());
    put(&mut bytes, 24, &entry.namespace.to_le_bytes());
    // Transport Type: TCP.
    put(&mut bytes, 29, &[3, 0, entry.opcode]);
    bytes
}

/// The discovery subsystem's name is the same everywhere.
const _: () = assert!(DISCOVERY.len() < 224);
