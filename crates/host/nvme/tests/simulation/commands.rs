//! Commands and the models: what begins, what ends, and what it may come to.

use std::sync::Arc;

use anabranch_initiator::{Completion, Entry, Tag};

use super::{
    host::{Blocks, Command, What, configure},
    model::Value,
    plan::{Plan, counted},
    streams::scope,
    world::{Attached, Check, World},
};

impl World {
    /// A command begins: a name for it, and what it may change.
    pub fn begin(&mut self, what: What) -> Command {
        self.now += 1;
        self.last_command += 1;
        let command = Command {
            number: self.last_command,
            begun: self.now,
            failures: self.disk.failures(),
            data: Arc::from(self.data(&what)),
            received: Vec::new(),
            what,
        };
        self.log(&(command.number, &command.what));
        for (blocks, value) in self.changed(&command.what) {
            for block in blocks.first..blocks.first + u64::from(blocks.count) {
                self.blocks.begin(block, command.number, value, self.now);
            }
            let (begin, end) = self.pages_of(blocks, value);
            for page in begin..end {
                self.pages.begin(page, command.number, value, self.now);
            }
        }
        command
    }

    pub fn end(&mut self, command: &Command, done: bool) {
        let under_way = self
            .lines
            .values()
            .flat_map(|line| line.link.commands.values());
        let oldest = under_way.map(|one| one.begun).min().unwrap_or(self.now);
        let times = (self.now, oldest);
        let forced = matches!(command.what, What::Write(.., true));
        for (blocks, value) in self.changed(&command.what) {
            for block in blocks.first..blocks.first + u64::from(blocks.count) {
                self.blocks
                    .end(block, command.number, (done, forced), times);
            }
            let (begin, end) = self.pages_of(blocks, value);
            for page in begin..end {
                self.pages.end(page, command.number, (done, true), times);
            }
        }
    }

    fn pages_of(&self, blocks: Blocks, value: Value) -> (u64, u64) {
        match value {
            Value::Gone => self.plan.covered(blocks.first, blocks.count),
            Value::Data(_) => self.plan.touched(blocks.first, blocks.count),
        }
    }

    /// Blocks that a command changes, and to what.
    fn changed(&self, what: &What) -> Vec<(Blocks, Value)> {
        match what {
            What::Write(blocks, number, ..) => vec![(*blocks, Value::Data(*number))],
            What::Zero(blocks, _) => vec![(*blocks, Value::Data(0))],
            What::Discard(ranges) => ranges.iter().map(|&one| (one, Value::Gone)).collect(),
            What::Format(id) | What::Delete(id) | What::Create(id) => {
                let part = &self.plan.parts[*id as usize - 1];
                let blocks = Blocks {
                    first: self.plan.first_block(part),
                    count: (part.pages * 4096 / self.plan.block_bytes) as u32,
                };
                vec![(blocks, Value::Gone)]
            }
            _ => Vec::new(),
        }
    }

    /// The data that a command brings.
    fn data(&self, what: &What) -> Vec<u8> {
        match what {
            What::Write(blocks, number, ..) | What::Compare(blocks, number) => {
                let words = self.plan.block_bytes as usize / 8;
                let mut data = Vec::new();
                for block in blocks.first..blocks.first + u64::from(blocks.count) {
                    let word = Value::Data(*number).word(block).to_le_bytes();
                    data.extend_from_slice(&word.repeat(words));
                }
                data
            }
            What::Create(id) => self.plan.made(*id),
            What::Attach(_, controllers) => {
                let mut data = (controllers.len() as u16).to_le_bytes().to_vec();
                data.extend(controllers.iter().flat_map(|one| one.to_le_bytes()));
                data.resize(4096, 0);
                data
            }
            What::Discard(ranges) => {
                let mut data = Vec::new();
                for range in ranges {
                    let (_, first) = self.plan.part(range.first);
                    data.extend([0; 4]);
                    data.extend(range.count.to_le_bytes());
                    data.extend(first.to_le_bytes());
                }
                data
            }
            _ => Vec::new(),
        }
    }

    /// A command was answered.
    pub fn completed(&mut self, key: u32, command: Command, completion: &Completion) -> Check {
        let Some(line) = self.lines.get(&key) else {
            return Ok(());
        };
        let (host, queue) = (line.host, line.queue);
        let identity = self.identities[host];
        let done = completion.status.is_success();
        let status = completion.status.number();
        if status == 0x20 {
            self.count("writes refused by a read-only drive");
        }
        self.log(&(
            key,
            command.number,
            format_args!("answered with {status:#x}"),
        ));
        // A queue is refused whose controller was reset, or is no more.
        if !(command.what == What::Connect && queue > 0 && [0x0c, 0x182].contains(&status)) {
            self.check_status(identity, &command, status)?;
        }
        self.lived(&command.what, status);
        if let What::Format(id) | What::Delete(id) = command.what {
            // It writes the state as well.
            self.formatted = self.now;
            self.saved.push(Some(counted(&self.target.drive())));
            // One that fails on its way has closed them.
            if [0, 0x06].contains(&status) {
                self.streams.table().close_namespace(id);
            }
        }
        match &command.what {
            What::Write(blocks, ..) | What::Zero(blocks, _) if !done => {
                self.perhaps_wrote(*blocks);
            }
            // What could not be zeroed the drive hears of again.
            What::Discard(ranges) if !done => {
                for &blocks in ranges {
                    let (begin, end) = self.plan.touched(blocks.first, blocks.count);
                    self.streams.perhaps_wrote(end - begin);
                    let (number, now) = (command.number | 1 << 63, self.now);
                    for page in begin..end {
                        self.pages.begin(page, number, Value::Data(number), now);
                        self.pages.end(page, number, (false, false), (now, 0));
                    }
                }
            }
            _ => {}
        }
        if done {
            self.succeeded((key, host, queue), &command, completion)?;
        }
        self.end(&command, done);
        // A host whose queue was refused goes.
        if command.what == What::Connect && !done {
            self.close(key)
        } else {
            Ok(())
        }
    }

    fn succeeded(
        &mut self,
        (key, host, queue): (u32, usize, u16),
        command: &Command,
        completion: &Completion,
    ) -> Check {
        let identity = self.identities[host];
        match &command.what {
            What::Connect if queue == 0 => {
                self.attached[host] = Some(Attached {
                    line: key,
                    controller: completion.result as u16,
                    ready: false,
                });
            }
            What::Enable => {
                if let Some(attached) = &mut self.attached[host] {
                    attached.ready = true;
                }
            }
            What::Reset => {
                // One that is not enabled is not reset.
                let attached = self.attached[host].as_mut();
                if attached.is_some_and(|one| std::mem::take(&mut one.ready)) {
                    self.reset(host);
                }
            }
            What::Read(blocks) => self.check_read(*blocks, command)?,
            What::Compare(blocks, number) => {
                self.check_compared(*blocks, *number, command.begun)?
            }
            What::Write(blocks, _, tag, _) | What::Zero(blocks, tag) => {
                let (begin, end) = self.plan.touched(blocks.first, blocks.count);
                let (part, _) = self.plan.part(blocks.first);
                // Data that come after streams were disabled go where all others do.
                let tag = match tag {
                    Tag::Stream(_) if !self.is_streaming(identity, part.id) => Tag::None,
                    tag => *tag,
                };
                self.streams.wrote(identity, part, tag, end - begin);
                self.host_bytes.wrote(self.plan.bytes_of(blocks.count));
            }
            What::Flush => self.blocks.flushed(command.begun),
            What::Streams(..) | What::ReleaseStream(..) | What::AllocateStreams(..) => {
                self.directed(identity, &command.what, completion.result)?;
            }
            What::Statistics => self.check_statistics(&command.received)?,
            What::Format(_) | What::Delete(_) | What::Attach(..) => {
                self.saved = vec![Some(counted(&self.target.drive()))];
            }
            What::Create(id) => {
                self.saved = vec![Some(counted(&self.target.drive()))];
                if completion.result != u64::from(*id) {
                    return Err(format!("{} was made, not {id}", completion.result));
                }
            }
            What::Nonsense => return Err("nonsense succeeded".to_owned()),
            What::Connect | What::Discard(_) | What::Verify(_) => {}
        }
        Ok(())
    }

    /// A command of the Streams Directive succeeded.
    fn directed(&mut self, identity: u8, what: &What, result: u64) -> Check {
        match *what {
            What::Streams(id, true) => {
                self.streaming.insert((identity, id), (true, self.now));
            }
            What::Streams(id, false) => self.stop_streaming(identity, id),
            What::ReleaseStream(id, identifier) => {
                self.streams
                    .table()
                    .release(scope(identity, id), identifier);
            }
            What::AllocateStreams(id, count) => {
                let given = self.streams.table().allocate(scope(identity, id), count);
                let given = given.map_err(|error| format!("allocated, though {error}"))?;
                if u64::from(given.streams) != result {
                    return Err(format!("{result} streams, ought to be {given:?}"));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Follows the lives of namespaces, from a command's outcome.
    fn lived(&mut self, what: &What, status: u16) {
        let done = status == 0;
        match what {
            // It may be gone though its state could not be written.
            What::Delete(id) if self.target.drive().namespaces().get(*id).is_none() => {
                self.count("namespaces deleted");
                self.dead.insert(*id);
                self.streams.table().release_namespace(*id);
                self.streaming.retain(|key, _| key.1 != *id);
            }
            What::Create(id) if done => {
                self.count("namespaces made");
                self.dead.remove(id);
                self.made = Some(*id);
            }
            What::Attach(..) if done => {
                self.count("namespaces attached");
                self.made = None;
            }
            _ => {}
        }
        if matches!(what, What::Delete(_) | What::Create(_) | What::Attach(..)) {
            self.saved.push(Some(counted(&self.target.drive())));
        }
    }

    /// Whether a status says that a namespace is not, or not attached, as may be.
    fn may_lack(&self, what: &What, status: u16) -> bool {
        let ids = match what {
            // All of these are of the first namespace; one that is being deleted answers as one that is formatted.
            What::Flush | What::Nonsense => 1..2,
            what => {
                let (id, _) = place(what, &self.plan);
                id..id + 1
            }
        };
        [0x02, 0x0b, 0x84].contains(&status) && self.deleted.range(ids).next().is_some()
    }

    /// A status that the command may have come to.
    fn check_status(&self, identity: u8, command: &Command, status: u16) -> Check {
        let what = &command.what;
        let streams = matches!(
            what,
            What::Write(_, _, Tag::Stream(_), _)
                | What::Zero(_, Tag::Stream(_))
                | What::ReleaseStream(..)
                | What::AllocateStreams(..)
        );
        let id = match what {
            What::Streams(id, _) | What::ReleaseStream(id, _) | What::AllocateStreams(id, _) => *id,
            What::Write(blocks, ..) | What::Zero(blocks, _) => self.plan.part(blocks.first).0.id,
            _ => 0,
        };
        let streaming = self.streaming.get(&(identity, id));
        let (is_on, since) = streaming.copied().unwrap_or((false, 0));
        let changed = since >= command.begun;
        let writes = !self.changed(what).is_empty();
        let may = match status {
            _ if self.may_lack(what, status) => true,
            // A controller of the list is no more, or has it by now; there is no room, or no identifier.
            0x118 | 0x11a | 0x11c => matches!(what, What::Attach(..)),
            0x02 if matches!(what, What::Attach(..)) => true,
            0x02 | 0x115 | 0x116 if matches!(what, What::Create(_)) => !self.dead.is_empty(),
            0 => !streams || is_on || changed,
            // Invalid Field.
            0x02 if *what == What::Nonsense => true,
            0x02 => streams && (!is_on || changed) || matches!(what, What::AllocateStreams(..)),
            // Internal Error: the disk fails, or it could not make data safe once.
            0x06 => self.disk.failures() > command.failures || self.disk.has_failed_to_flush(),
            0x0b | 0x80 | 0x01 => *what == What::Nonsense,
            0x20 => writes && self.target.drive().is_read_only(),
            0x84 => self.formatted >= command.begun,
            0x17f => matches!(what, What::AllocateStreams(..)),
            0x285 => matches!(what, What::Compare(..)),
            // Commands of a queue whose controller was reset.
            0x0c => true,
            _ => false,
        };
        if may {
            Ok(())
        } else {
            Err(format!("status {status:#x} of {what:?}"))
        }
    }

    fn check_read(&self, blocks: Blocks, command: &Command) -> Check {
        let bytes = self.plan.block_bytes as usize;
        if command.received.len() != bytes * blocks.count as usize {
            return Err(format!("{} bytes of {blocks:?}", command.received.len()));
        }
        for (block, held) in (blocks.first..).zip(command.received.chunks(bytes)) {
            self.check_block(block, held, command.begun)?;
        }
        Ok(())
    }

    fn check_compared(&self, blocks: Blocks, number: u64, begun: u64) -> Check {
        for block in blocks.first..blocks.first + u64::from(blocks.count) {
            let word = Value::Data(number).word(block);
            let values = self.blocks.values(block, begun);
            if !values.iter().any(|value| value.word(block) == word) {
                return Err(format!(
                    "block {block} compares equal, and may hold {values:?}"
                ));
            }
        }
        Ok(())
    }

    /// The log of FDP statistics (22h): bytes that hosts wrote, in its first 16.
    fn check_statistics(&mut self, log: &[u8]) -> Check {
        let field = log.get(..16).ok_or("a short log")?;
        let bytes = u128::from_le_bytes(field.try_into().map_err(|_| "a short log")?);
        let bytes = bytes.try_into().map_err(|_| "HBMW of 2^64 bytes")?;
        self.check_host_bytes(bytes)
    }
}

/// An I/O command's entry, as the initiator makes it.
pub fn entry(what: &What, plan: &Plan) -> Entry {
    let (id, first) = place(what, plan);
    let mut entry = entry_at(what, first, plan.block_bytes);
    if id > 0 {
        entry.0[4..8].copy_from_slice(&id.to_le_bytes());
    }
    entry
}

/// The namespace that a command is of, if it is of one, and its first block there.
fn place(what: &What, plan: &Plan) -> (u32, u64) {
    let of = |block: u64| {
        let (part, first) = plan.part(block);
        (part.id, first)
    };
    match what {
        What::Read(blocks)
        | What::Write(blocks, ..)
        | What::Zero(blocks, _)
        | What::Compare(blocks, _)
        | What::Verify(blocks) => of(blocks.first),
        What::Discard(ranges) => of(ranges[0].first),
        What::Streams(id, _)
        | What::ReleaseStream(id, _)
        | What::AllocateStreams(id, _)
        | What::Format(id)
        | What::Delete(id)
        | What::Attach(id, _) => (*id, 0),
        _ => (0, 0),
    }
}

fn entry_at(what: &What, first: u64, block_bytes: u64) -> Entry {
    match what {
        What::Read(blocks) => Entry::read(first, blocks.count),
        What::Write(blocks, _, tag, forced) => {
            let entry = Entry::write(first, blocks.count, *tag);
            if *forced { entry.forced() } else { entry }
        }
        What::Zero(blocks, tag) => {
            let mut entry = Entry::write(first, blocks.count, *tag);
            entry.0[0] = 0x08;
            entry
        }
        What::Discard(ranges) => Entry::new(0x09, 1)
            .dword(10, ranges.len() as u32 - 1)
            .dword(11, 1 << 2),
        What::Compare(blocks, _) => Entry::blocks(0x05, first, blocks.count),
        What::Verify(blocks) => Entry::blocks(0x0c, first, blocks.count),
        What::Flush => Entry::flush(),
        What::Streams(_, on) => {
            Entry::directive(true, 0, 1, 0, 0).dword(12, u32::from(*on) | 1 << 8)
        }
        What::ReleaseStream(_, identifier) => Entry::directive(true, 1, 1, *identifier, 0),
        What::AllocateStreams(_, count) => {
            Entry::directive(false, 1, 3, 0, 0).dword(12, (*count).into())
        }
        What::Statistics => Entry::log(0x22, u32::MAX, 64, 1),
        What::Format(_) => Entry::new(0x80, 1).dword(10, u32::from(block_bytes == 4096)),
        What::Delete(id) => Entry::new(0x0d, *id).dword(10, 1),
        What::Create(_) => Entry::new(0x0d, 0),
        What::Attach(id, _) => Entry::new(0x15, *id),
        What::Enable => configure(true),
        What::Reset => configure(false),
        What::Connect | What::Nonsense => Entry::read(u64::MAX / 2, 1),
    }
}
