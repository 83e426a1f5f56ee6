//! Sentences on times and losses that make a trace doubtful.

use super::times::Times;

/// The shortest mean time between requests that a drive can have: ten million requests a second, some four times what
/// the fastest take (our choice).
const LEAST_NS: u64 = 100;

/// The shortest pause that is reported as a wrong clock, and the least share of the span it must
/// have (our choice).
const PAUSE_NS: u64 = 86_400_000_000_000;
const PAUSE_SHARE: f64 = 0.5;

impl Times {
    /// Sentences on times that cannot be right.
    pub(super) fn doubts(&self) -> Vec<String> {
        let all = [self.no_time(), self.wrong_clock(), self.backward_clock()];
        all.into_iter().flatten().collect()
    }

    /// A sentence for a trace in which no time passes, or hardly any.
    fn no_time(&self) -> Option<String> {
        let (requests, span_ns) = (self.requests, self.span_ns());
        (requests > 1 && span_ns < requests.saturating_mul(LEAST_NS)).then(|| {
            format!(
                "{requests} requests in {} are more than any drive takes: the times are in another unit, or the trace \
                 has none",
                span(span_ns)
            )
        })
    }

    /// A sentence for a trace in which one pause is most of the time.
    fn wrong_clock(&self) -> Option<String> {
        let (pause_ns, all_ns) = (self.longest_pause_ns, self.span_ns());
        let is_most = pause_ns as f64 > PAUSE_SHARE * all_ns as f64;
        (pause_ns >= PAUSE_NS && is_most).then(|| {
            format!(
                "one pause of {} is most of that time: a record has a wrong clock, or the time is in another unit; \
                 --time open would wait for it",
                span(pause_ns)
            )
        })
    }

    /// A sentence for a trace whose times go back.
    fn backward_clock(&self) -> Option<String> {
        (self.steps_back > 0).then(|| {
            format!(
                "the clock goes back at {} of {} requests, by {} at most: records have a wrong clock, or are not in the \
                 order of their time; they stay in the order of the trace, and a time before the first counts as the \
                 first",
                self.steps_back,
                self.requests,
                span(self.longest_step_back_ns)
            )
        })
    }
}

/// A sentence on events that the trace reports as lost.
pub(super) fn losses(events: u64, uncounted: u64) -> Option<String> {
    let places = match uncounted {
        0 => String::new(),
        places => format!(
            " ({places} of its reports have no number: each counts as one, and may stand for many)"
        ),
    };
    (events > 0).then(|| {
        format!(
            "the trace says that {events} events are missing{places}: bytes are at least what is told, and what is copied \
             may be off either way"
        )
    })
}

/// Nanoseconds as text, in the unit that suits them.
pub fn span(ns: u64) -> String {
    let s = ns as f64 / 1e9;
    let units = [(86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes")];
    match units.into_iter().find(|(unit, _)| s >= 2.0 * unit) {
        Some((unit, name)) => format!("{:.2} {name}", s / unit),
        None => format!("{s:.6} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_told_in_the_unit_that_suits_it() {
        assert_eq!(span(1_500), "0.000002 s");
        assert_eq!(span(119_000_000_000), "119.000000 s");
        assert_eq!(span(604_800_000_000_000), "7.00 days");
    }

    #[test]
    fn losses_without_a_number_are_told() {
        assert_eq!(losses(0, 0), None);
        assert!(!losses(7, 0).unwrap_or_default().contains("no number"));
        assert!(
            losses(7, 2)
                .unwrap_or_default()
                .contains("2 of its reports have no number")
        );
    }
}
