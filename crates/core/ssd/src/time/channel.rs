//! A channel: moves data between the controller and its dies, one transfer at a time.

use std::collections::VecDeque;

use super::events::NEVER;

/// Transfers of a channel for a die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Transfer {
    pub(super) die: u32,
    /// Whether the data move from the die to the controller.
    pub(super) out: bool,
    /// Whether the host waits for it: urgent transfers go before the others.
    pub(super) urgent: bool,
    pub(super) left_ns: u64,
}

/// Urgent transfers in order, then the others in order. One that is not urgent is interrupted
/// between two flash pages, and goes on where it was.
#[derive(Debug, Default)]
pub(super) struct Channel {
    current: Option<Transfer>,
    since: u64,
    /// When the current transfer ends or is interrupted.
    until: u64,
    urgent: VecDeque<Transfer>,
    others: VecDeque<Transfer>,
    pub(super) busy_ns: u64,
}

impl Channel {
    /// Asks for a transfer. Answers when the channel's next event is.
    pub(super) fn ask(&mut self, transfer: Transfer, now: u64, chunk_ns: u64) -> u64 {
        let Some(current) = self.current else {
            return self.begin(transfer, now);
        };
        if !transfer.urgent {
            self.others.push_back(transfer);
            return self.until;
        }
        self.urgent.push_back(transfer);
        if !current.urgent {
            let chunks = (now - self.since).div_ceil(chunk_ns);
            self.until = self.until.min(self.since + chunks * chunk_ns);
        }
        self.until
    }

    fn begin(&mut self, transfer: Transfer, now: u64) -> u64 {
        self.current = Some(transfer);
        self.since = now;
        self.until = now + transfer.left_ns;
        self.until
    }

    /// The channel's event has come. Answers the transfer that is complete, if one is, and when
    /// the next event is.
    pub(super) fn turn(&mut self, now: u64) -> (Option<Transfer>, u64) {
        let mut complete = None;
        if let Some(mut current) = self.current.take() {
            let moved_ns = now - self.since;
            self.busy_ns += moved_ns;
            current.left_ns -= moved_ns.min(current.left_ns);
            match current.left_ns {
                0 => complete = Some(current),
                _ => self.others.push_front(current),
            }
        }
        let next = self.urgent.pop_front().or_else(|| self.others.pop_front());
        let at = next.map_or(NEVER, |transfer| self.begin(transfer, now));
        (complete, at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(die: u32, urgent: bool, left_ns: u64) -> Transfer {
        Transfer {
            die,
            out: urgent,
            urgent,
            left_ns,
        }
    }

    #[test]
    fn an_urgent_transfer_interrupts_a_long_one_at_the_next_flash_page() {
        let mut channel = Channel::default();
        assert_eq!(channel.ask(transfer(0, false, 100), 0, 30), 100);
        assert_eq!(channel.ask(transfer(1, true, 5), 31, 30), 60);
        assert_eq!(channel.turn(60), (None, 65));
        assert_eq!(channel.turn(65), (Some(transfer(1, true, 0)), 105));
        assert_eq!(channel.turn(105), (Some(transfer(0, false, 0)), NEVER));
        assert_eq!(channel.busy_ns, 105);
    }

    #[test]
    fn transfers_of_one_kind_keep_their_order() {
        let mut channel = Channel::default();
        channel.ask(transfer(0, true, 10), 0, 30);
        channel.ask(transfer(1, true, 10), 1, 30);
        channel.ask(transfer(2, false, 10), 2, 30);
        channel.ask(transfer(3, true, 10), 3, 30);
        let order: Vec<u32> = [10, 20, 30, 40]
            .map(|now| channel.turn(now).0.unwrap().die)
            .to_vec();
        assert_eq!(order, [0, 1, 3, 2]);
    }
}
