//! eMMC's contexts: 15 identifiers, configured before they are used.
//!
//! [`EmmcContexts`] holds the rules, [`EmmcCard`] a device behind them that understands commands. The registers are
//! those of JESD84-B51; its rules of contexts are cited from JESD220G (UFS), section 13.4.10, which repeats them.

mod card;
mod conf;
mod extent;
mod rule;
mod session;

pub use card::{ContextCounts, EmmcCard, EmmcCommand, EraseCounts, Refused};
pub use conf::{Activation, ContextConf, Reliability};
pub use extent::Extent;
pub use rule::Rule;

use super::{Scope, StreamTable};
use crate::{
    config::Config,
    types::{PageRange, StreamId},
};
use session::{Session, Sessions};

/// Identifiers of contexts: 4 bits of CMD23, of which 0 stands for none (eMMC 5.1).
const CONTEXTS: u16 = 15;

/// The scope of all contexts: a device has one host only.
const DEVICE: Scope = Scope {
    namespace: 0,
    host: super::StreamHost::Anonymous(0),
};

/// Granule of a large unit: `LARGE_UNIT_SIZE_M1` counts MiB.
const LARGE_UNIT_STEP_BYTES: u64 = 1 << 20;

/// The largest multiplier of large units: what three bits of `CONTEXT_CONF` hold. Our choice; devices tell theirs.
const MOST_MULTIPLIER: u8 = 7;

/// Capabilities of a device's contexts, `CONTEXT_CAPABILITIES` and `LARGE_UNIT_SIZE_M1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// The highest context (`MAX_CONTEXT_ID`).
    pub contexts: u16,
    /// Pages of a large unit with a multiplier of 1.
    pub large_unit_pages: u32,
    /// The largest multiplier (`LARGE_UNIT_MAX_MULTIPLIER_M1` and 1).
    pub most_multiplier: u8,
    /// Bytes of a page, the blocks that large units are written in (`OPTIMAL_WRITE_SIZE`).
    pub page_bytes: u32,
    /// Pages of the device.
    pub pages: u32,
}

impl Capabilities {
    /// Those of a device: a context for each stream but the default one, 15 at most, and large units of an erase unit
    /// rounded up to MiB (our choice).
    pub fn of(config: &Config) -> Capabilities {
        let unit_bytes = u64::from(config.pages_per_unit) * u64::from(config.page_bytes);
        let large_bytes = unit_bytes.next_multiple_of(LARGE_UNIT_STEP_BYTES);
        let large_unit_pages = large_bytes / u64::from(config.page_bytes.max(1));
        Capabilities {
            contexts: config.host_streams.saturating_sub(1).min(CONTEXTS),
            large_unit_pages: u32::try_from(large_unit_pages).unwrap_or(u32::MAX).max(1),
            most_multiplier: MOST_MULTIPLIER,
            page_bytes: config.page_bytes,
            pages: config.logical_pages,
        }
    }
}

/// The contexts of an eMMC device. None is open after power-on.
#[derive(Debug, Clone)]
pub struct EmmcContexts {
    capabilities: Capabilities,
    table: StreamTable,
    sessions: Sessions,
}

impl EmmcContexts {
    /// The contexts of such a device, all closed.
    pub fn new(capabilities: Capabilities) -> EmmcContexts {
        EmmcContexts {
            capabilities,
            table: StreamTable::new(capabilities.contexts),
            sessions: Sessions::new(capabilities.contexts, capabilities.pages),
        }
    }

    /// Configures a context. Answers with the drive's stream that was closed by that, if one was.
    ///
    /// # Errors
    /// [`Rule::Number`], [`Rule::Reopened`] or [`Rule::Multiplier`].
    pub fn configure(&mut self, context: u16, conf: ContextConf) -> Result<Option<StreamId>, Rule> {
        if context == 0 || context > self.capabilities.contexts {
            return Err(Rule::Number);
        }
        if conf.activation == Activation::Closed {
            self.sessions.close(context);
            return Ok(self.table.release(DEVICE, context));
        }
        if self.sessions.session_of(context).is_some() {
            return Err(Rule::Reopened);
        }
        let unit_bytes = match conf.large_unit {
            Some(0) => return Err(Rule::Multiplier),
            Some(times) if times > self.capabilities.most_multiplier => {
                return Err(Rule::Multiplier);
            }
            Some(times) => Some(
                u64::from(self.capabilities.large_unit_pages)
                    * u64::from(self.capabilities.page_bytes)
                    * u64::from(times),
            ),
            None => None,
        };
        self.sessions.open(context, conf.activation, unit_bytes);
        if conf.activation.writes() {
            self.table.resolve(DEVICE, context);
        }
        Ok(None)
    }

    /// The pages and the drive's stream of a write with a context; context 0 means none, and the default stream.
    ///
    /// # Errors
    /// The rule that the write breaks; nothing changes then.
    pub fn write(&mut self, context: u16, extent: Extent) -> Result<(PageRange, StreamId), Rule> {
        let pages = self.pages(extent)?;
        self.check_outside(context, pages, extent)?;
        let page_bytes = self.capabilities.page_bytes;
        let Some(session) = self.session(context)? else {
            self.sessions.mark(0, extent.inner(page_bytes));
            return Ok((pages, StreamId::DEFAULT));
        };
        if !session.activation.writes() {
            return Err(Rule::WriteInReadOnly);
        }
        if session.unit_bytes.is_some() && !extent.is_whole(page_bytes) {
            return Err(Rule::UnitGranularity);
        }
        session.written.advance(session.unit_bytes, extent)?;
        let (activation, number) = (session.activation, session.number);
        match activation {
            Activation::WriteOnly => self.sessions.mark(number, pages),
            _ => self.sessions.mark(0, extent.inner(page_bytes)),
        }
        let stream = self.stream(context).ok_or(Rule::Closed)?;
        Ok((pages, stream))
    }

    /// The drive's stream of a context that is open for writes; the default one of context 0.
    pub fn stream(&self, context: u16) -> Option<StreamId> {
        match context {
            0 => Some(StreamId::DEFAULT),
            _ => self.table.lookup(DEVICE, context),
        }
    }

    /// The pages of a read with a context.
    ///
    /// # Errors
    /// The rule that the read breaks.
    pub fn read(&mut self, context: u16, extent: Extent) -> Result<PageRange, Rule> {
        let pages = self.pages(extent)?;
        if self.sessions.has(pages, Activation::WriteOnly) {
            return Err(match self.session(context)? {
                Some(session) if !session.activation.reads() => Rule::ReadInWriteOnly,
                _ => Rule::ReadOfWriteOnly,
            });
        }
        let Some(session) = self.session(context)? else {
            return Ok(pages);
        };
        if !session.activation.reads() {
            return Err(Rule::ReadInWriteOnly);
        }
        session.read.advance(session.unit_bytes, extent)?;
        let (activation, number) = (session.activation, session.number);
        if activation == Activation::ReadOnly {
            self.sessions.mark(number, pages);
        }
        Ok(pages)
    }

    /// The whole pages of an erase, trim or discard.
    ///
    /// # Errors
    /// [`Rule::Address`] or [`Rule::UnitOfAnother`].
    pub fn erase(&mut self, extent: Extent) -> Result<PageRange, Rule> {
        self.pages(extent)?;
        if self.sessions.writes_unit_of(extent, 0) {
            return Err(Rule::UnitOfAnother);
        }
        let erased = extent.inner(self.capabilities.page_bytes);
        self.sessions.mark(0, erased);
        Ok(erased)
    }

    /// Returns the direction that a context is open for; closed where the device has no such context.
    pub fn activation(&self, context: u16) -> Activation {
        let session = self.sessions.session_of(context);
        session.map_or(Activation::Closed, |session| session.activation)
    }

    /// Power comes back, or the device is reset (CMD0): no context is open. Answers with the drive's streams that were
    /// closed.
    pub fn power_cycle(&mut self) -> Vec<StreamId> {
        (1..=self.capabilities.contexts).for_each(|context| self.sessions.close(context));
        self.table.reset()
    }

    fn pages(&self, extent: Extent) -> Result<PageRange, Rule> {
        let pages = extent.touched(self.capabilities.page_bytes);
        let within = pages.filter(|pages| pages.end() <= u64::from(self.capabilities.pages));
        within.ok_or(Rule::Address)
    }

    /// The session of a context that a command names; `None` for context 0.
    fn session(&mut self, context: u16) -> Result<Option<&mut Session>, Rule> {
        if context > self.capabilities.contexts {
            return Err(Rule::Number);
        }
        match context {
            0 => Ok(None),
            _ => self
                .sessions
                .session_of_mut(context)
                .map(Some)
                .ok_or(Rule::Closed),
        }
    }

    /// Whether other contexts allow that these pages are written.
    fn check_outside(&self, context: u16, pages: PageRange, extent: Extent) -> Result<(), Rule> {
        if self.sessions.has(pages, Activation::ReadOnly)
            && self.activation(context) != Activation::ReadOnly
        {
            return Err(Rule::WriteOfReadOnly);
        }
        if self.sessions.writes_unit_of(extent, context) {
            Err(Rule::UnitOfAnother)
        } else {
            Ok(())
        }
    }
}
