//! The reasons why a host cannot collect on a drive.

use thiserror::Error;

/// The reason why a host cannot collect on a drive.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CannotCollect {
    /// There is no handle for rewrites.
    #[error(
        "`{scheme}`: the drive has {handles} placement handles in a reclaim group, and {copies} for the host's rewrites \
         leave none for its writes: more handles would do (`--streams`, or a profile of an FDP drive), fewer for \
         rewrites (`host-copies=1`), or the scheme without `+host`"
    )]
    NoHandle {
        /// The scheme.
        scheme: String,
        /// Handles in a reclaim group.
        handles: u16,
        /// Those asked for rewrites.
        copies: u16,
    },
    /// The model would have too few units.
    #[error(
        "`{scheme}`: the drive has {units} erase units, and the host's model would have {model}, where the data and a \
         collection need {least}: more spare would do (`--over-provisioning`), smaller units (`--unit`), or the scheme \
         without `+host`"
    )]
    NoRoom {
        /// The scheme.
        scheme: String,
        /// Units of the drive.
        units: u32,
        /// Units of the model.
        model: u32,
        /// The fewest that it needs.
        least: u64,
    },
    /// The drive may place what it is handed elsewhere.
    #[error(
        "`{scheme}`: the drive leaves streams unheeded when it is full (`streams_off`), so that rewrites would not go \
         where the host means them to: a drive that always heeds them would do, or the scheme without `+host`"
    )]
    Unheeded {
        /// The scheme.
        scheme: String,
    },
    /// Time is simulated, and others write to the drive.
    #[error(
        "`{scheme}`: `host-tenant`, `host-phase` and `host-jitter` disturb drives whose requests take no time: leave out \
         `--time`, or these settings"
    )]
    Timed {
        /// The scheme.
        scheme: String,
    },
    /// The drive holds data whose units the host does not know.
    #[error(
        "`{scheme}`: the host does not know in which units of that drive its data lie: begin with an empty drive \
         (leave out `--drive`), or compare the scheme without `+host`"
    )]
    Aged {
        /// The scheme.
        scheme: String,
    },
}
