//! Treatment of a closed stream's open unit.

use serde::{Deserialize, Serialize};

use crate::{device::Device, error::DeviceError, observe::Observe, types::StreamId};

/// Treatment of a closed stream's half-filled unit. The standards are silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AtClose {
    /// It stays open for the next identifier that gets the drive's stream. Nothing is left
    /// unwritten, and each close mixes two identifiers' data in one unit at most. The default (our
    /// choice): a host with more identifiers than the drive has streams closes one at nearly every
    /// write, and each other way would cost it a unit hardly begun.
    #[default]
    Keep,
    /// It is closed as it is. Nothing mixes, and the unwritten rest is lost until the unit is
    /// collected.
    Finish,
    /// The default stream goes on filling it ([`Device::hand_over`]).
    Default,
}

impl AtClose {
    /// Deals with the open unit of a stream that was closed.
    ///
    /// # Errors
    /// When the device has no such host stream, or is read-only.
    pub fn apply<O: Observe>(
        self,
        device: &mut Device<O>,
        stream: StreamId,
    ) -> Result<(), DeviceError> {
        match self {
            AtClose::Keep => {}
            AtClose::Finish => {
                device.finish_unit(stream)?;
            }
            AtClose::Default => {
                device.hand_over(stream, StreamId::DEFAULT)?;
            }
        }
        Ok(())
    }
}
