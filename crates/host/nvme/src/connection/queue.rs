//! The submission queue that a connection carries (§3.3.3).

use crate::{connect::ConnectCommand, pdu::FatalError};

/// A host's submission queue, of which the controller sees the entries as they come.
#[derive(Debug)]
pub(super) struct SubmissionQueue {
    /// Entries there are; one until the host has connected, for its Connect.
    entries: u16,
    /// Next entry that the controller takes.
    head: u16,
    /// The host waits for the head to move before it uses an entry again.
    flow_control: bool,
}

impl Default for SubmissionQueue {
    fn default() -> SubmissionQueue {
        SubmissionQueue {
            entries: 1,
            head: 0,
            flow_control: true,
        }
    }
}

impl SubmissionQueue {
    /// The queue that a Connect makes. Its first entry was the Connect's.
    pub(super) fn of(connect: &ConnectCommand) -> SubmissionQueue {
        let mut queue = SubmissionQueue {
            entries: connect.size.saturating_add(1),
            head: 0,
            flow_control: !connect.no_flow_control,
        };
        queue.advance();
        queue
    }

    /// Takes the entry at the head.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.head = (self.head + 1) % self.entries;
    }

    /// Refuses more commands under way than there are entries. Event Requests do not count: they have a limit of their
    /// own.
    #[inline]
    pub(super) fn bound(&self, commands: usize) -> Result<(), FatalError> {
        if commands > usize::from(self.entries) {
            Err(FatalError::sequence())
        } else {
            Ok(())
        }
    }

    /// Whether the host waits for completions, to know of free entries. If not, success needs none (TCP §3.6.2.9).
    #[inline]
    pub(super) fn has_flow_control(&self) -> bool {
        self.flow_control
    }

    /// Head pointer of a completion: reserved without flow control.
    #[inline]
    pub(super) fn head(&self) -> u16 {
        if self.flow_control { self.head } else { 0 }
    }

    /// Head pointer of Connect's answer: FFFFh grants that there is no flow control (§6.3, CATTR).
    pub(super) fn head_of_connect(&self) -> u16 {
        if self.flow_control { self.head } else { 0xffff }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(size: u16, no_flow_control: bool) -> SubmissionQueue {
        SubmissionQueue::of(&ConnectCommand {
            format: 0,
            queue: 1,
            size,
            no_flow_control,
            keep_alive_ms: 0,
        })
    }

    #[test]
    fn the_head_wraps_round_behind_the_last_entry() {
        let mut queue = queue(2, false);
        let heads = [(); 4].map(|()| {
            let head = queue.head();
            queue.advance();
            head
        });
        assert_eq!(heads, [1, 2, 0, 1]);
    }

    #[test]
    fn a_host_that_has_not_connected_has_one_entry() {
        let mut queue = SubmissionQueue::default();
        queue.advance();
        assert_eq!((queue.head(), queue.head_of_connect()), (0, 0));
        assert!(queue.bound(1).is_ok() && queue.bound(2).is_err());
    }

    #[test]
    fn as_many_commands_are_under_way_as_there_are_entries() {
        let longest = queue(u16::MAX, false);
        assert!(longest.bound(65535).is_ok() && longest.bound(65536).is_err());
        let shortest = queue(1, false);
        assert!(shortest.bound(2).is_ok() && shortest.bound(3).is_err());
    }

    #[test]
    fn without_flow_control_no_head_is_reported() {
        let mut queue = queue(7, true);
        queue.advance();
        assert_eq!((queue.head(), queue.head_of_connect()), (0, 0xffff));
        assert!(!queue.has_flow_control());
    }
}
