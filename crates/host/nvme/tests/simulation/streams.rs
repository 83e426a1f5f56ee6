//! Counts of writes by stream: a model of streams and handles.

use anabranch_initiator::Tag;
use anabranch_nvme::drive::ServedDrive;
use anabranch_ssd::streams::{Scope, StreamHost, StreamTable};

use super::plan::{Kind, Part, Plan};

/// The host streams' pages, as they must be.
#[derive(Debug)]
pub struct Streams {
    kind: Kind,
    handles: u16,
    groups: u32,
    /// Of each namespace.
    first_handles: Vec<u16>,
    /// Its units fail: it counts pages as their data come, before their command is answered.
    can_fail: bool,
    table: StreamTable,
    pages: Vec<u64>,
    /// Pages of commands of which nobody can say whether they were counted, and where.
    unsure: u64,
    /// Pages for which the reclaim group named had no room, before the last check.
    misplaced: u64,
}

pub fn scope(identity: u8, namespace: u32) -> Scope {
    Scope {
        namespace,
        host: StreamHost::Identified(identity.into()),
    }
}

impl Streams {
    pub fn new(plan: &Plan) -> Streams {
        let groups = plan.config.reclaim_groups;
        let table = StreamTable::new(plan.config.host_streams.saturating_sub(1));
        Streams {
            kind: plan.kind,
            handles: plan.config.host_streams / groups as u16,
            groups,
            can_fail: plan.config.faults.can_lose_units(),
            first_handles: plan
                .parts
                .iter()
                .flat_map(|part| part.handles.first().copied())
                .collect(),
            table: match plan.kind {
                Kind::Streams { shared: true } => table.sharing_identifiers(),
                _ => table,
            },
            pages: vec![0; plan.config.host_streams.into()],
            unsure: 0,
            misplaced: 0,
        }
    }

    pub fn total(&self) -> u64 {
        self.pages.iter().sum()
    }

    pub fn table(&mut self) -> &mut StreamTable {
        &mut self.table
    }

    /// Pages were written as a tag says.
    pub fn wrote(&mut self, identity: u8, part: &Part, tag: Tag, pages: u64) {
        let stream = match tag {
            Tag::None => part.handles.first().copied().unwrap_or(0),
            Tag::Stream(identifier) => {
                let resolved = self.table.resolve(scope(identity, part.id), identifier);
                resolved.stream.0
            }
            Tag::Placement(identifier) => self.placed(part, identifier),
        };
        self.pages[usize::from(stream)] += pages;
    }

    pub fn perhaps_wrote(&mut self, pages: u64) {
        self.unsure += pages;
    }

    /// Reclaim group in the upper bits, as few as tell them apart; the namespace's first handle where there
    /// is none such.
    fn placed(&self, part: &Part, identifier: u16) -> u16 {
        let (group, handle) = match self.groups {
            1 => (0, identifier),
            _ => (identifier >> 15, identifier & 0x7fff),
        };
        match part.handles.get(usize::from(handle)) {
            Some(handle) => group * self.handles + handle,
            None => part.handles.first().copied().unwrap_or(0),
        }
    }

    /// The drive has counted as it should; where nobody could know, it is believed.
    pub fn check(&mut self, drive: &ServedDrive) -> Result<(), String> {
        let counters = &drive.stream_counters()[..self.pages.len()];
        let counted: Vec<u64> = counters.iter().map(|one| one.host_pages).collect();
        if self.can_fail {
            self.unsure = u64::MAX;
            self.pages = counted.clone();
        }
        let misplaced = drive.counters().misplaced_pages;
        let misplaces = misplaced > std::mem::replace(&mut self.misplaced, misplaced);
        let fold = |pages: &[u64]| self.folded(pages, misplaces);
        let (are, ought) = (fold(&counted), fold(&self.pages));
        // A write that was counted perhaps opened a stream perhaps, and others then another.
        let opens = self.unsure > 0 && matches!(self.kind, Kind::Streams { .. });
        let fewer = !opens && are.iter().zip(&ought).any(|(are, ought)| are < ought);
        let surplus = are.iter().sum::<u64>().wrapping_sub(ought.iter().sum());
        if fewer || surplus > self.unsure {
            return Err(format!(
                "pages of streams are {are:?}, ought to be {ought:?} and {} perhaps",
                self.unsure
            ));
        }
        if self.unsure > 0
            && let Some(table) = drive.table()
        {
            self.table = table.clone();
        }
        (self.pages, self.unsure) = (counted, 0);
        Ok(())
    }

    /// The drive is as it was saved, and took in so many pages.
    pub fn restart(
        &mut self,
        plan: &Plan,
        drive: &ServedDrive,
        saved: &[u64],
        taken_in: u64,
    ) -> Result<(), String> {
        *self = Streams::new(plan);
        self.pages[..saved.len()].copy_from_slice(saved);
        match plan.parts.len() {
            1 => self.pages[0] += taken_in,
            // Of which namespaces they are is seen.
            _ => self.unsure += taken_in,
        }
        self.check(drive)
    }

    /// Writes without a placement go to a namespace's first handle, in the reclaim group that the drive
    /// chooses, and what has no room in its group to the same handle of another: those count as one.
    fn folded(&self, pages: &[u64], misplaces: bool) -> Vec<u64> {
        let mut folded = pages.to_vec();
        if self.kind == Kind::Fdp {
            for group in 1..self.groups as usize {
                for handle in 0..self.handles {
                    if misplaces || self.first_handles.contains(&handle) {
                        let other = group * usize::from(self.handles) + usize::from(handle);
                        folded[usize::from(handle)] += std::mem::take(&mut folded[other]);
                    }
                }
            }
        }
        folded
    }
}
