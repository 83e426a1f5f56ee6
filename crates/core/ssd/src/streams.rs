//! Streams as a resource: many stream identifiers on a drive that has few streams.
//!
//! A host names streams by sparse identifiers and opens them by writing; the drive has a handful
//! of units it can keep open. [`StreamTable`] is what lies between: the resource model of the
//! Streams Directive (NVM Express Base Specification 2.2, §8.1.8.3). SCSI's streams and eMMC's
//! contexts are narrower uses of the same table ([`ScsiStreams`], [`EmmcContexts`]).
//!
//! ```
//! use anabranch_ssd::streams::{Scope, StreamTable};
//!
//! // A drive with two streams besides the default one; a host that writes with three identifiers.
//! let mut table = StreamTable::new(2);
//! let scope = Scope::of_namespace(1);
//! let stream = |table: &mut StreamTable, identifier| table.resolve(scope, identifier).stream.0;
//! assert_eq!([700, 800, 900].map(|identifier| stream(&mut table, identifier)), [1, 2, 1]);
//! // 700 was closed for 900, since it was used longest ago.
//! assert_eq!(table.status(scope), [800, 900]);
//! ```

mod account;
mod closing;
mod costs;
mod emmc;
mod scope;
mod scsi;

use std::collections::BTreeMap;

use thiserror::Error;

pub use closing::AtClose;
pub use costs::{StreamCost, StreamCosts};
pub use emmc::{
    Activation, Capabilities, ContextConf, ContextCounts, EmmcCard, EmmcCommand, EmmcContexts,
    EraseCounts, Extent, Refused, Reliability, Rule,
};
pub use scope::{Scope, StreamHost};
pub use scsi::ScsiStreams;

use crate::{
    device::Device,
    error::DeviceError,
    observe::Observe,
    relocate::Relocate,
    types::{PageRange, StreamId},
};
use account::Account;

/// Open streams, with their users and the drive's streams behind them.
///
/// The drive's default stream 0 is nobody's; its others are the resources. A write takes
/// O(log open streams). When a resource is wanted and none is left, the identifier used longest
/// ago is closed; the standard leaves the choice to the controller.
#[derive(Debug, Clone)]
pub struct StreamTable {
    shares_identifiers: bool,
    /// The drive's stream of each open identifier.
    open: BTreeMap<(Scope, u16), StreamId>,
    /// The scope and identifier that hold each stream of the drive; index 0 is the default stream,
    /// which nobody holds.
    holders: Vec<Option<(Scope, u16)>>,
    /// Streams of the drive that nobody holds. The one closed last is used first: its unit is
    /// then filled up soonest, where units stay open at the close (our choice).
    free: Vec<StreamId>,
    /// Stream resources that a scope has for its exclusive use.
    exclusive: BTreeMap<Scope, Account>,
    /// Stream resources for all other scopes.
    pool: Account,
    /// Counts uses, to tell which was longest ago.
    clock: u64,
    /// The last identifier used: no other of its account was used since.
    last: Option<(Scope, u16, StreamId)>,
}

/// Destination of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resolution {
    /// The stream of the drive.
    pub stream: StreamId,
    /// Whether that stream was another identifier's until now, which had to be closed: its open
    /// unit is to be dealt with first ([`AtClose::apply`]).
    pub closed_another: bool,
}

/// Result of an allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocation {
    /// Resources now reserved for the scope (NSA). 0: none could be, and the scope may use the
    /// pool.
    pub streams: u16,
    /// Streams of the drive whose identifiers were closed because the scope had more open than it
    /// was given.
    pub closed: Vec<StreamId>,
}

/// The counts of the Return Parameters operation, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StreamParameters {
    /// Streams that can be open at a time (MSL).
    pub limit: u16,
    /// Resources that no scope has for its exclusive use (NSSA).
    pub available: u16,
    /// Open streams that use resources of that pool (NSSO).
    pub pool_open: u16,
    /// Resources for the scope's exclusive use (NSA).
    pub allocated: u16,
    /// Open streams of the scope (NSO).
    pub open: u16,
}

/// Reason for refusing an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum StreamError {
    /// Invalid Field in Command: resources are released before others are asked for.
    #[error("{0} stream resources are allocated already: release them first")]
    AlreadyAllocated(u16),
    /// Stream Resource Allocation Failed (7Fh).
    #[error("all stream resources are allocated to others")]
    NoneLeft,
    /// Every stream is open. Only a drive that assigns identifiers itself fails with this.
    #[error("all {0} streams are open: close one first")]
    AllOpen(u16),
}

impl StreamTable {
    /// A table for a drive with so many streams besides the default one; each host has
    /// identifiers of its own.
    pub fn new(streams: u16) -> StreamTable {
        StreamTable {
            shares_identifiers: false,
            open: BTreeMap::new(),
            holders: vec![None; usize::from(streams) + 1],
            free: (1..=streams).rev().map(StreamId).collect(),
            exclusive: BTreeMap::new(),
            pool: Account::of(streams),
            clock: 0,
            last: None,
        }
    }

    /// Identifiers mean the same stream to every host that names itself (SSID = 1).
    pub fn sharing_identifiers(self) -> StreamTable {
        StreamTable {
            shares_identifiers: true,
            ..self
        }
    }

    /// Streams that can be open at a time.
    pub fn limit(&self) -> u16 {
        (self.holders.len() - 1) as u16
    }

    /// The drive's stream for a write, opening the identifier if it is not. Identifier 0 is the
    /// default stream, as is any where all resources are allocated to others.
    pub fn resolve(&mut self, scope: Scope, identifier: u16) -> Resolution {
        let scope = self.canonical(scope);
        let settled = |stream| Resolution {
            stream,
            closed_another: false,
        };
        if let Some((last, number, stream)) = self.last
            && (last, number) == (scope, identifier)
        {
            return settled(stream);
        }
        if identifier == 0 {
            return settled(StreamId::DEFAULT);
        }
        if let Some(&stream) = self.open.get(&(scope, identifier)) {
            self.mark_used(scope, identifier, stream);
            return settled(stream);
        }
        self.open_by_write(scope, identifier)
    }

    fn open_by_write(&mut self, scope: Scope, identifier: u16) -> Resolution {
        let account = self.account(scope);
        let full = account.is_full();
        let closed_another = full && account.oldest().map(|oldest| self.close(oldest)).is_some();
        let stream = if full && !closed_another {
            StreamId::DEFAULT
        } else {
            self.take(scope, identifier).unwrap_or_default()
        };
        Resolution {
            stream,
            closed_another,
        }
    }

    /// Writes pages to an identifier's stream of a device, after settling the open unit of the
    /// stream that had to be closed for it, if one had.
    ///
    /// # Errors
    /// Those of [`Device::write`].
    pub fn write<O: Observe>(
        &mut self,
        (device, relocation): (&mut Device<O>, &mut (impl Relocate + ?Sized)),
        at_close: AtClose,
        (scope, identifier): (Scope, u16),
        pages: PageRange,
    ) -> Result<(), DeviceError> {
        let resolved = self.resolve(scope, identifier);
        if resolved.closed_another {
            at_close.apply(device, resolved.stream)?;
        }
        device.write(relocation, pages, resolved.stream)
    }

    /// The drive's stream of an identifier that is open. Asking does not count as a use.
    pub fn lookup(&self, scope: Scope, identifier: u16) -> Option<StreamId> {
        let key = (self.canonical(scope), identifier);
        self.open.get(&key).copied()
    }

    /// Reserves up to `requested` resources for a scope's exclusive use. Only resources that no
    /// other scope has an open stream on are given (our choice; the standard lets a controller
    /// give fewer than requested). What the scope has open stays open, as far as it fits.
    ///
    /// # Errors
    /// When the scope has an allocation already, or all resources are allocated to others.
    pub fn allocate(&mut self, scope: Scope, requested: u16) -> Result<Allocation, StreamError> {
        let scope = self.canonical(scope);
        if let Some(account) = self.exclusive.get(&scope) {
            return Err(StreamError::AlreadyAllocated(account.limit));
        }
        if self.pool.limit == 0 && requested > 0 {
            return Err(StreamError::NoneLeft);
        }
        let own: Vec<StreamId> = self.range(scope).map(|(_, stream)| stream).collect();
        let others = self.pool.open() - own.len() as u16;
        let streams = requested.min(self.pool.limit - others);
        if streams == 0 {
            return Ok(Allocation {
                streams: 0,
                closed: Vec::new(),
            });
        }
        let mut account = Account::of(streams);
        for stream in own {
            self.pool.give(&mut account, stream);
        }
        let closed: Vec<StreamId> = account.excess().collect();
        self.pool.limit -= streams;
        self.exclusive.insert(scope, account);
        closed.iter().for_each(|&stream| self.close(stream));
        Ok(Allocation { streams, closed })
    }

    /// The host is done with an identifier: used again, it means another stream. Answers with the
    /// drive's stream that was closed; `None` where the identifier was not open, which is no
    /// error. Exclusive resources stay allocated.
    pub fn release(&mut self, scope: Scope, identifier: u16) -> Option<StreamId> {
        let stream = self.lookup(scope, identifier)?;
        self.close(stream);
        Some(stream)
    }

    /// Gives up a scope's exclusive resources, and closes what it has open on them. Answers with
    /// the drive's streams that were closed. Without an allocation nothing happens.
    pub fn release_resources(&mut self, scope: Scope) -> Vec<StreamId> {
        let scope = self.canonical(scope);
        if self.exclusive.contains_key(&scope) {
            self.release_all(scope)
        } else {
            Vec::new()
        }
    }

    /// The directive is disabled for a scope: all it holds is released. Answers with the drive's
    /// streams that were closed.
    pub fn release_all(&mut self, scope: Scope) -> Vec<StreamId> {
        let scope = self.canonical(scope);
        let closed = self.close_scope(scope);
        if let Some(account) = self.exclusive.remove(&scope) {
            self.pool.limit += account.limit;
        }
        closed
    }

    /// A namespace is deleted or write-protected: all that any host holds of it is released.
    pub fn release_namespace(&mut self, namespace: u32) -> Vec<StreamId> {
        let scopes = self.scopes(namespace);
        let release = |scope| self.release_all(scope);
        scopes.into_iter().flat_map(release).collect()
    }

    /// A namespace is formatted: each of its identifiers is closed, and allocations stay.
    pub fn close_namespace(&mut self, namespace: u32) -> Vec<StreamId> {
        let scopes = self.scopes(namespace);
        let close = |scope| self.close_scope(scope);
        scopes.into_iter().flat_map(close).collect()
    }

    /// A controller level reset disables the directive: all is released.
    pub fn reset(&mut self) -> Vec<StreamId> {
        let fresh = StreamTable {
            shares_identifiers: self.shares_identifiers,
            ..StreamTable::new(self.limit())
        };
        let before = std::mem::replace(self, fresh);
        before.open.into_values().collect()
    }

    /// A scope's open identifiers, ascending (Get Status).
    pub fn status(&self, scope: Scope) -> Vec<u16> {
        let identifiers = self.range(self.canonical(scope));
        identifiers.map(|(identifier, _)| identifier).collect()
    }

    /// Identifiers open on resources that no scope has for itself, ascending, each once (Get
    /// Status of all namespaces).
    pub fn pool_status(&self) -> Vec<u16> {
        let in_pool = |(scope, _): &&(Scope, u16)| !self.exclusive.contains_key(scope);
        let open = self.open.keys().filter(in_pool);
        let mut identifiers: Vec<u16> = open.map(|&(_, identifier)| identifier).collect();
        identifiers.sort_unstable();
        identifiers.dedup();
        identifiers
    }

    /// The counts a host may ask for (Return Parameters).
    pub fn parameters(&self, scope: Scope) -> StreamParameters {
        let scope = self.canonical(scope);
        StreamParameters {
            limit: self.limit(),
            available: self.pool.limit,
            pool_open: self.pool.open(),
            allocated: self.exclusive.get(&scope).map_or(0, |own| own.limit),
            open: self.range(scope).count() as u16,
        }
    }
}

impl StreamTable {
    fn canonical(&self, scope: Scope) -> Scope {
        if self.shares_identifiers {
            scope.shared()
        } else {
            scope
        }
    }

    /// A scope's open identifiers, ascending, and their streams.
    fn range(&self, scope: Scope) -> impl Iterator<Item = (u16, StreamId)> {
        let keys = (scope, 0)..=(scope, u16::MAX);
        let open = self.open.range(keys);
        open.map(|(&(_, identifier), &stream)| (identifier, stream))
    }

    /// All scopes of a namespace that hold anything.
    fn scopes(&self, namespace: u32) -> Vec<Scope> {
        let open = self.open.keys().map(|&(scope, _)| scope);
        let mut scopes: Vec<Scope> = open
            .chain(self.exclusive.keys().copied())
            .filter(|scope| scope.namespace == namespace)
            .collect();
        scopes.sort_unstable();
        scopes.dedup();
        scopes
    }

    /// The account whose resources a scope uses.
    fn account(&mut self, scope: Scope) -> &mut Account {
        match self.exclusive.get_mut(&scope) {
            Some(own) => own,
            None => &mut self.pool,
        }
    }

    fn mark_used(&mut self, scope: Scope, identifier: u16, stream: StreamId) {
        self.clock += 1;
        let now = self.clock;
        self.account(scope).mark_used(stream, now);
        self.last = Some((scope, identifier, stream));
    }

    /// Opens an identifier on a free stream; `None` where the drive has none.
    fn take(&mut self, scope: Scope, identifier: u16) -> Option<StreamId> {
        let stream = self.free.pop()?;
        self.holders[stream.index()] = Some((scope, identifier));
        self.open.insert((scope, identifier), stream);
        self.mark_used(scope, identifier, stream);
        Some(stream)
    }

    fn close(&mut self, stream: StreamId) {
        let Some(key) = self.holders[stream.index()].take() else {
            return;
        };
        self.open.remove(&key);
        self.account(key.0).drop(stream);
        self.free.push(stream);
        self.last = None;
    }

    fn close_scope(&mut self, scope: Scope) -> Vec<StreamId> {
        let streams: Vec<StreamId> = self.range(scope).map(|(_, stream)| stream).collect();
        streams.iter().for_each(|&stream| self.close(stream));
        streams
    }
}
