//! Session of a context: its accesses since it was configured.

use super::{Activation, Extent, Rule};
use crate::types::PageRange;

/// A context from its configuration to its end.
#[derive(Debug, Clone)]
pub(super) struct Session {
    pub(super) activation: Activation,
    /// Bytes of its large units, where it follows their rules.
    pub(super) unit_bytes: Option<u64>,
    /// Number of this session among those of the same context; 0 is none.
    pub(super) number: u32,
    pub(super) written: Progress,
    pub(super) read: Progress,
}

/// Progress within a large unit: the next byte, where one is begun and not finished.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Progress(Option<u64>);

impl Progress {
    /// Goes on by these bytes: from where the unit begun ends, or from the beginning of one.
    pub(super) fn advance(&mut self, unit_bytes: Option<u64>, extent: Extent) -> Result<(), Rule> {
        let Some(unit_bytes) = unit_bytes else {
            return Ok(());
        };
        let in_order = match self.0 {
            Some(next) => next == extent.offset_bytes,
            None => extent.offset_bytes.is_multiple_of(unit_bytes),
        };
        if !in_order {
            return Err(Rule::UnitOrder);
        }
        let end = extent.end_bytes();
        self.0 = (!end.is_multiple_of(unit_bytes)).then_some(end);
        Ok(())
    }

    /// Whether the unit begun has some of these bytes.
    fn meets(self, unit_bytes: Option<u64>, extent: Extent) -> bool {
        let (Some(next), Some(unit_bytes)) = (self.0, unit_bytes) else {
            return false;
        };
        let first = next - next % unit_bytes;
        extent.offset_bytes < first + unit_bytes && extent.end_bytes() > first
    }
}

/// All open sessions, and the pages that those of one direction touched.
#[derive(Debug, Clone)]
pub(super) struct Sessions {
    open: Vec<Option<Session>>,
    opened: u32,
    /// For each page the session that touched it last, of those open for one direction. It is made when one is opened.
    touched: Vec<u32>,
    pages: u32,
}

impl Sessions {
    pub(super) fn new(contexts: u16, pages: u32) -> Sessions {
        Sessions {
            open: vec![None; usize::from(contexts) + 1],
            opened: 0,
            touched: Vec::new(),
            pages,
        }
    }

    pub(super) fn session_of(&self, context: u16) -> Option<&Session> {
        self.open.get(usize::from(context))?.as_ref()
    }

    pub(super) fn session_of_mut(&mut self, context: u16) -> Option<&mut Session> {
        self.open.get_mut(usize::from(context))?.as_mut()
    }

    pub(super) fn open(&mut self, context: u16, activation: Activation, unit_bytes: Option<u64>) {
        if activation != Activation::ReadWrite && self.touched.is_empty() {
            self.touched = vec![0; self.pages as usize];
        }
        self.opened = self.opened.wrapping_add(1).max(1);
        if let Some(slot) = self.open.get_mut(usize::from(context)) {
            *slot = Some(Session {
                activation,
                unit_bytes,
                number: self.opened,
                written: Progress::default(),
                read: Progress::default(),
            });
        }
    }

    pub(super) fn close(&mut self, context: u16) {
        if let Some(slot) = self.open.get_mut(usize::from(context)) {
            *slot = None;
        }
    }

    /// Notes that a session touched pages last; 0 that none did.
    pub(super) fn mark(&mut self, number: u32, pages: PageRange) {
        if let Some(touched) = self.touched.get_mut(pages.indices()) {
            touched.fill(number);
        }
    }

    /// Whether an open session of that direction touched one of these pages, and no other did since.
    pub(super) fn has(&self, pages: PageRange, activation: Activation) -> bool {
        let such = self.open.iter().flatten();
        let mut numbers = such.filter(|session| session.activation == activation);
        let touched = self.touched.get(pages.indices()).unwrap_or_default();
        numbers.any(|session| touched.contains(&session.number))
    }

    /// Whether another context than this one is writing a large unit with some of these bytes.
    pub(super) fn writes_unit_of(&self, extent: Extent, context: u16) -> bool {
        let others = self.open.iter().enumerate();
        let mut others = others.filter(|(other, _)| *other != usize::from(context));
        others.any(|(_, session)| {
            let session = session.as_ref();
            session.is_some_and(|session| session.written.meets(session.unit_bytes, extent))
        })
    }
}
