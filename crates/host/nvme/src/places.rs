//! Places of connections: those of newcomers, who have proven nothing yet, are few and are given up first.
//!
//! ```text
//! admit(peer):   while there are as many newcomers as may be:
//!                    give up the oldest newcomer of the origin that has most of them
//!                add a newcomer; its connection is notified when its place is given up
//! prove(place):  the newcomer leaves the list, and nobody takes its place any more
//! drop(place):   the place is free
//! ```
//!
//! Choosing by origin keeps a host that is about to authenticate safe from a flood of another address.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::oneshot, time};

/// Looks for a place that is free, and the time between two (our choice).
const LOOKS: u32 = 100;
const LOOK: Duration = Duration::from_millis(1);

/// The places of a listener.
#[derive(Debug)]
pub(crate) struct Places {
    most: usize,
    most_newcomers: usize,
    held: Mutex<Held>,
}

/// Places that are taken.
#[derive(Debug, Default)]
struct Held {
    all: usize,
    next: u64,
    /// Oldest first.
    newcomers: Vec<Newcomer>,
}

#[derive(Debug)]
struct Newcomer {
    number: u64,
    origin: IpAddr,
    given_up: oneshot::Sender<()>,
}

/// A connection's place, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    places: Arc<Places>,
    number: u64,
}

impl Places {
    /// Places for at most `proven` connections that have proven themselves, and for `newcomers` beside them.
    pub(crate) fn new(proven: usize, newcomers: usize) -> Arc<Places> {
        Arc::new(Places {
            // Newcomers whose place was given up need a moment to end.
            most: proven + 2 * newcomers,
            most_newcomers: newcomers,
            held: Mutex::default(),
        })
    }

    /// Takes a newcomer's place, and the notice that it was given up to a later one. `None` where too many
    /// connections have not ended yet.
    pub(crate) fn admit(self: &Arc<Self>, peer: IpAddr) -> Option<(Place, oneshot::Receiver<()>)> {
        let mut held = self.held();
        if held.all >= self.most {
            return None;
        }
        while held.newcomers.len() >= self.most_newcomers {
            held.give_up_one()?;
        }
        let (given_up, notice) = oneshot::channel();
        let number = held.next;
        held.next += 1;
        held.all += 1;
        held.newcomers.push(Newcomer {
            number,
            origin: origin(peer),
            given_up,
        });
        let places = Arc::clone(self);
        Some((Place { places, number }, notice))
    }

    /// Takes a place as [`Places::admit`] does. Connections whose places were given up may need a moment to end.
    pub(crate) async fn admit_soon(
        self: &Arc<Self>,
        peer: IpAddr,
    ) -> Option<(Place, oneshot::Receiver<()>)> {
        for _ in 0..LOOKS {
            let place = self.admit(peer);
            if place.is_some() {
                return place;
            }
            time::sleep(LOOK).await;
        }
        None
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    /// Gives up the oldest newcomer of the origin that has most of them.
    fn give_up_one(&mut self) -> Option<()> {
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        for newcomer in &self.newcomers {
            *counts.entry(newcomer.origin).or_default() += 1;
        }
        let most = counts.values().max().copied();
        let is_greediest = |one: &Newcomer| counts.get(&one.origin).copied() == most;
        let oldest = self.newcomers.iter().position(is_greediest)?;
        // A connection that is ending anyway takes no notice.
        let _ = self.newcomers.remove(oldest).given_up.send(());
        Some(())
    }

    fn leave(&mut self, number: u64) {
        self.newcomers.retain(|one| one.number != number);
    }
}

impl Place {
    /// Keeps the place for as long as the connection lives: its host has proven who it is.
    pub(crate) fn prove(&self) {
        self.places.held().leave(self.number);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.places.held();
        held.leave(self.number);
        held.all -= 1;
    }
}

/// The address that newcomers are counted by: of IPv6 the network's 64 bits, since a host chooses the others.
fn origin(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_oldest_newcomer_of_the_greediest_origin_is_given_up_first() {
        let places = Places::new(1, 3);
        let [host, flood] = ["192.0.2.1", "192.0.2.2"].map(address);
        let (_host, mut of_host) = places.admit(host).unwrap();
        let (_first, mut of_first) = places.admit(flood).unwrap();
        let (_second, mut of_second) = places.admit(flood).unwrap();
        let (_third, _notice) = places.admit(flood).unwrap();
        assert!(of_first.try_recv().is_ok());
        assert!(of_second.try_recv().is_err() && of_host.try_recv().is_err());
    }

    #[test]
    fn a_proven_connection_keeps_its_place() {
        let places = Places::new(1, 1);
        let (place, mut notice) = places.admit(address("192.0.2.1")).unwrap();
        place.prove();
        let newcomers: Vec<_> = (0..2)
            .map(|_| places.admit(address("192.0.2.1")).unwrap())
            .collect();
        assert!(notice.try_recv().is_err());
        // The newcomer that was given up has not ended: there is no room for a third.
        assert!(places.admit(address("192.0.2.1")).is_none());
        drop(newcomers);
        assert!(places.admit(address("192.0.2.1")).is_some());
    }

    #[test]
    fn hosts_of_one_ipv6_network_are_one_origin() {
        assert_eq!(
            origin(address("2001:db8::1")),
            origin(address("2001:db8::2:1"))
        );
        assert_ne!(
            origin(address("2001:db8::1")),
            origin(address("2001:db8:0:1::1"))
        );
        assert_eq!(origin(address("::ffff:192.0.2.1")), address("192.0.2.1"));
    }
}
