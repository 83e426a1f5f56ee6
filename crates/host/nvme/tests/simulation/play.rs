//! Events of a run: one after the other, each drawn from the seed.

use std::sync::Arc;

use anabranch_initiator::Tag;

use super::{
    commands::entry,
    host::{Blocks, Link, What, connect},
    plan::{Kind, Part},
    world::{Check, Line, World},
};

/// I/O queues of a host.
const QUEUES: u16 = 2;
/// Commands of a queue under way; it has 32 entries.
const UNDER_WAY: usize = 12;

impl World {
    /// One thing happens.
    pub fn step(&mut self) -> Check {
        match self.random.below(1000) {
            0..380 => self.submit()?,
            380..740 => self.deliver()?,
            740..860 => self.answer()?,
            860..880 => self.ask_admin()?,
            880..940 => self.attach()?,
            940..952 => self.drop_line()?,
            952..956 => self.stranger()?,
            956..968 => self.pass_time()?,
            968..980 => {
                self.count("states saved");
                self.save();
            }
            980..985 => {
                let times = self.random.one_of(&[0, 0, 3, 10]);
                self.disk.fail_one_in(times);
            }
            985..988 => {
                let calls = self.random.below(12);
                self.disk.die_within(calls);
            }
            988..990 => self.die()?,
            990..992 => self.stop()?,
            _ => self.check()?,
        }
        if self.disk.is_dead() {
            self.die()
        } else {
            Ok(())
        }
    }

    fn any_line(&mut self, which: impl Fn(&Line) -> bool) -> Option<u32> {
        let lines = self.lines.iter().filter(|(_, line)| which(line));
        let keys: Vec<u32> = lines.map(|(&key, _)| key).collect();
        (!keys.is_empty()).then(|| self.random.one_of(&keys))
    }

    /// A host comes, or opens another queue.
    fn attach(&mut self) -> Check {
        let host = self.random.below(self.identities.len() as u64) as usize;
        let (queue, controller) = match self.attached[host] {
            None if self
                .lines
                .values()
                .any(|line| line.host == host && line.queue == 0) =>
            {
                return self.deliver();
            }
            None => (0, 0xffff),
            Some(attached) if !attached.ready => return self.admin(host, What::Enable),
            Some(attached) => {
                let opened = |queue: &u16| {
                    let mut lines = self.lines.values();
                    lines.any(|line| line.host == host && line.queue == *queue)
                };
                match (1..=QUEUES).find(|queue| !opened(queue)) {
                    Some(queue) => (queue, attached.controller),
                    None => return Ok(()),
                }
            }
        };
        let keep_alive_ms = self.random.one_of(&[0, 0, 5000]);
        let (entry, data) = connect(queue, controller, self.identities[host], keep_alive_ms);
        let mut command = self.begin(What::Connect);
        command.data = Arc::from(data);
        let mut link = Link::open(&self.target);
        link.send(entry, command, 0, true);
        if queue > 0 {
            link.in_capsule = 16 << 10;
        }
        self.last_line += 1;
        let key = self.last_line;
        self.lines.insert(key, Line { link, host, queue });
        self.count("connections");
        if self.random.one_in(2) {
            self.deliver_all(key)
        } else {
            Ok(())
        }
    }

    fn admin(&mut self, host: usize, what: What) -> Check {
        let Some(attached) = self.attached[host] else {
            return Ok(());
        };
        // A host waits for what it has asked its controller.
        let idle = |line: &Line| line.link.commands.is_empty();
        if !self.lines.get(&attached.line).is_some_and(idle) {
            return self.deliver_all(attached.line);
        }
        let room = if what == What::Statistics { 64 } else { 0 };
        let entry = entry(&what, &self.plan);
        let command = self.begin(what);
        if let Some(line) = self.lines.get_mut(&attached.line) {
            line.link.send(entry, command, room, true);
        }
        if self.random.one_in(2) {
            self.deliver_all(attached.line)
        } else {
            Ok(())
        }
    }

    fn ask_admin(&mut self) -> Check {
        let host = self.random.below(self.identities.len() as u64) as usize;
        // One at a time changes namespaces.
        let changes = |line: &Line| {
            let mut commands = line.link.commands.values();
            commands.any(|command| {
                matches!(
                    command.what,
                    What::Format(_) | What::Delete(_) | What::Create(_) | What::Attach(..)
                )
            })
        };
        let is_quiet = !self.lines.values().any(changes);
        let may_live = is_quiet && self.plan.parts.len() > 1;
        let goes_on = self.made.is_some() || !self.dead.is_empty();
        let id = 1 + self.random.below(self.plan.parts.len() as u64) as u32;
        let what = match (self.plan.kind, self.random.below(20)) {
            (_, 0) => What::Reset,
            (_, 1) if is_quiet => What::Format(id),
            (_, 7..9) if may_live => self.life(id),
            // What has gone comes back soon.
            (_, 9..18) if may_live && goes_on => self.life(id),
            (Kind::Streams { .. }, 2) => What::Streams(id, false),
            (Kind::Streams { .. }, 3..5) => What::ReleaseStream(id, self.random.below(12) as u16),
            (Kind::Streams { .. }, 5..7) => What::AllocateStreams(id, self.random.below(4) as u16),
            (Kind::Streams { .. }, _) => What::Streams(id, true),
            (Kind::Fdp, _) => What::Statistics,
            (Kind::Plain, _) => return Ok(()),
        };
        self.admin(host, what)
    }

    /// A namespace goes; or one that went is made again where it was, and attached.
    fn life(&mut self, id: u32) -> What {
        let ready = self.attached.iter().flatten().filter(|one| one.ready);
        let mut controllers: Vec<u16> = ready.map(|one| one.controller).collect();
        controllers.sort_unstable();
        match (self.made, self.dead.first()) {
            (Some(made), _) => What::Attach(made, controllers),
            (None, Some(&dead)) => What::Create(dead),
            (None, None) => {
                self.deleted.insert(id);
                What::Delete(id)
            }
        }
    }

    /// Blocks somewhere in a namespace: mostly few, often the same.
    fn some_blocks(&mut self, part: &Part) -> Blocks {
        let per_page = 4096 / self.plan.block_bytes;
        let blocks = part.pages * per_page;
        let most = self.random.one_of(&[1, 4, 8, 64]) * per_page;
        let count = (1 + self.random.below(most)).min(blocks / 2);
        let within = if self.random.one_in(3) {
            (32 * per_page).min(blocks - count)
        } else {
            blocks - count
        };
        Blocks {
            first: self.plan.first_block(part) + self.random.below(within),
            count: count as u32,
        }
    }

    fn tag(&mut self) -> Tag {
        match self.plan.kind {
            _ if self.random.one_in(4) => Tag::None,
            Kind::Plain => Tag::None,
            Kind::Streams { .. } => Tag::Stream(self.random.below(12) as u16),
            Kind::Fdp => {
                let group = self.random.below(self.plan.config.reclaim_groups.into()) as u16;
                Tag::Placement(group << 15 | self.random.below(9) as u16)
            }
        }
    }

    fn io(&mut self) -> What {
        let part = self.random.below(self.plan.parts.len() as u64) as usize;
        let part = self.plan.parts[part].clone();
        let blocks = self.some_blocks(&part);
        let number = self.last_command + 1;
        match self.random.below(100) {
            0..60 => What::Write(blocks, number, self.tag(), self.random.one_in(10)),
            60..78 => What::Read(blocks),
            78..84 => {
                let ranges = 1 + self.random.below(3);
                What::Discard((0..ranges).map(|_| self.some_blocks(&part)).collect())
            }
            84..88 => What::Zero(blocks, self.tag()),
            88..95 => What::Flush,
            95..97 => What::Compare(blocks, number.saturating_sub(self.random.below(9))),
            97..99 => What::Verify(blocks),
            _ => What::Nonsense,
        }
    }

    /// A host sends a command on an I/O queue.
    fn submit(&mut self) -> Check {
        let can = |line: &Line| {
            let connects = |command: &super::host::Command| command.what == What::Connect;
            line.queue > 0
                && line.link.commands.len() < UNDER_WAY
                && !line.link.commands.values().any(connects)
        };
        let Some(key) = self.any_line(can) else {
            return self.attach();
        };
        let what = self.io();
        let room = match &what {
            What::Read(blocks) => blocks.count * self.plan.block_bytes as u32,
            _ => 0,
        };
        let inside = self.random.one_in(2);
        let entry = entry(&what, &self.plan);
        let command = self.begin(what);
        self.count("commands");
        if let Some(line) = self.lines.get_mut(&key) {
            line.link.send(entry, command, room, inside);
        }
        if self.random.one_in(3) {
            self.deliver_all(key)
        } else {
            Ok(())
        }
    }

    /// Some bytes reach the target, which has its turn.
    fn deliver(&mut self) -> Check {
        let Some(key) = self.any_line(|_| true) else {
            return Ok(());
        };
        if self.random.one_in(3) {
            self.deliver_all(key)
        } else {
            self.deliver_some(key)
        }
    }

    fn deliver_some(&mut self, key: u32) -> Check {
        let share = self.random.below(5);
        if let Some(Line { link, .. }) = self.lines.get_mut(&key) {
            let count = (link.out.len() as u64 * share / 4) as usize;
            let bytes: Vec<u8> = link.out.iter().take(count).copied().collect();
            let taken = link.target.take(&bytes);
            link.out.drain(..taken);
        }
        self.turn(key)
    }

    /// All bytes of a connection reach the target, as far as it takes them.
    fn deliver_all(&mut self, key: u32) -> Check {
        for _ in 0..8 {
            let Some(Line { link, .. }) = self.lines.get_mut(&key) else {
                return Ok(());
            };
            let taken = link.target.take(link.out.make_contiguous());
            link.out.drain(..taken);
            let done = link.out.is_empty();
            self.turn(key)?;
            if done {
                break;
            }
        }
        Ok(())
    }

    /// A host sends data that are wanted, whole or in part; seldom it lies.
    fn answer(&mut self) -> Check {
        let Some(key) = self.any_line(|line| !line.link.wanted.is_empty()) else {
            return self.deliver();
        };
        let most = self.random.one_of(&[512, 5000, 128 << 10, 128 << 10]);
        let lie = self.random.one_in(100);
        if let Some(line) = self.lines.get_mut(&key) {
            line.link.answer(most, lie);
        }
        if self.random.one_in(2) {
            self.deliver_some(key)
        } else {
            Ok(())
        }
    }

    fn drop_line(&mut self) -> Check {
        match self.any_line(|_| true) {
            Some(key) => {
                self.count("dropped connections");
                self.close(key)
            }
            None => Ok(()),
        }
    }

    /// Somebody who is no host says something.
    fn stranger(&mut self) -> Check {
        self.count("strangers");
        let mut link = Link::open(&self.target);
        let (entry, data) = connect(1, 7, 9, 0);
        let mut command = self.begin(What::Nonsense);
        command.data = Arc::from(data);
        link.send(entry, command, 0, true);
        let mut said: Vec<u8> = link.out.drain(..).collect();
        for _ in 0..self.random.below(4) {
            let place = self.random.below(said.len() as u64) as usize;
            said[place] = self.random.draw() as u8;
        }
        said.truncate(self.random.below(said.len() as u64 * 2) as usize + 1);
        link.target.take(&said);
        let (answers, _) = link.target.turn();
        link.receive(&answers)
            .map(drop)
            .or_else(|error| match error.as_str() {
                // The identifier may be what was changed.
                "an answer to nothing" => Ok(()),
                _ => Err(error),
            })?;
        link.target.close();
        Ok(())
    }

    /// Time passes; hosts that were silent for too long are dropped.
    fn pass_time(&mut self) -> Check {
        self.time_ms += self.random.one_of(&[10, 500, 3000, 20_000]);
        self.target.set_now_ms(self.time_ms);
        for key in self.lines.keys().copied().collect::<Vec<_>>() {
            let Some(line) = self.lines.get_mut(&key) else {
                continue;
            };
            line.link.target.tick();
            if !line.link.target.is_open() {
                self.count("hosts that were too slow");
                self.close(key)?;
            }
        }
        Ok(())
    }
}
