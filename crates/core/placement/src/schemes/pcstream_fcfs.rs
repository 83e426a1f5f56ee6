//! `pcstream-fcfs`: streams by program context, first come, first served, as the PCStream authors'
//! emulator gives them.

use anabranch_ssd::StreamId;
use anabranch_trace::ContextId;

use crate::{
    assign::{Assign, Write},
    halves::Halves,
    parameter::{named, parameters},
    scheme::{HostScheme, Unfit},
    site::Site,
};

/// Highest context number that can be told apart, plus one (our choice: 64 times what the probe
/// keeps apart by default).
const MAX_NUMBERS: usize = 1 << 16;

parameters! {
    /// Parameters of [`FirstCome`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Parameters {
        /// Writes a context must have made before it gets a stream: with the next it has one. 500,
        /// the emulator's (1,000 in an older file of it).
        samples: Count(0..=u32::MAX) = 500,
            "writes a context must have made before it gets a stream";
        /// Contexts that are counted; those that come later stay in the default stream. 128, the
        /// emulator's.
        max_contexts as "max-contexts": Count(1..=65_536) = 128,
            "contexts that are counted; later ones stay in the default stream";
    }
}

impl HostScheme for Parameters {
    named!("pcstream-fcfs");

    fn goes_by_requests(&self) -> bool {
        true
    }

    fn build(&self, site: &Site<'_>) -> Result<Halves, Unfit> {
        Ok(Halves::host(FirstCome::new(self, site.drive.host_streams)))
    }
}

/// One context. 8 bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Caller {
    /// Requests it wrote; 0 also for one that came too late to be counted.
    writes: u32,
    stream: StreamId,
}

/// Gives each context that writes often a stream of its own, in the order in which they come to
/// it, until all are given out; a stream once given stays. Lifetimes are not looked at.
///
/// The emulator's substreams are taken from the same ids; here internal streams are a budget of
/// their own. Memory: 8 bytes for each context number up to the highest that writes, of 65,536.
#[derive(Debug, Clone)]
pub struct FirstCome {
    callers: Vec<Caller>,
    counted: u32,
    next_stream: u16,
    host_streams: u16,
    parameters: Parameters,
}

impl FirstCome {
    /// For a drive with `host_streams` streams, at least 1.
    pub fn new(parameters: &Parameters, host_streams: u16) -> FirstCome {
        FirstCome {
            callers: Vec::new(),
            counted: 0,
            next_stream: 1,
            host_streams,
            parameters: *parameters,
        }
    }
}

impl Assign for FirstCome {
    fn assign(&mut self, write: &Write) -> StreamId {
        let row = write.context.0 as usize;
        if write.context == ContextId::UNKNOWN || row >= MAX_NUMBERS {
            return StreamId::DEFAULT;
        }
        if row >= self.callers.len() {
            self.callers.resize(row + 1, Caller::default());
        }
        let caller = &mut self.callers[row];
        if caller.writes == 0 {
            if self.counted == self.parameters.max_contexts {
                return StreamId::DEFAULT;
            }
            self.counted += 1;
        }
        caller.writes = caller.writes.saturating_add(1);
        let wants = caller.writes > self.parameters.samples && caller.stream == StreamId::DEFAULT;
        if wants && self.next_stream < self.host_streams {
            caller.stream = StreamId(self.next_stream);
            self.next_stream += 1;
        }
        caller.stream
    }

    fn memory_bytes(&self) -> usize {
        self.callers.capacity() * size_of::<Caller>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_ssd::PageRange;
    use anabranch_trace::{FileId, WriteHint};

    fn scheme(samples: u32, max_contexts: u32, host_streams: u16) -> FirstCome {
        let parameters = Parameters {
            samples,
            max_contexts,
        };
        FirstCome::new(&parameters, host_streams)
    }

    fn stream(scheme: &mut FirstCome, context: u32) -> u16 {
        let write = Write {
            pages: PageRange::new(0, 16),
            context: ContextId(context),
            file: FileId(0),
            hint: WriteHint::NotSet,
            tenant: 0,
            now_pages: 0,
        };
        scheme.assign(&write).0
    }

    #[test]
    fn contexts_get_streams_in_the_order_in_which_they_have_written_enough() {
        let mut scheme = scheme(2, 128, 8);
        let streams = [7, 3, 3, 7, 3, 7, 3, 7, 0, 0, 0].map(|one| stream(&mut scheme, one));
        assert_eq!(streams, [0, 0, 0, 0, 1, 2, 1, 2, 0, 0, 0]);
    }

    #[test]
    fn by_default_the_five_hundred_and_first_write_has_a_stream() {
        let mut scheme = FirstCome::new(&Parameters::default(), 8);
        let first = (1..1000).find(|_| stream(&mut scheme, 5) != 0);
        assert_eq!(first, Some(501));
    }

    #[test]
    fn when_all_streams_are_given_out_the_rest_share_the_default() {
        let mut scheme = scheme(0, 128, 3);
        let streams = [1, 2, 3, 4, 2, 1].map(|context| stream(&mut scheme, context));
        assert_eq!(streams, [1, 2, 0, 0, 2, 1]);
    }

    #[test]
    fn contexts_beyond_the_table_are_not_counted() {
        let mut scheme = scheme(0, 2, 8);
        let streams = [9, 4, 6, 6, 9, u32::MAX].map(|context| stream(&mut scheme, context));
        assert_eq!(streams, [1, 2, 0, 0, 1, 0]);
    }
}
