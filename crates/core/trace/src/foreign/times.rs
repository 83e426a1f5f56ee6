//! The times of a trace's requests, in their order.

/// Span, pauses and steps back of the requests so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Times {
    pub(super) requests: u64,
    /// The earliest and the latest time.
    range_ns: Option<(u64, u64)>,
    last_ns: u64,
    pub(super) longest_pause_ns: u64,
    pub(super) steps_back: u64,
    pub(super) longest_step_back_ns: u64,
}

impl Times {
    /// Counts a request at a time of the trace.
    pub(super) fn record(&mut self, time_ns: u64) {
        let back_ns = match self.range_ns {
            Some(_) => self.last_ns.saturating_sub(time_ns),
            None => 0,
        };
        self.record_step(time_ns, back_ns);
    }

    /// Counts a request whose clock went back so far, which its time in the trace need not show.
    pub(super) fn record_step(&mut self, time_ns: u64, back_ns: u64) {
        let (first_ns, end_ns) = self.range_ns.unwrap_or((time_ns, time_ns));
        if self.range_ns.is_some() {
            let pause_ns = time_ns.saturating_sub(self.last_ns);
            self.longest_pause_ns = self.longest_pause_ns.max(pause_ns);
        }
        self.range_ns = Some((first_ns.min(time_ns), end_ns.max(time_ns)));
        self.last_ns = time_ns;
        self.requests += 1;
        self.steps_back += u64::from(back_ns > 0);
        self.longest_step_back_ns = self.longest_step_back_ns.max(back_ns);
    }

    /// The time from the earliest request to the latest.
    pub(super) fn span_ns(&self) -> u64 {
        self.range_ns
            .map_or(0, |(first_ns, last_ns)| last_ns - first_ns)
    }
}
