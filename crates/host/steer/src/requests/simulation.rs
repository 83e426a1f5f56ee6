//! Requests of a block device in a world of its own, in which all that happens follows from a seed: a drive that answers
//! in any order, fails, cuts commands off, is reset, forgets its streams or goes for ever; a server that is killed, whose
//! requests come again to the next; a host that loses power. What reads find, what is left when power was lost, which
//! handle each page went to and what was counted is held against a model.
//!
//! `ANABRANCH_SEEDS=FROM..TO` says which seeds; a failure prints the command that repeats it.

mod absence;
mod asking;
mod drive;
mod ends;
mod model;
mod places;
#[path = "../../../nvme/tests/simulation/random.rs"]
mod random;
mod rewriting;
#[path = "../../../nvme/tests/simulation/seeds.rs"]
#[allow(clippy::print_stderr)]
mod seeds;
mod server;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anabranch_ssd::StreamId;
use nix::libc::EOPNOTSUPP;

use super::{Requests, Step};
use crate::abi::NvmeCommand;
use crate::command::{Action, Request, refuses_directive};
use crate::counters::Counters;
use crate::drive::Directive;
use crate::ledger::Ledger;
use crate::retry::{PAUSE_NS, is_cut_off};
use crate::shared::Shared;
use crate::take_over::Facts;
use crate::writers::{KnownWriters, Writers};
use absence::Surroundings;
use drive::{GONE, LIVE, RESETTING, SimulatedDrive, Version};
use model::{FlushBegun, Model};
use places::{memory, page_of, pages_of, place, sectors_of};
use random::Random;
use rewriting::Rewriting;
use seeds::{SeedReport, seeds};
use server::{PlacerKind, controllers, shared};

const SEEDS: Range<u64> = 0..2000;
/// The command that runs them.
const COMMAND: &str = "cargo test --package anabranch-steer simulation";
/// Things that happen in a run, and how many more it may take to come to rest.
const STEPS: u32 = 400;
const MOST_STEPS: u32 = 20_000;
const SECTOR_BYTES: usize = 512;
/// A drive of 256 KiB, so that requests meet.
const SECTORS: usize = 512;
const DEPTH: u16 = 8;
const STREAMS: u16 = 5;
/// The stream of metadata, where it has one of its own.
const METADATA: StreamId = StreamId(4);
/// The contents of a read's memory before it.
const NOTHING: Version = Version::MAX;
/// A request that the kernel waits for.
struct Waiting {
    request: Request,
    /// The contents of its memory, sector by sector.
    data: Vec<Version>,
    /// The stream of each page of a write.
    streams: Vec<u16>,
    flush: Option<FlushBegun>,
    /// It waits for a host that collects.
    is_held: bool,
    /// The drive refused a part of it by its own word, was gone, or cut commands off for too long.
    may_fail: bool,
}

/// A command that the drive has.
struct UnderWay {
    tag: u16,
    index: usize,
    command: NvmeCommand,
    range: [u8; 16],
}

struct World {
    random: Random,
    /// Files that say how a drive is reached, by what they say, and which holds now.
    directory: Arc<Path>,
    reached: Arc<Mutex<&'static str>>,
    began: Instant,
    now_ms: u64,
    lends: bool,
    metadata: Option<StreamId>,
    drive: SimulatedDrive,
    surroundings: Surroundings,
    /// A block device waits that must not go on: nobody serves it.
    is_refused: bool,
    model: Model,
    last: Version,
    waiting: BTreeMap<u16, Waiting>,
    writers: Arc<KnownWriters>,
    shared: Arc<Shared>,
    server: Requests,
    under_way: Vec<UnderWay>,
    /// When which command is issued again.
    paused: Vec<(u64, u16, usize)>,
    /// A host that collects, in every other world.
    rewriting: Option<Rewriting>,
    /// The counts that this server must have.
    counted: Counters,
    events: BTreeMap<&'static str, u64>,
}

impl World {
    fn new(seed: u64, directory: Arc<Path>) -> World {
        let mut random = Random::new(seed);
        let directive = random.one_of(&[Directive::Placement, Directive::Streams]);
        let drive = SimulatedDrive::new(SECTORS, directive, &mut random);
        let writers = Arc::new(KnownWriters::default());
        let collects = random.one_in(2);
        let metadata = (!collects && random.one_in(2)).then_some(METADATA);
        let reached = Arc::new(Mutex::new(LIVE));
        let controllers = controllers(&directory, &reached);
        let surroundings = Surroundings::new(&mut random);
        let ledger = Ledger::of_process(&surroundings.facts(&drive));
        let kind = if collects {
            PlacerKind::Collecting(random.one_in(2))
        } else {
            PlacerKind::Plain(metadata)
        };
        let shared = shared(&drive, &writers, kind, controllers, ledger);
        World {
            rewriting: collects.then(|| Rewriting::new(&shared)),
            server: Requests::new(Arc::clone(&shared), DEPTH),
            lends: random.one_in(2),
            random,
            began: Instant::now(),
            now_ms: 0,
            metadata,
            drive,
            surroundings,
            is_refused: false,
            model: Model::new(SECTORS),
            last: 0,
            waiting: BTreeMap::new(),
            writers,
            shared,
            under_way: Vec::new(),
            paused: Vec::new(),
            counted: Counters::new(STREAMS.into()),
            events: BTreeMap::new(),
            directory,
            reached,
        }
    }

    fn count(&mut self, event: &'static str) {
        *self.events.entry(event).or_default() += 1;
    }

    /// Sets the state of the drive's controller, and the kernel's word for it.
    fn reach(&mut self, how: &'static str) {
        self.drive.reach = how;
        *self.reached.lock().unwrap() = how;
    }

    fn step(&mut self) {
        self.now_ms += 1 + self.random.below(20);
        match self.random.below(400) {
            0..=3 => self.reset(),
            4..=5 => self.kill(),
            6 => self.lose_power(),
            7 if self.random.one_in(4) => self.be_gone(),
            8 => self.drive.is_stubborn = true,
            9..=150 => self.ask(),
            _ => self.go_on(),
        }
    }

    /// A pause ends, a reset ends, or the drive does a command: any.
    fn go_on(&mut self) {
        if self.random.one_in(2) && self.rewrite_on() {
            return;
        }
        if self.drive.reach == RESETTING && self.random.one_in(20) {
            self.reach(LIVE);
        }
        let due = self
            .paused
            .iter()
            .position(|&(at_ms, ..)| at_ms <= self.now_ms);
        if let Some(due) = due {
            let (_, tag, index) = self.paused.swap_remove(due);
            return self.issue(tag, index);
        }
        if self.drive.is_stubborn && self.random.one_in(100) {
            self.drive.is_stubborn = false;
        }
        if self.under_way.is_empty() {
            return;
        }
        let any = self.random.below(self.under_way.len() as u64) as usize;
        let one = self.under_way.swap_remove(any);
        let done = self.at_the_drive(&one, SimulatedDrive::answer);
        let bytes = one.command.data_bytes.into();
        match (one.command.opcode, done.answer) {
            (1, 0) => self.placed(&one, done.handle),
            (2, 0) => self.counted.read_bytes.add(bytes),
            (1, answer) if refuses_directive(answer) => self.counted.unplaced_bytes.add(bytes),
            _ => {}
        }
        self.answer(&one, done.answer);
    }

    /// Has the drive act on a command, whose memory is its request's.
    fn at_the_drive<T>(
        &mut self,
        one: &UnderWay,
        act: impl FnOnce(&mut SimulatedDrive, &NvmeCommand, &[u8; 16], &mut [Version], &mut Random) -> T,
    ) -> T {
        let waiting = self.waiting.get_mut(&one.tag).expect("a request");
        let data = place(one, self.lends, waiting);
        act(
            &mut self.drive,
            &one.command,
            &one.range,
            data,
            &mut self.random,
        )
    }

    /// A write was done: each of its pages must be where its writer's stream is, unless streams were forgotten.
    fn placed(&mut self, one: &UnderWay, handle: Option<u16>) {
        let waiting = &self.waiting[&one.tag];
        let pages = pages_of(waiting, one, self.lends);
        let streams = &waiting.streams[pages];
        let stream = streams[0];
        assert!(
            streams.iter().all(|&other| other == stream),
            "{streams:?} in one command"
        );
        let named = self.shared.target.handles[usize::from(stream)];
        let expected = match (self.drive.directive, named) {
            (Directive::Streams, 0) => None,
            _ => Some(named),
        };
        match handle {
            None if self.drive.has_forgotten => self.count("written without a stream"),
            handle => assert_eq!(handle, expected),
        }
        self.counted.written_bytes[usize::from(stream)].add(one.command.data_bytes.into());
    }

    /// The server hears what the drive has answered.
    fn answer(&mut self, one: &UnderWay, answer: i32) {
        let is_own = answer != 0 && !is_cut_off(answer) && !refuses_directive(answer);
        if let Some(waiting) = self.waiting.get_mut(&one.tag) {
            waiting.may_fail |= is_own || self.drive.is_stubborn || self.drive.reach == GONE;
        }
        let now = self.began + Duration::from_millis(self.now_ms);
        let step = self.server.answered(one.tag, one.index, answer, || now);
        self.take(one.tag, step);
    }

    /// Does the next step of a request.
    fn take(&mut self, tag: u16, step: Step) {
        match step {
            Step::Issue(commands) => commands.for_each(|index| self.issue(tag, index)),
            Step::Pause(index) => {
                self.count("commands asked for again");
                self.counted.repeated_commands.add(1);
                let at_ms = self.now_ms + u64::from(PAUSE_NS) / 1_000_000;
                self.paused.push((at_ms, tag, index));
            }
            Step::Hold => unreachable!("it has not begun"),
            Step::Wait => {}
            Step::Answer(answer) => self.answered(tag, answer),
        }
    }

    fn issue(&mut self, tag: u16, index: usize) {
        let data = if self.lends { 0 } else { memory(tag) };
        let (command, _) = self.server.issue(tag, index, data).expect("a command");
        self.under_way.push(UnderWay {
            tag,
            index,
            command,
            range: *self.server.tags[usize::from(tag)].range,
        });
    }

    /// The block layer asks for something that overlaps nothing under way.
    fn ask(&mut self) {
        let free = (0..DEPTH).find(|tag| !self.waiting.contains_key(tag));
        let (Some(tag), Some(request)) = (free, self.any_request()) else {
            return;
        };
        let sectors = sectors_of(&request);
        let is_write = matches!(request.asked, Action::Write { .. });
        let data = match request.asked {
            Action::Write { .. } => sectors.clone().map(|_| self.version()).collect(),
            Action::Read => vec![NOTHING; sectors.len()],
            _ => vec![0; sectors.len()],
        };
        if is_write {
            self.tell_writers(&sectors);
        }
        if is_write || matches!(request.asked, Action::Discard | Action::Zeroes { .. }) {
            self.model.begin(sectors.start, &data);
        }
        let flush = (request.asked == Action::Flush).then(|| self.model.begin_flush());
        let streams = Vec::new();
        let waiting = Waiting {
            request,
            data,
            streams,
            flush,
            is_held: false,
            may_fail: request.asked == Action::Unknown,
        };
        self.waiting.insert(tag, waiting);
        self.arrive(tag);
    }

    /// A request comes to the server, perhaps for the second time.
    fn arrive(&mut self, tag: u16) {
        let waiting = self.waiting.get_mut(&tag).expect("a request");
        waiting.is_held = false;
        let step = self.server.arrived(tag, waiting.request);
        self.begun(tag, step);
    }

    /// The server has begun with a request, or holds it.
    fn begun(&mut self, tag: u16, step: Step) {
        let waiting = self.waiting.get_mut(&tag).expect("a request");
        if step == Step::Hold {
            let is_first = !std::mem::replace(&mut waiting.is_held, true);
            self.counted.waits.add(is_first.into());
            return self.count("requests held");
        }
        waiting.is_held = false;
        let request = waiting.request;
        let counted = &self.counted;
        match request.asked {
            Action::Write { is_metadata, .. } => {
                let sectors = sectors_of(&request);
                let pages = page_of(sectors.start)..page_of(sectors.end - 1) + 1;
                let own = self.metadata.filter(|_| is_metadata);
                let stream = |page| match (own, self.writers.writer_of(page)) {
                    (Some(stream), _) => stream.0,
                    (None, writer) => writer.map_or(0, |writer| writer.context.0 as u16),
                };
                waiting.streams = pages.map(stream).collect();
                let streams = &waiting.streams;
                let is_split = streams.windows(2).any(|pair| pair[0] != pair[1]);
                let unknown = streams.iter().filter(|&&stream| stream == 0).count();
                counted.writes.add(1);
                counted.split_writes.add(is_split.into());
                counted.unknown_pages.add(unknown as u64);
                counted
                    .metadata_pages
                    .add(if is_metadata { streams.len() as u64 } else { 0 });
            }
            Action::Discard | Action::Zeroes { may_discard: true } => {
                counted.discarded_bytes.add(request.length_bytes);
            }
            Action::Zeroes { .. } => counted.zeroed_bytes.add(request.length_bytes),
            Action::Flush => counted.flushes.add(1),
            Action::Read | Action::Unknown => {}
        }
        self.take(tag, step);
    }

    /// The block layer is answered, once.
    fn answered(&mut self, tag: u16, answer: i32) {
        let waiting = self.waiting.remove(&tag).expect("a request");
        let request = waiting.request;
        let sectors = sectors_of(&request);
        let succeeded = answer == request.success();
        assert!(succeeded || answer < 0, "{request:?}: {answer}");
        if !succeeded {
            assert!(waiting.may_fail, "{request:?}: {answer}");
            let is_known = request.asked != Action::Unknown;
            self.counted.errors.add(is_known.into());
            self.count("requests failed");
        }
        match request.asked {
            Action::Read if succeeded => {
                for (sector, &version) in sectors.zip(&waiting.data) {
                    let may = self.model.may_read(sector, version);
                    assert!(may, "sector {sector} is read as {version}");
                }
            }
            Action::Write { forced, .. } => {
                for sector in sectors.clone() {
                    assert_eq!(self.writers.writer_of(page_of(sector)), None);
                }
                let answer = if succeeded { Ok(forced) } else { Err(answer) };
                self.model.end(sectors.start, &waiting.data, answer);
            }
            Action::Discard | Action::Zeroes { .. } => {
                let answer = if succeeded { Ok(false) } else { Err(answer) };
                self.model.end(sectors.start, &waiting.data, answer);
            }
            Action::Flush if succeeded => {
                self.model.end_flush(waiting.flush.expect("a flush"));
            }
            Action::Unknown => assert_eq!(answer, -EOPNOTSUPP),
            Action::Read | Action::Flush => {}
        }
    }

    /// All commands that the drive has are cut off: it did them, or did not. Answers them with what is said of each.
    fn cut_off(&mut self) -> Vec<(UnderWay, i32)> {
        let mut cut = Vec::new();
        for one in std::mem::take(&mut self.under_way) {
            let answer = self.at_the_drive(&one, SimulatedDrive::cut_off);
            cut.push((one, answer));
        }
        cut
    }

    /// The drive is reset: what it had comes back undone, and perhaps its streams are no more.
    fn reset(&mut self) {
        if self.drive.reach != LIVE {
            return;
        }
        self.count("resets");
        self.reach(RESETTING);
        self.drive.has_forgotten |=
            self.drive.directive == Directive::Streams && self.random.one_in(2);
        let rewrites = self.cut_off_rewrites();
        for (one, answer) in self.cut_off() {
            self.answer(&one, answer);
        }
        self.hear_of_rewrites(rewrites);
    }

    /// The drive goes for ever.
    fn be_gone(&mut self) {
        self.count("drives gone");
        self.reach(GONE);
        let rewrites = self.cut_off_rewrites();
        for (one, answer) in self.cut_off() {
            self.answer(&one, answer);
        }
        self.hear_of_rewrites(rewrites);
    }

    /// The server is killed, and another takes over when the drive is idle: it is asked everything again, and knows no
    /// writers.
    fn kill(&mut self) {
        self.count("servers killed");
        self.cut_off_rewrites();
        self.cut_off();
        if !self.may_go_on() {
            self.is_refused = true;
            return;
        }
        let facts = self.shared.ledger.facts();
        let sent = self.shared.ledger.sent();
        self.begin_anew(facts, sent);
        self.shared
            .ledger
            .keep_disk(self.surroundings.facts(&self.drive).disk);
        let mut again: Vec<u16> = self.waiting.keys().copied().collect();
        while !again.is_empty() {
            let any = self.random.below(again.len() as u64) as usize;
            let tag = again.swap_remove(any);
            if let Some(waiting) = self.waiting.get_mut(&tag)
                && waiting.request.asked == Action::Read
            {
                waiting.data.fill(NOTHING);
            }
            self.arrive(tag);
        }
    }

    /// A new server, which enables the drive's streams, after the counts of the one before were looked at.
    fn begin_anew(&mut self, facts: Facts, sent: u64) {
        self.check_counts();
        self.paused.clear();
        self.drive.has_forgotten = false;
        self.writers = Arc::new(KnownWriters::default());
        let controllers = controllers(&self.directory, &self.reached);
        let ledger = Ledger::of_process(&facts);
        ledger.add_sent(sent);
        let kind = match self.rewriting {
            Some(_) => PlacerKind::Collecting(self.random.one_in(2)),
            None => PlacerKind::Plain(self.metadata),
        };
        self.shared = shared(&self.drive, &self.writers, kind, controllers, ledger);
        self.rewriting = self
            .rewriting
            .is_some()
            .then(|| Rewriting::new(&self.shared));
        self.server = Requests::new(Arc::clone(&self.shared), DEPTH);
        self.counted = Counters::new(STREAMS.into());
    }

    fn check_counts(&self) {
        let counters = &self.shared.counters;
        assert_eq!(format!("{counters:?}"), format!("{:?}", self.counted));
    }

    /// Nothing fails any more: everything that waits is answered, and the drive holds what it may.
    fn come_to_rest(&mut self) {
        self.drive.fails = false;
        self.drive.is_stubborn = false;
        let mut steps = 0;
        while !self.waiting.is_empty() || self.is_rewriting() {
            steps += 1;
            assert!(steps < MOST_STEPS, "requests hang");
            self.now_ms += 10;
            self.go_on();
        }
        self.check_counts();
        for sector in 0..SECTORS {
            let version = self.drive.holds(sector);
            assert!(
                self.model.may_read(sector, version),
                "sector {sector} holds {version}"
            );
        }
    }
}

#[test]
fn whatever_happens_nothing_is_lost_and_each_page_is_where_its_writer_s_stream_is() {
    let states = tempfile::tempdir().unwrap();
    for state in [LIVE, RESETTING, GONE] {
        std::fs::write(states.path().join(state), state).unwrap();
    }
    let mut events: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in seeds(SEEDS) {
        let told = SeedReport(seed, COMMAND);
        let mut world = World::new(seed, states.path().into());
        for _ in 0..STEPS {
            if world.is_refused {
                break;
            }
            world.step();
        }
        if !world.is_refused {
            world.come_to_rest();
        }
        for (event, count) in world.events {
            *events.entry(event).or_default() += count;
        }
        drop(told);
    }
    println!("{events:?}");
    // Of the usual seeds, some had each.
    let all = [
        "resets",
        "servers killed",
        "powers lost",
        "drives gone",
        "requests failed",
    ];
    let others = [
        "requests held",
        "survivors rewritten",
        "hosts that left the collecting to the drive",
        "commands asked for again",
        "written without a stream",
        "changes while no server was there",
        "take-overs refused",
    ];
    for event in all.iter().chain(&others) {
        assert!(
            events.contains_key(event) || seeds(SEEDS) != SEEDS,
            "{event}: never"
        );
    }
}
