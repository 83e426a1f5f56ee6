//! Events that an FDP device reports to its host: log page 23h.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::PlacementIdentifier;

/// Events of a kind (host's or controller's) that are kept: with the header they fill the 4 KiB of
/// the log page. The oldest goes when another comes.
pub const EVENTS_KEPT: usize = 63;

/// Kind of an event (§5.1.12.1.31).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FdpEventKind {
    /// 0h: the host updated a handle before its unit was full.
    NotFullyWritten,
    /// 1h: a unit was not full within the time limit, and its handle references another.
    TimeLimitExceeded,
    /// 2h: a controller level reset made a handle reference another unit.
    ResetModifiedHandles,
    /// 3h: a write named an invalid placement identifier.
    InvalidPlacementIdentifier,
    /// 80h: the controller moved data out of a unit that the host had written through an
    /// initially isolated handle. One event for each unit that is emptied (our choice).
    MediaReallocated,
    /// 81h: the controller made a handle reference another unit, of its own accord: the unit was
    /// sealed for want of room, or failed.
    ImplicitlyModifiedHandle,
}

impl FdpEventKind {
    /// Every kind, in the order of their codes.
    pub const ALL: [FdpEventKind; 6] = [
        FdpEventKind::NotFullyWritten,
        FdpEventKind::TimeLimitExceeded,
        FdpEventKind::ResetModifiedHandles,
        FdpEventKind::InvalidPlacementIdentifier,
        FdpEventKind::MediaReallocated,
        FdpEventKind::ImplicitlyModifiedHandle,
    ];

    /// The number of the event type in the log page.
    pub fn code(self) -> u8 {
        match self {
            FdpEventKind::NotFullyWritten => 0x00,
            FdpEventKind::TimeLimitExceeded => 0x01,
            FdpEventKind::ResetModifiedHandles => 0x02,
            FdpEventKind::InvalidPlacementIdentifier => 0x03,
            FdpEventKind::MediaReallocated => 0x80,
            FdpEventKind::ImplicitlyModifiedHandle => 0x81,
        }
    }

    /// Whether the host caused the event. The log page shows the host's events or the controller's,
    /// never both.
    pub fn is_host(self) -> bool {
        self.code() < 0x80
    }
}

/// A set of kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FdpEventKinds(u8);

impl FdpEventKinds {
    /// No kind.
    pub const NONE: FdpEventKinds = FdpEventKinds(0);

    /// Every kind.
    pub const ALL: FdpEventKinds = FdpEventKinds((1 << FdpEventKind::ALL.len()) - 1);

    /// The kinds of both sets.
    #[must_use]
    pub fn with(self, others: FdpEventKinds) -> FdpEventKinds {
        FdpEventKinds(self.0 | others.0)
    }

    /// The kinds of this set that are not in `others`.
    #[must_use]
    pub fn without(self, others: FdpEventKinds) -> FdpEventKinds {
        FdpEventKinds(self.0 & !others.0)
    }

    /// Whether the set has that kind.
    pub fn contains(self, kind: FdpEventKind) -> bool {
        self.0 & FdpEventKinds::from(kind).0 != 0
    }
}

impl From<FdpEventKind> for FdpEventKinds {
    fn from(kind: FdpEventKind) -> FdpEventKinds {
        FdpEventKinds(1 << kind as u8)
    }
}

impl FromIterator<FdpEventKind> for FdpEventKinds {
    fn from_iter<I: IntoIterator<Item = FdpEventKind>>(kinds: I) -> FdpEventKinds {
        let kinds = kinds.into_iter().map(FdpEventKinds::from);
        kinds.fold(FdpEventKinds::NONE, FdpEventKinds::with)
    }
}

/// The reclaim group and handle an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EventLocation {
    /// The reclaim group.
    pub group: u32,
    /// The reclaim unit handle.
    pub handle: u16,
}

/// The part of an event that depends on its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventDetail {
    /// There is no more to say.
    None,
    /// The room left in the unit. In the log page only a vendor specific field can hold it.
    Unwritten {
        /// Bytes left unwritten.
        bytes: u64,
    },
    /// The amount of data moved. Its address is not reported.
    Moved {
        /// Bytes moved.
        bytes: u64,
    },
}

/// One event. A field that is `None` is one whose valid flag is clear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FdpEvent {
    /// Kind of the event.
    pub kind: FdpEventKind,
    /// Time of the event, in the milliseconds of the Timestamp feature.
    pub timestamp_ms: u64,
    /// The placement identifier that the host named.
    pub placement: Option<PlacementIdentifier>,
    /// The namespace the identifier was named for.
    pub namespace: Option<u32>,
    /// The reclaim group and handle the event is about.
    pub location: Option<EventLocation>,
    /// The part that depends on the kind.
    pub detail: EventDetail,
}

impl FdpEvent {
    /// An event of a kind, to which the recorder adds time and location.
    pub(super) fn new(kind: FdpEventKind) -> FdpEvent {
        FdpEvent {
            kind,
            timestamp_ms: 0,
            placement: None,
            namespace: None,
            location: None,
            detail: EventDetail::None,
        }
    }
}

/// The events kept, the host's and the controller's each for themselves.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FdpEvents {
    host: VecDeque<FdpEvent>,
    controller: VecDeque<FdpEvent>,
}

impl FdpEvents {
    pub(super) fn push(&mut self, event: FdpEvent) {
        let log = if event.kind.is_host() {
            &mut self.host
        } else {
            &mut self.controller
        };
        if log.len() >= EVENTS_KEPT {
            log.pop_front();
        }
        log.push_back(event);
    }

    /// The host's events, oldest first.
    pub fn host(&self) -> impl ExactSizeIterator<Item = &FdpEvent> {
        self.host.iter()
    }

    /// The controller's events, oldest first.
    pub fn controller(&self) -> impl ExactSizeIterator<Item = &FdpEvent> {
        self.controller.iter()
    }
}
