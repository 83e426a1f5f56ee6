//! SMART / Health Information Extended (C0h) of the Open Compute Project's Datacenter NVMe SSD
//! Specification, version 2.0: what hosts in data centres read of wear and of what placement costs.

use super::Request;
use crate::{completion::Status, health::Health, wire::put};

/// Bytes of the page.
const BYTES: usize = 512;
/// The version of the page, and its GUID, which names it.
const PAGE_VERSION: u16 = 3;
const GUID: u128 = 0xafd5_14c9_7c6f_4f9c_a4f2_bfea_2810_afc5;
/// Normalized count of parts that are as good as new, and the health of capacitors where there are none.
const AS_NEW: u16 = 100;
const NO_CAPACITORS: u16 = 0xffff;

impl Request<'_> {
    /// The page. Each requirement's number is that of the specification's table; what is not named is zero,
    /// as a drive of software has none of it: XOR, ECC and end-to-end errors (SMART-5 to 8), refreshes
    /// (SMART-10), throttling (SMART-12), PCIe (SMART-14, 26), security and firmware versions.
    pub(super) fn extended_health(&self) -> Result<Vec<u8>, Status> {
        if self.command.namespace != 0 {
            self.check_namespace_or_all()?;
        }
        let totals = self.target.totals.sums();
        let drive = self.target.drive();
        let (config, counters) = (drive.config(), drive.counters());
        let page_bytes = u128::from(config.page_bytes);
        let (most, least) = drive.erases();
        let bad = counters.retired_units + u64::from(config.faults.factory_bad_units);
        let groups = 0..config.reclaim_groups;
        let free: u64 = groups.map(|group| u64::from(drive.free_units(group))).sum();
        let blocks = |one: &crate::namespace::Namespace| {
            (one.mapped_pages() * u64::from(config.page_bytes)) >> one.block_shift()
        };
        let used_blocks: u64 = drive.namespaces().iter().map(|one| blocks(one)).sum();
        let endurance = u128::from(config.wear.rated_erases) * u128::from(config.physical_bytes());
        let mut page = vec![0; BYTES];
        let mut field = |at: usize, bytes: &[u8]| put(&mut page, at, bytes);
        // SMART-1 and 2: bytes that were written to the media and read from it, by hosts and by garbage
        // collection. A read of blocks that hold nothing counts as one of the media.
        let written = u128::from(counters.media_pages()) * page_bytes;
        let read = u128::from(totals.read_bytes) + u128::from(counters.copied_pages) * page_bytes;
        field(0, &written.to_le_bytes());
        field(16, &read.to_le_bytes());
        // SMART-3 and 4: bad blocks of users, six bytes, and what is left of the spare, two; of the system
        // there are none.
        field(32, &bad.to_le_bytes()[..6]);
        field(38, &u16::from(Health::of(&drive).spare).to_le_bytes());
        field(46, &AS_NEW.to_le_bytes());
        // SMART-11: most and fewest erases of a unit.
        field(88, &most.to_le_bytes());
        field(92, &least.to_le_bytes());
        // SMART-13: errata, point and minor version 0, major version 2.
        field(103, &[2]);
        // SMART-15: times the drive was not stopped.
        let incomplete = totals.unsafe_shutdowns.min(u32::MAX.into()) as u32;
        field(112, &incomplete.to_le_bytes());
        // SMART-17: units that are free, in percent.
        let percent = free * 100 / u64::from(config.physical_units).max(1);
        field(120, &[percent as u8]);
        field(128, &NO_CAPACITORS.to_le_bytes());
        // SMART-23: NUSE of all namespaces.
        field(152, &used_blocks.to_le_bytes());
        // SMART-25: bytes that could be written in all were nothing copied; 0 where no erases are rated.
        field(176, &endurance.to_le_bytes());
        field(494, &PAGE_VERSION.to_le_bytes());
        field(496, &GUID.to_le_bytes());
        Ok(page)
    }
}
