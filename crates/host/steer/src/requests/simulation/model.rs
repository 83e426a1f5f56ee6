//! Contents that a drive may have, by its answers.

use std::collections::BTreeMap;

use super::drive::Version;

/// Contents that sectors may have, by the answers so far.
pub struct Model {
    sectors: Vec<Sector>,
    /// Counts all that begins.
    clock: u64,
}

#[derive(Default, Clone)]
struct Sector {
    /// Versions that a read may find.
    found: Vec<Version>,
    /// Versions that may be there after power was lost, and when their writes began.
    kept: Vec<(Version, u64)>,
    /// Whether a write is under way.
    is_changing: bool,
}

/// When a flush began, and what sectors held by then.
pub struct FlushBegun(u64, BTreeMap<usize, Vec<Version>>);

impl Model {
    pub fn new(sectors: usize) -> Model {
        let empty = Sector {
            found: vec![0],
            kept: vec![(0, 0)],
            is_changing: false,
        };
        Model {
            sectors: vec![empty; sectors],
            clock: 0,
        }
    }

    /// A write begins: from now on the drive may hold it.
    pub fn begin(&mut self, first: usize, versions: &[Version]) {
        self.clock += 1;
        for (sector, &version) in self.sectors[first..].iter_mut().zip(versions) {
            sector.is_changing = true;
            sector.found.push(version);
            sector.kept.push((version, self.clock));
        }
    }

    /// A write is answered.
    pub fn end(&mut self, first: usize, versions: &[Version], answer: Result<bool, i32>) {
        for (sector, &version) in self.sectors[first..].iter_mut().zip(versions) {
            sector.is_changing = false;
            if let Ok(is_safe) = answer {
                sector.found = vec![version];
                if is_safe {
                    sector.kept = vec![(version, self.clock)];
                }
            }
        }
    }

    pub fn begin_flush(&mut self) -> FlushBegun {
        self.clock += 1;
        let at_rest = self.sectors.iter().enumerate();
        let at_rest = at_rest.filter(|(_, sector)| !sector.is_changing);
        let held = at_rest.map(|(index, sector)| (index, sector.found.clone()));
        FlushBegun(self.clock, held.collect())
    }

    /// Makes safe all that was answered before the flush began.
    pub fn end_flush(&mut self, FlushBegun(begun, held): FlushBegun) {
        for (index, found) in held {
            let kept = &mut self.sectors[index].kept;
            kept.retain(|(version, since)| *since > begun || found.contains(version));
        }
    }

    /// Whether a read of a sector may find a version.
    pub fn may_read(&self, sector: usize, version: Version) -> bool {
        self.sectors[sector].found.contains(&version)
    }

    /// Power was lost: the drive holds this now, which must be something that it may.
    pub fn find(&mut self, index: usize, version: Version) {
        let sector = &mut self.sectors[index];
        let may = sector.kept.iter().any(|&(kept, _)| kept == version);
        assert!(
            may,
            "sector {index} holds {version}, and not of {:?}",
            sector.kept
        );
        *sector = Sector {
            found: vec![version],
            kept: vec![(version, 0)],
            is_changing: false,
        };
    }
}
