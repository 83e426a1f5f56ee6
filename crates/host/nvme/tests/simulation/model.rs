//! Model of a drive's contents, from requests and answers.

/// Effect of a command on a block or page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// Data, by their number; 0 are zeroes.
    Data(u64),
    /// Given up: zeroes, and no page of the translation layer's.
    Gone,
}

impl Value {
    /// The word that a block of these data is full of.
    pub fn word(self, block: u64) -> u64 {
        match self {
            Value::Data(0) | Value::Gone => 0,
            Value::Data(number) => (number << 32 | block).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Change {
    command: u64,
    value: Value,
    begun: u64,
    /// When it was answered, or given up.
    ended: Option<u64>,
    /// It was answered with success: it hides what ended before it began.
    done: bool,
    /// It outlives a power failure.
    kept: bool,
    /// It could not be made safe before a restart, and so never is.
    doubtful: bool,
}

/// Blocks, or pages, that commands change in any order that their beginnings and ends allow.
#[derive(Debug)]
pub struct Registers {
    places: Vec<Vec<Change>>,
}

impl Registers {
    pub fn new(places: u64) -> Registers {
        let gone = Change {
            command: 0,
            value: Value::Gone,
            begun: 0,
            ended: Some(0),
            done: true,
            kept: true,
            doubtful: false,
        };
        Registers {
            places: vec![vec![gone]; places as usize],
        }
    }

    pub fn begin(&mut self, place: u64, command: u64, value: Value, now: u64) {
        self.places[place as usize].push(Change {
            command,
            value,
            begun: now,
            ended: None,
            done: false,
            kept: false,
            doubtful: false,
        });
    }

    /// A command is answered, with success if it is `done`, and what it wrote is safe if it is
    /// `kept`. All that is under way began after `oldest`.
    pub fn end(&mut self, place: u64, command: u64, (done, kept): (bool, bool), times: (u64, u64)) {
        let (now, oldest) = times;
        let changes = &mut self.places[place as usize];
        if let Some(change) = changes.iter_mut().find(|one| one.command == command) {
            (change.ended, change.done) = (Some(now), done);
            change.kept = done && kept && !change.doubtful;
        }
        let all = changes.clone();
        changes.retain(|old| {
            let hides = |new: &&Change| new.kept && new.hides(old, oldest);
            !all.iter().any(|new| hides(&new))
        });
    }

    /// Makes safe all that was answered before a flush began.
    pub fn flushed(&mut self, begun: u64) {
        for change in self.places.iter_mut().flatten() {
            change.kept |= change.done && !change.doubtful && change.ended < Some(begun);
        }
    }

    /// All that was under way has come to nothing, or not; after a power failure likewise all that
    /// was not safe. Where a flush had failed, what was not safe will never be.
    pub fn restart(&mut self, power_failed: bool, flush_failed: bool, now: u64) {
        for changes in &mut self.places {
            for change in changes.iter_mut() {
                if change.ended.is_none() || power_failed && !change.kept {
                    change.done = false;
                }
                change.ended = change.ended.or(Some(now));
                change.doubtful |= flush_failed && !change.kept;
            }
            let all = changes.clone();
            changes.retain(|old| !all.iter().any(|new| new.kept && new.hides(old, u64::MAX)));
        }
    }

    /// Values that a place may hold for a reader that began at a time.
    pub fn values(&self, place: u64, begun: u64) -> Vec<Value> {
        let changes = &self.places[place as usize];
        let hidden = |old: &Change| changes.iter().any(|new| new.hides(old, begun));
        let seen = changes.iter().filter(|old| !hidden(old));
        seen.map(|change| change.value).collect()
    }

    /// Whether a command that changes a place is under way.
    pub fn is_busy(&self, place: u64) -> bool {
        self.places[place as usize]
            .iter()
            .any(|one| one.ended.is_none())
    }

    /// Settles a place on the value seen after a power failure: it is certain and safe.
    pub fn see(&mut self, place: u64, holds: impl Fn(Value) -> bool) {
        let changes = &mut self.places[place as usize];
        changes.retain(|change| holds(change.value));
        for change in changes {
            (change.done, change.kept, change.doubtful) = (true, true, false);
        }
    }
}

impl Change {
    /// Whether it hides another from those who begin to look at a time.
    fn hides(&self, old: &Change, begun: u64) -> bool {
        self.done && Some(self.begun) > old.ended && old.ended.is_some() && self.ended < Some(begun)
    }
}
