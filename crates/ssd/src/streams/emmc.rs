//! eMMC's contexts: 15 identifiers, configured before they are used.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Scope, StreamTable};
use crate::types::StreamId;

/// Identifiers of contexts: 4 bits of CMD23, of which 0 stands for none (eMMC 5.1).
const CONTEXTS: u16 = 15;

/// The scope of all contexts: a device has one host only.
const DEVICE: Scope = Scope {
    namespace: 0,
    host: super::Host::Anonymous(0),
};

/// What a context is open for: `CONTEXT_CONF` bits 1:0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// 0: closed, and not addressable.
    #[default]
    Closed,
    /// 1: open for writes.
    WriteOnly,
    /// 2: open for reads. It takes up no stream.
    ReadOnly,
    /// 3: open for both.
    ReadWrite,
}

impl Activation {
    fn writes(self) -> bool {
        matches!(self, Activation::WriteOnly | Activation::ReadWrite)
    }
}

/// A context that cannot be used as asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ContextError {
    /// The device has fewer contexts.
    #[error("context {context} is not one of 1 to {contexts}")]
    NoSuchContext {
        /// The context asked for.
        context: u16,
        /// The highest context of the device (`MAX_CONTEXT_ID`).
        contexts: u16,
    },
    /// A context is closed before it is configured anew (JESD220G; eMMC alike).
    #[error("context {0} is open: close it before configuring it anew")]
    StillOpen(u16),
    /// The context is not open, or open for reading only.
    #[error("context {0} is not open for writing")]
    NotWritable(u16),
}

/// The contexts of an eMMC or UFS device. None is open after power-on.
#[derive(Debug, Clone)]
pub struct EmmcContexts {
    table: StreamTable,
    activations: Vec<Activation>,
}

impl EmmcContexts {
    /// The contexts of a device with so many streams besides the default one: 15 of them at most.
    pub fn new(streams: u16) -> EmmcContexts {
        let contexts = streams.min(CONTEXTS);
        EmmcContexts {
            table: StreamTable::new(contexts),
            activations: vec![Activation::Closed; usize::from(contexts) + 1],
        }
    }

    /// Configures a context. Answers with the drive's stream that was closed by that, if one was.
    ///
    /// # Errors
    /// When there is no such context, or it is open and would stay so.
    pub fn configure(
        &mut self,
        context: u16,
        activation: Activation,
    ) -> Result<Option<StreamId>, ContextError> {
        let contexts = self.table.limit();
        let slot = match context {
            0 => None,
            _ => self.activations.get_mut(usize::from(context)),
        };
        let Some(slot) = slot else {
            return Err(ContextError::NoSuchContext { context, contexts });
        };
        if *slot != Activation::Closed && activation != Activation::Closed {
            return Err(ContextError::StillOpen(context));
        }
        *slot = activation;
        if activation.writes() {
            self.table.resolve(DEVICE, context);
        }
        Ok(match activation {
            Activation::Closed => self.table.release(DEVICE, context),
            _ => None,
        })
    }

    /// The drive's stream for a write with a context. Context 0 means none, and gives the default
    /// stream.
    ///
    /// # Errors
    /// When the context is not open for writing.
    pub fn stream(&self, context: u16) -> Result<StreamId, ContextError> {
        match context {
            0 => Ok(StreamId::DEFAULT),
            _ => self
                .table
                .lookup(DEVICE, context)
                .ok_or(ContextError::NotWritable(context)),
        }
    }

    /// What a context is open for; closed where the device has no such context.
    pub fn activation(&self, context: u16) -> Activation {
        let activation = self.activations.get(usize::from(context));
        activation.copied().unwrap_or_default()
    }

    /// Power comes back: no context is open. Answers with the drive's streams that were closed.
    pub fn power_cycle(&mut self) -> Vec<StreamId> {
        self.activations.fill(Activation::Closed);
        self.table.reset()
    }
}
