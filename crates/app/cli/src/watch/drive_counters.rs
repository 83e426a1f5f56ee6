//! Write counters of an NVMe drive itself.

use anabranch_watch::DriveView;

use crate::block::Block;

/// A drive that counts, and what it had counted when watching began.
#[cfg(feature = "steer")]
pub struct DriveCounters {
    log: anabranch_nvme_host::Log,
    /// Number of its log: another one counts otherwise.
    name: &'static str,
    host_bytes: u128,
    media_bytes: Option<u128>,
}

#[cfg(feature = "steer")]
impl DriveCounters {
    /// Of a device that is an NVMe drive, or a partition of one.
    fn of(block: &Block) -> Option<DriveCounters> {
        let log = anabranch_nvme_host::Log::open(&block.character()?).ok()?;
        let (name, host_bytes, media_bytes, _) = counted(&log)?;
        Some(DriveCounters {
            log,
            name,
            host_bytes,
            media_bytes,
        })
    }

    /// Of one that was away: a drive's logs outlive that, and counting goes on from where it began.
    pub fn again(before: Option<DriveCounters>, block: &Block) -> Option<DriveCounters> {
        let now = DriveCounters::of(block);
        match (now, before) {
            (Some(now), Some(before)) if now.name == before.name => Some(DriveCounters {
                log: now.log,
                ..before
            }),
            (now, _) => now,
        }
    }

    /// Returns the counts since then; nothing while the drive does not answer, or not with that log.
    pub fn sample(&self) -> Option<DriveView> {
        let answer = counted(&self.log).filter(|(name, ..)| *name == self.name);
        let (log, host, media, grain_bytes) = answer?;
        let small = |bytes: u128| u64::try_from(bytes).unwrap_or(u64::MAX);
        let host_bytes = small(host.saturating_sub(self.host_bytes));
        let media = media.zip(self.media_bytes);
        let media_bytes = media.map(|(now, before)| small(now.saturating_sub(before)));
        Some(DriveView::new(log, host_bytes, media_bytes, grain_bytes))
    }
}

/// A log's name, the host's bytes, the flash's, and their unit.
#[cfg(feature = "steer")]
fn counted(log: &anabranch_nvme_host::Log) -> Option<(&'static str, u128, Option<u128>, u64)> {
    match log.written() {
        Some((name, written)) => {
            let media_bytes = Some(written.media_bytes);
            Some((name, written.host_bytes, media_bytes, written.grain_bytes))
        }
        None => Some(("SMART log", log.host_bytes()?, None, 512_000)),
    }
}

/// A build without `steer` cannot read a drive's counters, so this type has no value.
#[cfg(not(feature = "steer"))]
pub enum DriveCounters {}

#[cfg(not(feature = "steer"))]
impl DriveCounters {
    pub fn again(_before: Option<DriveCounters>, _block: &Block) -> Option<DriveCounters> {
        None
    }

    pub fn sample(&self) -> Option<DriveView> {
        None
    }
}
