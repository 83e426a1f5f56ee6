//! A ring as the kernel would write it, and as nobody should.

use std::{cell::RefCell, rc::Rc};

use proptest::prelude::*;

use super::*;

const BYTES: usize = 64 << 10;
const AT: usize = 128;
const RING: usize = 4096;
const DATA: usize = 16 << 10;

/// Memory of a test, and what the kernel has of it.
#[derive(Debug, Clone)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Memory for Shared {
    fn bytes(&self) -> usize {
        self.0.borrow().len()
    }

    fn read(&self, at: usize, into: &mut [u8]) -> Option<()> {
        let memory = self.0.borrow();
        into.copy_from_slice(memory.get(at..at.checked_add(into.len())?)?);
        Some(())
    }

    fn write(&self, at: usize, bytes: &[u8]) -> Option<()> {
        let mut memory = self.0.borrow_mut();
        let end = at.checked_add(bytes.len())?;
        memory.get_mut(at..end)?.copy_from_slice(bytes);
        Some(())
    }

    fn load(&self, at: usize) -> Option<u32> {
        let mut bytes = [0; 4];
        self.read(at, &mut bytes)?;
        Some(u32::from_ne_bytes(bytes))
    }

    fn store(&self, at: usize, number: u32) -> Option<()> {
        self.write(at, &number.to_ne_bytes())
    }
}

impl Shared {
    /// An empty ring.
    fn new() -> Shared {
        let shared = Shared(Rc::new(RefCell::new(vec![0; BYTES])));
        shared.write(0, &VERSION.to_ne_bytes()).unwrap();
        let flags = (TAKES_LENGTHS | 1).to_ne_bytes();
        shared.write(FLAGS, &flags).unwrap();
        shared.store(RING_AT, AT as u32).unwrap();
        shared.store(RING_BYTES, RING as u32).unwrap();
        shared
    }

    /// The kernel adds an entry at its end: a command with pieces of data, `(offset, length)`.
    fn push(&self, cdb: &[u8], pieces: &[(u64, u64)]) -> usize {
        let head = self.load(HEAD).unwrap() as usize;
        let least = (PIECES + PIECE * pieces.len()).max(SENSE + SENSE_ROOM);
        let length = (least + cdb.len()).next_multiple_of(64);
        let entry = AT + head;
        self.store(entry, length as u32 | COMMAND).unwrap();
        self.store(entry + PIECES_COUNT, pieces.len() as u32)
            .unwrap();
        let at = entry + least;
        self.write(entry + COMMAND_AT, &(at as u64).to_ne_bytes())
            .unwrap();
        self.write(at, cdb).unwrap();
        for (index, (at, length)) in pieces.iter().enumerate() {
            let piece = [at.to_ne_bytes(), length.to_ne_bytes()].concat();
            self.write(entry + PIECES + PIECE * index, &piece).unwrap();
        }
        self.store(HEAD, ((head + length) % RING) as u32).unwrap();
        entry
    }

    fn byte(&self, at: usize) -> u8 {
        self.0.borrow()[at]
    }

    fn data(&self, at: usize, length: usize) -> Vec<u8> {
        self.0.borrow()[at..at + length].to_vec()
    }
}

/// All that has come, and how much it was.
fn serve(
    ring: &mut Ring<Shared>,
    mut perform: impl FnMut(&[u8], &[u8]) -> Result<Vec<u8>, Sense>,
) -> Result<u32, RingError> {
    let mut answered = 0;
    while ring.serve_next(&mut perform)? {
        answered += 1;
    }
    Ok(answered)
}

const READ: [u8; 10] = [0x28, 0, 0, 0, 0, 7, 0, 0, 1, 0];
const WRITE: [u8; 10] = [0x2a, 0, 0, 0, 0, 7, 0, 0, 1, 0];

#[test]
fn commands_are_performed_in_order_and_their_data_go_where_they_belong() {
    let shared = Shared::new();
    let mut ring = Ring::new(shared.clone()).unwrap();
    assert_eq!(serve(&mut ring, |_, _| panic!("nothing has come")), Ok(0));
    shared.write(DATA, &[1, 2, 3]).unwrap();
    shared.write(DATA + 100, &[4, 5]).unwrap();
    let pieces = [(DATA as u64, 3), (DATA as u64 + 100, 2)];
    let write = shared.push(&WRITE, &pieces);
    let read = shared.push(&READ, &pieces);
    let mut seen = Vec::new();
    let answered = serve(&mut ring, |cdb, data| {
        seen.push((cdb.to_vec(), data.to_vec()));
        Ok(vec![9, 8, 7, 6])
    });
    assert_eq!(answered, Ok(2));
    let expected = [
        (WRITE.to_vec(), vec![1, 2, 3, 4, 5]),
        (READ.to_vec(), vec![]),
    ];
    assert_eq!(seen, expected);
    // What was read is in the pieces, and its length told; a write answers with nothing.
    assert_eq!(shared.data(DATA, 3), [9, 8, 7]);
    assert_eq!(shared.data(DATA + 100, 2), [6, 0]);
    assert_eq!(shared.byte(read + STATUS), 0);
    assert_eq!(shared.load(read + READ_LENGTH), Some(4));
    assert_eq!(shared.byte(read + OUR_FLAGS), HAS_LENGTH);
    assert_eq!(shared.byte(write + OUR_FLAGS), 0);
    assert_eq!(shared.load(TAIL), shared.load(HEAD));
}

#[test]
fn one_command_is_served_at_a_time() {
    let shared = Shared::new();
    let mut ring = Ring::new(shared.clone()).unwrap();
    shared.push(&READ, &[]);
    let second = shared.push(&READ, &[]);
    assert_eq!(ring.serve_next(|_, _| Ok(Vec::new())), Ok(true));
    // The kernel can take the first one's answer before the second is performed.
    assert_eq!(shared.load(TAIL), Some((second - AT) as u32));
    assert_eq!(ring.serve_next(|_, _| Ok(Vec::new())), Ok(true));
    assert_eq!(
        ring.serve_next(|_, _| panic!("nothing has come")),
        Ok(false)
    );
}

#[test]
fn what_an_answer_does_not_fill_is_zeroed() {
    for answer in [vec![], vec![9], vec![9, 8, 7, 6]] {
        let shared = Shared::new();
        let mut ring = Ring::new(shared.clone()).unwrap();
        shared.write(DATA, &[1; 8]).unwrap();
        shared.push(&READ, &[(DATA as u64, 3), (DATA as u64 + 3, 4)]);
        serve(&mut ring, |_, _| Ok(answer.clone())).unwrap();
        let mut expected = answer.clone();
        expected.resize(7, 0);
        expected.push(1);
        assert_eq!(shared.data(DATA, 8), expected);
    }
}

#[test]
fn what_fails_is_told_with_its_sense() {
    let shared = Shared::new();
    let mut ring = Ring::new(shared.clone()).unwrap();
    let entry = shared.push(&READ, &[(DATA as u64, 512)]);
    serve(&mut ring, |_, _| Err(Sense::OUT_OF_RANGE)).unwrap();
    assert_eq!(shared.byte(entry + STATUS), CHECK_CONDITION);
    let sense = Sense::OUT_OF_RANGE.to_bytes();
    assert_eq!(shared.data(entry + SENSE, sense.len()), sense);
}

#[test]
fn it_goes_round_and_goes_on_where_another_ended() {
    let shared = Shared::new();
    let mut ring = Ring::new(shared.clone()).unwrap();
    for _ in 0..500 {
        // The kernel fills the end up where an entry does not fit.
        let head = shared.load(HEAD).unwrap() as usize;
        if RING - head < 256 {
            shared.store(AT + head, (RING - head) as u32 | PAD).unwrap();
            shared.store(HEAD, 0).unwrap();
        }
        shared.push(&READ, &[(DATA as u64, 8)]);
        assert!(serve(&mut ring, |_, _| Ok(vec![0; 8])).unwrap() > 0);
    }
    shared.push(&READ, &[]);
    let mut another = Ring::new(shared.clone()).unwrap();
    assert_eq!(serve(&mut another, |_, _| Ok(Vec::new())), Ok(1));
}

#[test]
fn what_lies_beyond_the_memory_is_not_touched() {
    let (end, most) = (BYTES as u64, u64::from(MOST_TRANSFER));
    for pieces in [
        &[(end, 1)][..],
        &[(end - 4, 8)],
        &[(u64::MAX, 8)],
        &[(8, u64::MAX)],
        &[(0, most + 1)],
    ] {
        let shared = Shared::new();
        let mut ring = Ring::new(shared.clone()).unwrap();
        let entry = shared.push(&WRITE, pieces);
        serve(&mut ring, |_, _| panic!("{pieces:?}")).unwrap();
        assert_eq!(shared.byte(entry + STATUS), CHECK_CONDITION, "{pieces:?}");
        assert_eq!(shared.byte(entry + SENSE + 12), 0x4b, "{pieces:?}");
    }
}

#[test]
fn a_ring_that_is_none_is_refused() {
    for (at, number) in [
        (0, 1),
        (RING_AT, 0),
        (RING_AT, 132),
        (RING_AT, BYTES as u32),
        (RING_BYTES, 0),
        (RING_BYTES, u32::MAX),
        (TAIL, RING as u32),
    ] {
        let shared = Shared::new();
        shared.store(at, number).unwrap();
        let ring = Ring::new(shared);
        assert_eq!(ring.err(), Some(RingError::Mailbox), "{at} {number}");
    }
    let shared = Shared::new();
    let mut ring = Ring::new(shared.clone()).unwrap();
    shared.store(HEAD, 64).unwrap();
    // Too short, longer than the kernel has written, and longer than the ring.
    for length in [0, 72, RING as u32, RING as u32 + 8] {
        shared.store(AT, length | COMMAND).unwrap();
        let served = serve(&mut ring, |_, _| Ok(Vec::new()));
        assert_eq!(served, Err(RingError::Entry(AT)), "{length}");
    }
}

#[test]
fn an_entry_of_another_kind_is_given_back_as_such() {
    let shared = Shared::new();
    let mut ring = Ring::new(shared.clone()).unwrap();
    shared.store(AT, 64 | 2).unwrap();
    shared.store(HEAD, 64).unwrap();
    assert_eq!(serve(&mut ring, |_, _| panic!("no command")), Ok(1));
    assert_eq!(shared.byte(AT + OUR_FLAGS), UNKNOWN_KIND);
}

proptest! {
    /// Whatever stands in the mailbox and the ring: an answer or an error, and no more data than a command may have.
    #[test]
    fn no_bytes_harm_it(changes in proptest::collection::vec((0_usize..1024, any::<u8>()), 1..20)) {
        let shared = Shared::new();
        for cdb in [READ, WRITE, READ] {
            shared.push(&cdb, &[(DATA as u64, 4096), (DATA as u64 + 8192, 512)]);
        }
        for (at, byte) in changes {
            shared.write(at, &[byte]).unwrap();
        }
        if let Ok(mut ring) = Ring::new(shared) {
            let mut calls = 0;
            let _ = serve(&mut ring, |_, data| {
                calls += 1;
                assert!(data.len() <= MOST_TRANSFER as usize);
                // Entries are eight bytes at least, so it ends.
                assert!(calls <= RING / HEADER);
                Ok(vec![0; 64])
            });
        }
    }
}
