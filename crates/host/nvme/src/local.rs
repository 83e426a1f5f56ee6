//! The drive as another front end of this process uses it: without connections, controllers and queues.
//!
//! A command costs and leaves the same as its NVMe counterpart: bytes go to the store, their pages to the
//! translation layer, in the order that [`crate::store`] promises.

use std::sync::Arc;

use anabranch_ssd::streams::Scope;

use crate::{
    completion::Status,
    drive::Hint,
    extent::Extent,
    namespace::Namespace,
    options::{DISCARDED_AT_ONCE, ZEROED_AT_ONCE},
    store::Store,
    target::Target,
    totals::Tally,
};

/// The one namespace of a target, to be read and written in place.
#[derive(Debug, Clone)]
pub struct Local {
    target: Arc<Target>,
    namespace: Arc<Namespace>,
}

impl Local {
    /// The namespace of a target that has one; `None` where it has none or several.
    pub fn of(target: &Arc<Target>) -> Option<Local> {
        let namespaces = <[Arc<Namespace>; 1]>::try_from(target.namespaces());
        let [namespace] = namespaces.ok()?;
        Some(Local {
            target: Arc::clone(target),
            namespace,
        })
    }

    /// The target whose namespace it is.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Logical blocks there are.
    pub fn blocks(&self) -> u64 {
        self.namespace.blocks()
    }

    /// Bytes of a logical block.
    pub fn block_bytes(&self) -> u32 {
        self.namespace.block_bytes()
    }

    /// Whether so many units have failed that the drive takes no more writes.
    pub fn is_read_only(&self) -> bool {
        self.target.incidents.is_read_only()
    }

    /// Reads bytes at an address.
    ///
    /// # Errors
    /// A status of an address out of range, or an internal one where the contents cannot be read.
    pub fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Status> {
        let extent = self.extent(at, into.len() as u64)?;
        let read = self.target.store.read(extent.at, into);
        let tally = Tally {
            reads: 1,
            read_bytes: extent.length,
            ..Tally::default()
        };
        self.count(read.map_err(|_| Status::INTERNAL), &tally)
    }

    /// Writes bytes at an address, whose pages go where `hint` says.
    ///
    /// # Errors
    /// As [`Local::read`]; a status of write protection on a read-only drive.
    pub fn write(&self, hint: Hint, at: u64, bytes: &[u8]) -> Result<(), Status> {
        let _batch = self.target.gates.enter();
        let extent = self.extent(at, bytes.len() as u64)?;
        let written = self.put(hint, extent, |store| store.write(extent.at, bytes));
        let tally = Tally {
            writes: 1,
            written_bytes: extent.length,
            ..Tally::default()
        };
        self.count(written, &tally)
    }

    /// Writes zeroes at an address.
    ///
    /// # Errors
    /// As [`Local::write`].
    pub fn write_zeroes(&self, hint: Hint, at: u64, length: u64) -> Result<(), Status> {
        let all = self.extent(at, length)?;
        for now in slices(all, ZEROED_AT_ONCE) {
            let _batch = self.target.gates.enter();
            self.put(hint, now, |store| store.zero(now.at, now.length))?;
            self.target.totals.add(&Tally {
                zeroed_bytes: now.length,
                ..Tally::default()
            });
        }
        Ok(())
    }

    /// Gives bytes up: they read as zeroes, and pages that lie within them hold nothing.
    ///
    /// # Errors
    /// As [`Local::write`].
    pub fn discard(&self, at: u64, length: u64) -> Result<(), Status> {
        let all = self.extent(at, length)?;
        for now in slices(all, DISCARDED_AT_ONCE) {
            let _batch = self.target.gates.enter();
            let pages = self.target.facts.covered(now.at, now.length);
            let discarded = self.target.drive().discard(pages);
            succeeded(self.target.incidents.recorded(discarded))?;
            succeeded(self.target.zero(self.scope(), now, pages))?;
        }
        Ok(())
    }

    /// Makes safe what was written.
    ///
    /// # Errors
    /// An internal status when it cannot.
    pub fn flush(&self) -> Result<(), Status> {
        let flushed = self.target.store.flush();
        self.count(flushed.map_err(|_| Status::INTERNAL), &Tally::default())
    }

    fn scope(&self) -> Scope {
        Scope::of_namespace(self.namespace.id())
    }

    /// The bytes of the drive that bytes of the namespace are.
    fn extent(&self, at: u64, length: u64) -> Result<Extent, Status> {
        let end = at.checked_add(length);
        if end.is_some_and(|end| end <= self.namespace.bytes()) {
            Ok(Extent {
                at: self.namespace.begin() + at,
                length,
            })
        } else {
            Err(Status::LBA_OUT_OF_RANGE)
        }
    }

    /// Writes bytes to the store, and reports their pages to the translation layer: before that where its units fail, and
    /// after it elsewhere.
    fn put(
        &self,
        hint: Hint,
        extent: Extent,
        put: impl FnOnce(&Store) -> std::io::Result<()>,
    ) -> Result<(), Status> {
        let (target, scope) = (&self.target, self.scope());
        if target.incidents.is_read_only() {
            return Err(Status::WRITE_PROTECTED);
        }
        let stored = target.put((scope, hint), extent, &mut 0, put);
        if stored.is_err() {
            target.wrote_part(scope, hint, extent.at, extent.length);
        }
        stored?;
        if target.facts.can_fail || extent.length == 0 {
            return Ok(());
        }
        let pages = target.facts.touched(extent.at, extent.length);
        let mut drive = target.drive();
        drive.advance(target.now_ms());
        let written = drive.write(scope, hint, pages);
        drop(drive);
        succeeded(target.incidents.recorded(written))
    }

    /// Counts a command: what it moved, or that it failed.
    fn count(&self, result: Result<(), Status>, moved: &Tally) -> Result<(), Status> {
        let failed = Tally {
            failed: 1,
            ..Tally::default()
        };
        let tally = if result.is_ok() { moved } else { &failed };
        self.target.totals.add(tally);
        result
    }
}

/// The parts of bytes that are worked on at once. They end where they would if the bytes began with the drive, so that
/// no page is cut.
fn slices(all: Extent, most: u64) -> impl Iterator<Item = Extent> {
    let (mut at, end) = (all.at, all.at + all.length);
    std::iter::from_fn(move || {
        let length = (end - at).min(most - at % most);
        let now = Extent { at, length };
        at += length;
        (length > 0).then_some(now)
    })
}

fn succeeded(status: Status) -> Result<(), Status> {
    if status.is_success() {
        Ok(())
    } else {
        Err(status)
    }
}
