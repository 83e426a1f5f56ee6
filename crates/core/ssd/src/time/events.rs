//! When each server (die or channel) is next done: a tournament of which the earliest wins.
//!
//! A server has at most one event before it, which may be moved, so that a flat tree of fixed size
//! serves better than a heap: an event is set, moved and cleared by one walk from leaf to root.

/// A time later than anything that happens.
pub(super) const NEVER: u64 = u64::MAX;

/// A server and the time of its next event. Of two at the same time the lower number wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) at: u64,
    pub(super) server: u32,
}

#[derive(Debug)]
pub(super) struct Events {
    /// The tournament's nodes: the overall winner at 1, its two candidates at 2 and 3, and so on;
    /// leaves at the end.
    nodes: Vec<Event>,
}

impl Events {
    pub(super) fn new(servers: u32) -> Events {
        let leaves = servers.next_power_of_two();
        let leaf = |server| Event { at: NEVER, server };
        let mut nodes: Vec<Event> = (0..leaves).map(|_| leaf(0)).collect();
        nodes.extend((0..leaves).map(leaf));
        for node in (1..leaves as usize).rev() {
            nodes[node] = nodes[2 * node];
        }
        Events { nodes }
    }

    /// The next event of all.
    #[inline]
    pub(super) fn first(&self) -> Event {
        self.nodes[1]
    }

    /// A server's next event is at `at`.
    #[inline]
    pub(super) fn set(&mut self, server: u32, at: u64) {
        let mut node = self.nodes.len() / 2 + server as usize;
        self.nodes[node].at = at;
        while node > 1 {
            node /= 2;
            let (left, right) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
            self.nodes[node] = if right.at < left.at { right } else { left };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_first_event_is_the_least_of_all() {
        for servers in [1_u32, 2, 5, 64] {
            let mut events = Events::new(servers);
            let mut times = vec![NEVER; servers as usize];
            let mut random = Random::new(u64::from(servers));
            for _ in 0..1000 {
                let server = random.below(servers);
                let at = [NEVER, u64::from(random.below(50))][random.below(2) as usize];
                times[server as usize] = at;
                events.set(server, at);
                let least = times.iter().copied().min().unwrap();
                assert_eq!(events.first().at, least);
                if least < NEVER {
                    let first = times.iter().position(|&at| at == least).unwrap();
                    assert_eq!(events.first().server as usize, first);
                }
            }
        }
    }
}
