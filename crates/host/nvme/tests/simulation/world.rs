//! A target, its disk and its hosts, and what must hold of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use anabranch_nvme::{Options, Target, Totals, store::Store};

use super::{
    disk::Disk,
    host::{Blocks, Link, SUBSYSTEM, Said, What},
    host_bytes::HostBytes,
    model::{Registers, Value},
    plan::{Counted, Kind, Part, Plan, counted, held},
    random::Random,
    streams::{Streams, scope},
};

pub type Check<T = ()> = Result<T, String>;

/// A connection: a host's, by its place, and the queue.
#[derive(Debug)]
pub struct Line {
    pub link: Link,
    pub host: usize,
    pub queue: u16,
}

/// A host's admin queue, once it is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attached {
    pub line: u32,
    pub controller: u16,
    pub ready: bool,
}

#[derive(Debug)]
pub struct World {
    pub random: Random,
    pub plan: Plan,
    pub disk: Disk,
    pub target: Arc<Target>,
    pub lines: BTreeMap<u32, Line>,
    pub last_line: u32,
    /// Name and connections of each host.
    pub identities: Vec<u8>,
    pub attached: Vec<Option<Attached>>,
    /// Whether each identity has streams of a namespace enabled, and since when.
    pub streaming: BTreeMap<(u8, u32), (bool, u64)>,
    /// Namespaces that there are not, and those that were ever deleted: who has them attached is then
    /// known to the target alone.
    pub dead: BTreeSet<u32>,
    pub deleted: BTreeSet<u32>,
    /// The one that was made last, until it is attached.
    pub made: Option<u32>,
    pub now: u64,
    pub time_ms: u64,
    pub last_command: u64,
    pub formatted: u64,
    pub blocks: Registers,
    pub pages: Registers,
    pub streams: Streams,
    pub host_bytes: HostBytes,
    /// States of which one is to be found at the next start.
    pub saved: Vec<Option<Counted>>,
    /// Whether the drive was stopped; `None` where stopping failed.
    stopped: Option<bool>,
    /// Log of events, for a seed that failed.
    pub events: BTreeMap<&'static str, u64>,
    /// Whether everything is told as it happens.
    tells: bool,
}

impl World {
    pub fn new(seed: u64, tells: bool) -> Check<World> {
        let mut random = Random::new(seed);
        let plan = Plan::draw(&mut random);
        let disk = Disk::new(plan.config.logical_pages as usize, random.draw());
        let identities = random.one_of(&[[1, 2, 3], [1, 1, 2]]).to_vec();
        let target = target(&plan, &disk, plan.drive(None))?;
        let mut world = World {
            blocks: Registers::new(plan.blocks()),
            pages: Registers::new(plan.config.logical_pages.into()),
            streams: Streams::new(&plan),
            host_bytes: HostBytes::default(),
            lines: BTreeMap::new(),
            last_line: 0,
            attached: vec![None; identities.len()],
            streaming: BTreeMap::new(),
            dead: BTreeSet::new(),
            deleted: BTreeSet::new(),
            made: None,
            now: 1,
            time_ms: 0,
            last_command: 0,
            formatted: 0,
            saved: vec![None],
            stopped: Some(true),
            events: BTreeMap::new(),
            tells,
            identities,
            random,
            disk,
            target,
            plan,
        };
        world.boot(false)?;
        Ok(world)
    }

    pub fn count(&mut self, event: &'static str) {
        self.log(&event);
        *self.events.entry(event).or_default() += 1;
    }

    pub fn log(&self, what: &dyn std::fmt::Debug) {
        if self.tells {
            eprintln!("{} {what:?}", self.now);
        }
    }

    /// Begins to serve, over and over where the process dies of it.
    fn boot(&mut self, power_failed: bool) -> Check {
        let mut power_failed = power_failed;
        loop {
            let begun = self.try_boot(power_failed);
            if !self.disk.is_dead() {
                return begun;
            }
            self.count("deaths at the start");
            let fails = self.random.one_in(2);
            let flush_failed = self.disk.restart(fails);
            self.blocks.restart(fails, flush_failed, self.now);
            power_failed |= fails;
        }
    }

    fn try_boot(&mut self, power_failed: bool) -> Check {
        let checkpoint = self.plan.checkpoint(&self.disk);
        let killed = checkpoint.was_killed();
        let found = checkpoint.read().map_err(|error| error.to_string())?;
        let is_new = found.is_none();
        let mut drive = self.plan.drive(found);
        let lives = |part: &&Part| drive.namespaces().get(part.id).is_some();
        let dead = self.plan.parts.iter().filter(|part| !lives(part));
        self.dead = dead.map(|part| part.id).collect();
        self.made = None;
        let is = (!is_new).then(|| counted(&drive));
        if !self.saved.contains(&is) {
            return Err(format!(
                "the state is {is:?}, ought to be one of {:?}",
                self.saved
            ));
        }
        if killed && self.stopped == Some(true) && !is_new {
            return Err("a drive that was stopped is told as killed".to_owned());
        }
        if !killed && self.stopped == Some(false) {
            return Err("a drive that was killed is told as stopped".to_owned());
        }
        let mut taken_in = 0;
        if killed || is_new {
            let taken = drive.reconcile(&held(&self.disk)?, true);
            (taken_in, _) = taken.map_err(|status| format!("it takes nothing in: {status:?}"))?;
            self.check_taken_in(&drive)?;
        }
        let pages: Vec<u64> = is
            .iter()
            .flat_map(|is| &is.1)
            .map(|one| one.host_pages)
            .collect();
        let host = pages.len().min(self.plan.config.host_streams.into());
        self.streams
            .restart(&self.plan, &drive, &pages[..host], taken_in)?;
        self.see_contents(power_failed)?;
        self.target = target(&self.plan, &self.disk, drive)?;
        self.host_bytes = HostBytes::default();
        self.target.set_now_ms(self.time_ms);
        // Until the mark is made, it may be there or not.
        self.stopped = self.stopped.filter(|&stopped| !stopped);
        checkpoint.begin().map_err(|error| error.to_string())?;
        self.stopped = Some(false);
        self.save();
        Ok(())
    }

    /// The drive knows of the pages that have data, and of no others.
    fn check_taken_in(&mut self, drive: &anabranch_nvme::drive::ServedDrive) -> Check {
        self.pages = Registers::new(self.plan.config.logical_pages.into());
        if drive.is_read_only() {
            return Ok(());
        }
        for page in 0..self.plan.config.logical_pages {
            let has_data = self.disk.has_data(page) && !self.is_dead(page);
            if drive.locate(page).is_some() != has_data {
                return Err(format!(
                    "page {page}: has data: {has_data}, and the drive errs"
                ));
            }
            if has_data {
                self.pages.begin(page.into(), 0, Value::Data(1), self.now);
                self.pages.see(page.into(), |value| value != Value::Gone);
            }
        }
        Ok(())
    }

    /// Every block holds what it may.
    fn see_contents(&mut self, power_failed: bool) -> Check {
        let bytes = self.plan.block_bytes;
        let store = Store::of(Box::new(self.disk.clone()));
        let mut held = vec![0; bytes as usize];
        for block in 0..self.plan.blocks() {
            let read = store.read(block * bytes, &mut held);
            read.map_err(|error| error.to_string())?;
            self.check_block(block, &held, self.now)?;
            if power_failed {
                let word = word(&held);
                self.blocks
                    .see(block, |value| Some(value.word(block)) == word);
            }
        }
        Ok(())
    }

    pub fn check_block(&self, block: u64, held: &[u8], begun: u64) -> Check {
        let values = self.blocks.values(block, begun);
        match word(held) {
            Some(word) if values.iter().any(|value| value.word(block) == word) => Ok(()),
            word => Err(format!(
                "block {block} holds {word:x?}, and may hold {values:?}"
            )),
        }
    }

    /// Writes the state, or tries to.
    pub fn save(&mut self) {
        let now = Some(counted(&self.target.drive()));
        match self.target.save() {
            Ok(()) => self.saved = vec![now],
            Err(_) => self.saved.push(now),
        }
    }

    /// The process is gone, with all connections; the power may be too.
    pub fn die(&mut self) -> Check {
        let power_fails = self.random.one_in(2);
        self.count(if power_fails {
            "power failures"
        } else {
            "kills"
        });
        let now = Some(counted(&self.target.drive()));
        self.saved.push(now);
        let flush_failed = self.disk.restart(power_fails);
        self.now += 1;
        self.blocks.restart(power_fails, flush_failed, self.now);
        self.gone();
        if self.random.one_in(4) {
            let calls = self.random.below(8);
            self.disk.die_within(calls);
        }
        self.boot(power_fails)
    }

    fn gone(&mut self) {
        self.lines.clear();
        self.attached.fill(None);
        self.streaming.clear();
    }

    /// The drive is stopped in good order, and started again.
    pub fn stop(&mut self) -> Check {
        for line in self.lines.keys().copied().collect::<Vec<_>>() {
            self.close(line)?;
        }
        if !self.target.hosts().is_empty() || self.target.connection_bytes() > 0 {
            return Err("something is left of hosts that are gone".to_owned());
        }
        self.gone();
        let now = Some(counted(&self.target.drive()));
        self.now += 1;
        match self.target.stop() {
            Ok(()) => {
                self.count("stops");
                self.blocks.flushed(self.now);
                (self.saved, self.stopped) = (vec![now], Some(true));
                let power_fails = self.random.one_in(2);
                let flush_failed = self.disk.restart(power_fails);
                self.blocks.restart(power_fails, flush_failed, self.now);
                self.boot(power_fails)
            }
            Err(_) => {
                self.saved.push(now);
                self.stopped = None;
                self.die()
            }
        }
    }

    /// A connection does what it has to.
    pub fn turn(&mut self, key: u32) -> Check {
        let Some(mut line) = self.lines.remove(&key) else {
            return Ok(());
        };
        self.now += 1;
        let (said, _) = line.link.target.turn();
        if self.disk.is_dead() {
            // What it would have said nobody hears.
            return self.die();
        }
        let is_open = line.link.target.is_open();
        let heard = line.link.receive(&said)?;
        self.lines.insert(key, line);
        for said in heard {
            if let Said::Completed(command, completion) = said {
                self.completed(key, command, &completion)?;
            }
        }
        self.check_streams()?;
        if is_open { Ok(()) } else { self.close(key) }
    }

    /// A connection ends, by whoever's will.
    pub fn close(&mut self, key: u32) -> Check {
        let Some(line) = self.lines.remove(&key) else {
            return Ok(());
        };
        self.now += 1;
        line.link.target.close();
        if line.queue == 0 && self.attached[line.host].is_some_and(|one| one.line == key) {
            self.attached[line.host] = None;
            self.reset(line.host);
        }
        for command in line.link.commands.into_values() {
            if let What::Write(blocks, ..) | What::Zero(blocks, _) = &command.what {
                self.perhaps_wrote(*blocks);
            }
            self.end(&command, false);
        }
        self.check_streams()
    }

    /// A host's controller was reset, or is no more.
    pub fn reset(&mut self, host: usize) {
        let identity = self.identities[host];
        let same = |other: usize| {
            other != host
                && self.identities[other] == identity
                && self.attached[other].is_some_and(|one| one.ready)
        };
        if !(0..self.identities.len()).any(same) {
            for part in 0..self.plan.parts.len() {
                self.stop_streaming(identity, self.plan.parts[part].id);
            }
        }
    }

    /// A host uses streams no more. What it shares with others stays while one of them does.
    pub fn stop_streaming(&mut self, identity: u8, id: u32) {
        self.streaming.insert((identity, id), (false, self.now));
        let shared = self.plan.kind == (Kind::Streams { shared: true });
        let others = self
            .streaming
            .iter()
            .any(|(key, &(on, _))| on && key.1 == id);
        if !(shared && others) {
            self.streams.table().release_all(scope(identity, id));
        }
    }

    pub fn perhaps_wrote(&mut self, blocks: Blocks) {
        let (begin, end) = self.plan.touched(blocks.first, blocks.count);
        self.streams.perhaps_wrote(end - begin);
        self.host_bytes
            .perhaps_wrote(self.plan.bytes_of(blocks.count));
    }

    /// Bytes that hosts wrote are counted as they wrote them, not in pages.
    pub fn check_host_bytes(&mut self, counted: u64) -> Check {
        let lines = self.lines.values();
        let under_way = lines.flat_map(|line| line.link.commands.values());
        let zeroing = under_way.map(|command| match &command.what {
            What::Zero(blocks, _) => self.plan.bytes_of(blocks.count),
            _ => 0,
        });
        self.host_bytes.check(counted, zeroing.sum())
    }

    fn check_streams(&mut self) -> Check {
        let drive = self.target.drive();
        self.streams.check(&drive)?;
        let Some(table) = drive.table() else {
            return Ok(());
        };
        let scopes = |&identity| self.plan.parts.iter().map(move |part| (identity, part.id));
        for (identity, id) in self.identities.iter().flat_map(scopes) {
            let open = table.status(scope(identity, id));
            let ought = self.streams.table().status(scope(identity, id));
            if open != ought {
                return Err(format!(
                    "host {identity} has {open:?} open at {id}, ought to have {ought:?}"
                ));
            }
            if self.plan.kind == (Kind::Streams { shared: true }) {
                continue;
            }
            if !self.is_streaming(identity, id) && !open.is_empty() {
                return Err(format!("host {identity} has no streams, and {open:?} open"));
            }
        }
        Ok(())
    }

    /// Whether a page is of a namespace that there is not.
    fn is_dead(&self, page: u32) -> bool {
        let part = self.plan.part_of_page(page.into());
        self.dead.contains(&part.id)
    }

    pub fn is_streaming(&self, identity: u8, id: u32) -> bool {
        let streaming = self.streaming.get(&(identity, id));
        streaming.is_some_and(|&(on, _)| on)
    }

    /// All that must hold at any time.
    pub fn check(&mut self) -> Check {
        self.check_streams()?;
        let counted = self.target.totals().sums().host_bytes();
        self.check_host_bytes(counted)?;
        let drive = self.target.drive();
        drive.verify().map_err(|error| error.to_string())?;
        if drive.counters().host_pages != self.streams.total() {
            return Err("the device's host pages are not its streams'".to_owned());
        }
        if let Some(fdp) = drive.as_fdp()
            && fdp.statistics().host_bytes != u128::from(self.streams.total()) * 4096
        {
            return Err("the device's host bytes are not its streams'".to_owned());
        }
        // What a read-only drive refuses, it does not know of.
        let pages = if drive.is_read_only() {
            0
        } else {
            self.plan.config.logical_pages
        };
        let mut mapped: BTreeMap<u32, u64> = BTreeMap::new();
        for page in 0..pages {
            let part = self.plan.part_of_page(page.into()).id;
            *mapped.entry(part).or_default() += u64::from(drive.locate(page).is_some());
            if self.pages.is_busy(page.into()) {
                continue;
            }
            let is_mapped = drive.locate(page).is_some();
            let values = self.pages.values(page.into(), u64::MAX);
            let may_be = |mapped: bool| values.iter().any(|&one| (one != Value::Gone) == mapped);
            if !may_be(is_mapped) {
                return Err(format!(
                    "page {page} is mapped: {is_mapped}, and may be {values:?}"
                ));
            }
            if self.disk.has_data(page) && !is_mapped && !self.is_dead(page) {
                return Err(format!(
                    "page {page} has data that the drive does not know of"
                ));
            }
        }
        let told = drive.namespaces().iter();
        let told: BTreeMap<u32, u64> = told.map(|one| (one.id(), one.mapped_pages())).collect();
        mapped.retain(|id, &mut pages| !self.dead.contains(id) || pages > 0);
        if pages > 0 && told != mapped {
            return Err(format!(
                "namespaces hold {told:?}, ought to hold {mapped:?}"
            ));
        }
        Ok(())
    }
}

/// The one word that a block is full of.
fn word(held: &[u8]) -> Option<u64> {
    let (first, rest) = held.split_first_chunk::<8>()?;
    (held[..rest.len()] == *rest).then_some(u64::from_le_bytes(*first))
}

fn target(
    plan: &Plan,
    disk: &Disk,
    drive: anabranch_nvme::drive::ServedDrive,
) -> Check<Arc<Target>> {
    let options = Options {
        shared_streams: plan.kind == (Kind::Streams { shared: true }),
        queue_entries: 32,
        patience: Duration::from_secs(30),
        ..Options::new(SUBSYSTEM)
    };
    let store = Store::of(Box::new(disk.clone()));
    let checkpoint = Some(plan.checkpoint(disk));
    let target = Target::new(options, drive, store, Totals::default(), checkpoint);
    target.map_err(|error| error.to_string())
}
