//! Several inputs as one trace.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

use super::doubts::losses;
use super::error::ImportError;
use super::formats::Format;
use super::in_flight::InFlight;
use super::input::Input;
use super::names::Names;
use super::options::Options;
use super::reader::{BATCH, Reader};
use super::record_outcome::{Skipped, Step};
use super::reorder::Reorder;
use super::times::Times;
use crate::ahead::Ahead;
use crate::capture::{Capture, Tables};
use crate::io::Io;

/// Reads inputs of one format as one trace, a batch at a time and in bounded memory: some 200 KiB
/// for each input, however long it is, and what unpacking it takes.
///
/// - Times count from the first request.
/// - Inputs whose clocks began at one moment (blktrace's files of one capture, ftrace, MSR, Alibaba, Tencent, io-tracer,
///   systor17) are merged by time, each in its own order. All others follow each other in the order given; where the
///   next one's clock is behind, it goes on where the last one ended.
/// - Requests stay as large and as unaligned as they are: a replay splits and widens them.
/// - [`Io::tenant`] is the volume: its number where the trace numbers volumes, else the place in
///   [`Importer::volumes`]. Volumes have addresses of their own, so that more than one are no
///   drive before they are laid side by side.
/// - [`Io::context`] is the process's name where there is one; see [`Importer::tables`].
pub struct Importer {
    format: Format,
    readers: Vec<Reader>,
    names: Names,
    order: Order,
    in_flight: InFlight,
    /// For a stream that several processors wrote into.
    reorder: Option<Reorder>,
    /// Events that were read and not taken yet.
    steps: Vec<Step>,
    clock: Option<Clock>,
    started_unix_s: u64,
    times: Times,
}

/// The order in which requests of several inputs come.
enum Order {
    /// One input after another; the number is that of the input being read.
    Sequence(usize),
    /// By time, across all inputs.
    Merge(Merge),
}

/// The next requests of every input.
#[derive(Default)]
struct Merge {
    /// The time of each input's next request, and the input; at equal times the first input's comes first.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    ahead: Vec<Ahead<Step>>,
}

/// The step from times of an input's clock to times of the trace.
#[derive(Clone, Copy)]
struct Clock {
    input: usize,
    from_ns: u64,
    to_ns: u64,
    last_ns: u64,
    /// The last time of the input's own clock.
    last_own_ns: u64,
}

impl fmt::Debug for Importer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Importer")
            .field("format", &self.format)
            .field("inputs", &self.readers.len())
            .finish_non_exhaustive()
    }
}

impl Importer {
    /// Begins to read inputs of one format.
    ///
    /// # Errors
    /// [`ImportError::Columns`] when a CSV's columns are not said; [`ImportError::Unused`] for an option that the
    /// format has no use for.
    pub fn new(
        inputs: Vec<Input>,
        format: Format,
        options: &Options,
    ) -> Result<Importer, ImportError> {
        format.row().uses.check(format, options)?;
        let readers = inputs
            .into_iter()
            .map(|input| Reader::new(input, format, options))
            .collect::<Result<Vec<Reader>, ImportError>>()?;
        let order = if readers.len() > 1 && format.row().clock.orders_files() {
            Order::Merge(Merge::default())
        } else {
            Order::Sequence(0)
        };
        Ok(Importer {
            format,
            readers,
            names: Names::new(),
            order,
            // Several files are merged by time; one file has one processor's events, or those of all in turn.
            reorder: (format == Format::Blktrace).then(Reorder::default),
            in_flight: InFlight::new(options.event.unwrap_or_default()),
            steps: Vec::new(),
            clock: None,
            started_unix_s: 0,
            times: Times::default(),
        })
    }

    /// Puts the next few thousand requests into `ios`, in place of what was there. False when
    /// there are no more, and `ios` is empty then.
    ///
    /// # Errors
    /// [`ImportError::Record`] with the first malformed record, unless they are skipped;
    /// [`ImportError::Trace`] when an input cannot be read on. Nothing follows.
    pub fn read_batch(&mut self, ios: &mut Vec<Io>) -> Result<bool, ImportError> {
        ios.clear();
        let read = match self.order {
            Order::Sequence(_) => self.read_on(ios),
            Order::Merge(_) => self.read_merged(ios),
        };
        if read.is_err() {
            ios.clear();
            self.order = Order::Sequence(self.readers.len());
        }
        read.map(|()| !ios.is_empty())
    }

    fn read_on(&mut self, ios: &mut Vec<Io>) -> Result<(), ImportError> {
        while let Order::Sequence(input) = self.order
            && ios.is_empty()
        {
            let Some(reader) = self.readers.get_mut(input) else {
                break;
            };
            let mut is_end = !reader.read(&mut self.names, &mut self.steps)?;
            if let Some(reorder) = &mut self.reorder {
                reorder.pass(&mut self.steps, is_end);
                is_end &= reorder.is_empty();
            }
            self.hand_on(is_end, ios);
            if is_end {
                self.order = Order::Sequence(input + 1);
            }
            self.complete(input, ios);
        }
        Ok(())
    }

    fn read_merged(&mut self, ios: &mut Vec<Io>) -> Result<(), ImportError> {
        let mut is_end = false;
        while let Order::Merge(merge) = &mut self.order
            && ios.is_empty()
            && !is_end
        {
            self.steps.clear();
            merge.read(&mut self.readers, &mut self.names, &mut self.steps)?;
            is_end = self.steps.is_empty();
            self.hand_on(is_end, ios);
        }
        self.complete(0, ios);
        Ok(())
    }

    /// Hands on the requests of the events that were read: those that may be taken back only once they are too old
    /// for it, or at the end.
    fn hand_on(&mut self, is_end: bool, ios: &mut Vec<Io>) {
        if !self.format.row().uses.event {
            ios.extend(self.steps.iter().map(|step| step.io));
            return;
        }
        self.in_flight.take(&self.steps, ios);
        if is_end {
            self.in_flight.drain(ios);
        }
    }

    /// Completes what a reader of one input cannot know: the names of processes, and when the trace began.
    fn complete(&mut self, input: usize, ios: &mut [Io]) {
        if self.format == Format::Blktrace {
            for io in ios.iter_mut() {
                io.context = self.names.process(io.context.0);
            }
        }
        self.tell_time(input, ios);
    }

    /// Turns times of an input's clock into times since the first request.
    fn tell_time(&mut self, input: usize, ios: &mut [Io]) {
        let Some(first) = ios.first() else {
            return;
        };
        let clock = match self.clock {
            None => {
                let started = self.format.row().clock.unix_s(first.time_ns);
                self.started_unix_s = started.unwrap_or(0);
                Clock::start(input, first.time_ns)
            }
            Some(clock) if clock.input != input => clock.go_on(input, first.time_ns),
            Some(clock) => clock,
        };
        let Clock {
            mut last_ns,
            mut last_own_ns,
            ..
        } = clock;
        for io in ios {
            let own_ns = io.time_ns;
            io.time_ns = clock.time_ns(own_ns);
            last_ns = last_ns.max(io.time_ns);
            // A step to before the first request does not show in the trace, whose times end there.
            let back_ns = last_own_ns.saturating_sub(own_ns);
            self.times.record_step(io.time_ns, back_ns);
            last_own_ns = own_ns;
        }
        self.clock = Some(Clock {
            last_ns,
            last_own_ns,
            ..clock
        });
    }

    /// The requests so far with an earlier time than the one before them, on the trace's own clock, and the longest of
    /// these steps in nanoseconds.
    pub fn steps_back(&self) -> (u64, u64) {
        (self.times.steps_back, self.times.longest_step_back_ns)
    }

    /// Bytes read so far of the inputs as stored, packed or not.
    pub fn packed_bytes(&self) -> u64 {
        self.readers.iter().map(Reader::packed_bytes).sum()
    }

    /// The names of the volumes, by their number; empty where the trace numbers them itself.
    pub fn volumes(&self) -> &[String] {
        self.names.volumes()
    }

    /// Sentences that a user of the trace must know: assumptions that its format neither confirms nor contradicts,
    /// such as what its numbers count, what was left out, events that contradict each other, times that no drive has,
    /// and losses.
    pub fn remarks(&self) -> Vec<String> {
        // Files of one capture mostly give rise to the same remarks.
        let all = self.readers.iter().map(Reader::remarks);
        let first = { all }.find(|remarks| !remarks.is_empty());
        let uncounted = self.readers.iter();
        let uncounted = uncounted.map(|reader| reader.tally().uncounted_losses);
        first
            .into_iter()
            .flatten()
            .chain(self.in_flight.disagreement())
            .chain(self.times.doubts())
            .chain(losses(self.lost_events(), uncounted.sum()))
            .collect()
    }

    /// Events that the trace reports as lost so far.
    pub fn lost_events(&self) -> u64 {
        let lost = self.readers.iter().map(|reader| reader.tally().lost_events);
        lost.fold(0, u64::saturating_add)
    }

    /// Records that were not handed on so far, by reason.
    pub fn skipped(&self) -> Skipped {
        let mut sum = Skipped::default();
        for reader in &self.readers {
            sum.add(&reader.tally().skipped);
        }
        sum
    }

    /// Tables for the requests so far: a context for each role of processes, a file for each that is named, and a
    /// capture with the time it began, if the trace tells it, and the events it lost.
    pub fn tables(&self) -> Tables {
        let format = self.format.name();
        let limitation = Capture::imported(format);
        self.names.tables(Capture {
            started_unix_s: self.started_unix_s,
            lost_events: self.lost_events(),
            limitations: vec![limitation],
            ..Capture::default()
        })
    }
}

impl Merge {
    fn read(
        &mut self,
        readers: &mut [Reader],
        names: &mut Names,
        steps: &mut Vec<Step>,
    ) -> Result<(), ImportError> {
        if self.ahead.is_empty() {
            for (input, reader) in readers.iter_mut().enumerate() {
                self.ahead.push(Ahead::new());
                self.refill(input, reader, names)?;
            }
        }
        while steps.len() < BATCH {
            let Some(Reverse((_, input))) = self.next.pop() else {
                break;
            };
            let (Some(ahead), Some(reader)) = (self.ahead.get_mut(input), readers.get_mut(input))
            else {
                break;
            };
            steps.extend(ahead.take());
            match ahead.peek() {
                Some(step) => self.next.push(Reverse((step.io.time_ns, input))),
                None => self.refill(input, reader, names)?,
            }
        }
        Ok(())
    }

    fn refill(
        &mut self,
        input: usize,
        reader: &mut Reader,
        names: &mut Names,
    ) -> Result<(), ImportError> {
        let Some(ahead) = self.ahead.get_mut(input) else {
            return Ok(());
        };
        let mut steps = ahead.lend();
        let read = reader.read(names, &mut steps);
        ahead.put(steps);
        read?;
        let first = ahead.peek();
        self.next
            .extend(first.map(|step| Reverse((step.io.time_ns, input))));
        Ok(())
    }
}

impl Clock {
    fn start(input: usize, from_ns: u64) -> Clock {
        Clock {
            input,
            from_ns,
            to_ns: 0,
            last_ns: 0,
            last_own_ns: from_ns,
        }
    }

    /// The clock of the next input, whose first time is `first_ns`.
    fn go_on(self, input: usize, first_ns: u64) -> Clock {
        if first_ns >= self.from_ns && self.time_ns(first_ns) >= self.last_ns {
            return Clock {
                input,
                last_own_ns: first_ns,
                ..self
            };
        }
        Clock {
            input,
            from_ns: first_ns,
            to_ns: self.last_ns,
            last_ns: self.last_ns,
            last_own_ns: first_ns,
        }
    }

    fn time_ns(self, own_ns: u64) -> u64 {
        let since = own_ns.saturating_sub(self.from_ns);
        self.to_ns.saturating_add(since)
    }
}
