//! A relocation's view of victims and survivors, against a ledger kept beside the device: whose
//! pages they are, when their unit was opened, how old they are, and whose unit was erased.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod driven;
mod flash;
#[allow(dead_code)]
mod workload;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use anabranch_ssd::{
    Device, PageRange, StreamId,
    relocate::{Destination, Erased, Relocate, Survivor, Victim},
};
use flash::small;
use workload::Random;

const PAGES_PER_UNIT: u32 = 16;
/// The only stream that copies join.
const COPIES: StreamId = StreamId(2);

/// Pages fill units in the order in which they are appended to a stream, so that the book tells in
/// which of its units a page lies without being told units.
#[derive(Debug, Default)]
struct Book {
    /// Pages the host has written before the write that is under way.
    now: u64,
    written_at: HashMap<u32, u64>,
    /// The stream and the number of its unit that each page lies in.
    home: HashMap<u32, (StreamId, u64)>,
    appended: HashMap<StreamId, u64>,
    opened_at: HashMap<(StreamId, u64), u64>,
    victims: HashMap<StreamId, u64>,
    erased: HashMap<StreamId, u64>,
    copies: u64,
}

impl Book {
    fn append(&mut self, page: u32, stream: StreamId) {
        let appended = self.appended.entry(stream).or_default();
        let home = (stream, *appended / u64::from(PAGES_PER_UNIT));
        *appended += 1;
        self.home.insert(page, home);
        self.opened_at.entry(home).or_insert(self.now);
    }
}

/// Copies all to one stream, and compares what it is told with the book.
#[derive(Debug)]
struct Spy(Arc<Mutex<Book>>);

impl Relocate for Spy {
    fn destination(&mut self, victim: &Victim) -> Destination {
        let mut book = self.0.lock().unwrap();
        *book.victims.entry(victim.stream).or_default() += 1;
        Destination::Each
    }

    fn survivor(&mut self, victim: &Victim, survivor: Survivor) -> StreamId {
        let mut book = self.0.lock().unwrap();
        let home = book.home[&survivor.page];
        assert_eq!(victim.now, book.now);
        assert_eq!(victim.stream, home.0);
        assert_eq!(victim.opened_at, book.opened_at[&home], "{victim:?}");
        assert_eq!(
            survivor.age_pages,
            book.now - book.written_at[&survivor.page]
        );
        book.append(survivor.page, COPIES);
        book.copies += 1;
        COPIES
    }

    fn wants_ages(&self) -> bool {
        true
    }

    fn erased(&mut self, erased: &Erased) {
        let mut book = self.0.lock().unwrap();
        assert_eq!(erased.now, book.now);
        let is_known = book.opened_at.iter().any(|((stream, _), opened_at)| {
            (*stream, *opened_at) == (erased.stream, erased.opened_at)
        });
        assert!(is_known, "{erased:?}");
        *book.erased.entry(erased.stream).or_default() += 1;
    }
}

#[test]
fn victims_survivors_and_erases_are_told_as_they_are() {
    let config = small(2_000, PAGES_PER_UNIT, 60);
    let book = Arc::new(Mutex::new(Book::default()));
    let mut spy = Spy(book.clone());
    let mut device = Device::new(config.clone(), &spy).unwrap();
    let mut random = Random(3);
    for now in 0..60_000_u64 {
        // Two streams of unlike lifetimes, so that victims of both hold pages that live.
        let page = match random.below(4) {
            0 => random.below(config.logical_pages),
            _ => random.below(config.logical_pages / 10),
        };
        let stream = StreamId((page % 2) as u16);
        book.lock().unwrap().now = now;
        let page_alone = PageRange::new(page, 1);
        device.write(&mut spy, page_alone, stream).unwrap();
        let mut book = book.lock().unwrap();
        book.written_at.insert(page, now);
        book.append(page, stream);
    }
    let book = book.lock().unwrap();
    assert_eq!(
        device.counters().sealed_units,
        0,
        "units were closed half empty"
    );
    assert!(book.copies > 10_000, "{}", book.copies);
    for stream in [StreamId(0), StreamId(1), COPIES] {
        let told = device.stream_counters()[stream.index()];
        let erased = book.victims[&stream];
        assert!(erased > 100, "{stream:?}: {erased}");
        assert_eq!(told.erased_units, erased, "{stream:?}");
        assert_eq!(book.erased[&stream], erased, "{stream:?}");
    }
}
