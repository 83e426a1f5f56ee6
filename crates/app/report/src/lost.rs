//! The effect of lost events on the figures.

/// A sentence on the figures of a trace that lost events; `None` if it lost none.
///
/// The requested bytes are not known. The seen bytes were written, which bounds the host's bytes from below;
/// nothing bounds the copies.
pub fn lost_events(lost: u64, captured: u64) -> Option<String> {
    let all = lost.saturating_add(captured);
    let percent = 100.0 * lost as f64 / all as f64;
    let share = match percent {
        percent if percent < 0.001 => "less than 0.001 %".to_owned(),
        percent => format!("{percent:.3} %"),
    };
    (lost > 0).then(|| {
        format!(
            "LOST EVENTS: {lost} kernel events were not captured, {share} of all. Host bytes are at least what is \
             shown; copies and WAF may be too low (for lost writes) or too high (for lost discards, after which the \
             drive copies what is dead)"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_bound_is_claimed_but_that_of_the_hosts_bytes() {
        assert_eq!(lost_events(0, 9), None);
        let words = lost_events(1, 3).unwrap();
        assert!(
            words.starts_with("LOST EVENTS: 1 kernel events were not captured, 25.000 % of all.")
        );
        assert!(words.contains("Host bytes are at least") && !words.contains("lower bound"));
        assert!(
            lost_events(1, 1 << 40)
                .unwrap()
                .contains("less than 0.001 %")
        );
    }
}
