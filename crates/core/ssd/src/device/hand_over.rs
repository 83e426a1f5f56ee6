//! An open unit that passes from one stream to another.

use super::Device;
use crate::{error::DeviceError, observe::Observe, types::StreamId};

impl<O: Observe> Device<O> {
    /// Host stream `to` goes on filling the open unit of host stream `from`; what the unit holds
    /// counts as `to`'s from now on. Where both have one open, `to` goes on with the emptier and
    /// the other is closed; so is `from`'s where they are of different reclaim groups. Answers
    /// with the pages left unwritten by that.
    ///
    /// # Errors
    /// When there is no such host stream, or the drive is read-only.
    pub fn hand_over(&mut self, from: StreamId, to: StreamId) -> Result<u32, DeviceError> {
        self.check_stream(from)?;
        self.check_stream(to)?;
        if from == to {
            return Ok(0);
        }
        let Some(given) = self.open[from.index()] else {
            return Ok(0);
        };
        let own = self.open[to.index()];
        let apart = self.config.group_of(from) != self.config.group_of(to);
        // The emptier of the two goes on being filled, so that the fewest pages stay unwritten. A unit of another reclaim
        // group cannot be filled by `to` at all.
        if apart || own.is_some_and(|own| own.filled <= given.filled) {
            return self.finish_unit(from);
        }
        let unwritten = self.finish_unit(to)?;
        self.open[from.index()] = None;
        self.units.relabel(given.unit, to);
        self.open[to.index()] = Some(given);
        Ok(unwritten)
    }
}
