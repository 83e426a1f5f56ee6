//! Units that fail: what was written stays readable, and is moved before the unit is retired.

use super::Device;
use crate::{observe::Observe, relocate::Relocate, types::StreamId};

impl<O: Observe> Device<O> {
    /// If the next page to be programmed fails, and a stream is about to program it: the unit takes
    /// no more pages and is condemned.
    pub(super) fn fail_if_due(
        &mut self,
        relocation: &mut (impl Relocate + ?Sized),
        stream: StreamId,
    ) {
        if self.program_failures.left() > 0 {
            return;
        }
        let Some(open) = self.open[stream.index()].take() else {
            return;
        };
        self.program_failures.draw();
        // Closed although it is not full: nothing more can be programmed there, and its pages stay readable.
        self.units.condemn(open.unit);
        self.units.close(open.unit, self.clock_pages());
        self.observer.finished(open.unit);
        self.counters.failed_programs += 1;
        relocation.abandoned(stream);
    }

    /// Counts one more retired unit. A drive with fewer units than it needs to accept overwrites
    /// for ever takes no more writes.
    pub(super) fn count_retired(&mut self) {
        self.counters.retired_units += 1;
        let left = u64::from(self.config.physical_units) - self.units.retired().len() as u64;
        self.read_only |= left < self.config.least_physical_units();
    }
}
