//! Asynchronous events (§5.1.2).

use super::{Controller, Notice, State};
use crate::{
    completion::{Completion, Status},
    options::MOST_EVENT_REQUESTS,
};

/// Events nobody asked for that are kept (our choice: there are four kinds).
const MOST_EVENTS: usize = 8;
/// Bits of feature 0Bh: SMART / Health Critical Warnings, Namespace Attribute Notices, and Discovery
/// Log Page Change Notification, of which none comes: the log is the same as long as the drive is served.
pub(crate) const HEALTH_WARNINGS: u32 = 0xff;
const NAMESPACE_NOTICES: u32 = 1 << 8;
pub(super) const DISCOVERY_NOTICES: u32 = 1 << 31;
/// Notice, namespace attribute changed, log page 04h: dword 0 of the completion.
const NAMESPACE_CHANGED: u32 = 0x02 | 0x04 << 16;

impl Controller {
    /// Notices that a host may ask for (OAES).
    pub(crate) fn notices(&self) -> u32 {
        if self.is_io() {
            NAMESPACE_NOTICES
        } else {
            DISCOVERY_NOTICES
        }
    }

    /// The host is ready to hear of an event.
    ///
    /// # Errors
    /// When it said so too often.
    pub(crate) fn request_event(&self, identifier: u16) -> Result<(), Status> {
        let mut state = self.state();
        if state.requests.len() >= MOST_EVENT_REQUESTS {
            return Err(Status::EVENT_REQUEST_LIMIT);
        }
        state.requests.push_back(identifier);
        state.tell();
        Ok(())
    }

    /// Whether an event request of that name was under way, which is answered as aborted now.
    pub(crate) fn abort_event_request(&self, identifier: u16) -> bool {
        let mut state = self.state();
        let found = state.requests.iter().position(|&one| one == identifier);
        let Some(found) = found else {
            return false;
        };
        state.requests.remove(found);
        state.complete(Completion {
            identifier,
            status: Status::ABORT_REQUESTED,
            ..Completion::default()
        });
        true
    }

    /// A namespace is not what it was.
    pub(crate) fn namespace_changed(&self, id: u32) {
        let mut state = self.state();
        state.changed_namespaces.insert(id);
        if !state.told_changed && state.wanted_events & NAMESPACE_NOTICES != 0 {
            state.told_changed = true;
            state.happened(NAMESPACE_CHANGED);
        }
    }
}

impl State {
    /// The host is told of an event, when it is ready to hear of it.
    pub(crate) fn happened(&mut self, event: u32) {
        if self.events.len() < MOST_EVENTS {
            self.events.push_back(event);
            self.tell();
        }
    }

    /// Answers requests with events, as far as there are both.
    fn tell(&mut self) {
        while !self.requests.is_empty() {
            let Some(event) = self.events.pop_front() else {
                return;
            };
            if let Some(identifier) = self.requests.pop_front() {
                self.complete(Completion {
                    result: event.into(),
                    identifier,
                    ..Completion::default()
                });
            }
        }
    }

    fn complete(&self, completion: Completion) {
        if let Some(admin) = &self.admin {
            // A connection that has ended hears nothing, and need not.
            let _ = admin.send(Notice::Complete(completion));
        }
    }
}
