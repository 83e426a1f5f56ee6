//! Numbers as people read them.

use anabranch_replay::{Endurance, Stands};

/// Bytes as text, in the binary unit that suits them: `1.50 GiB`.
pub fn bytes(bytes: u64) -> String {
    let units = [
        (1_u64 << 50, "PiB"),
        (1_u64 << 40, "TiB"),
        (1 << 30, "GiB"),
        (1 << 20, "MiB"),
        (1 << 10, "KiB"),
    ];
    match units.into_iter().find(|&(unit, _)| bytes >= unit) {
        Some((unit, name)) => format!("{:.2} {name}", bytes as f64 / unit as f64),
        None => format!("{bytes} B"),
    }
}

/// Seconds of a year of 365.25 days.
const YEAR_SECONDS: f64 = 365.25 * 86_400.0;

/// A time in the unit that suits it, years with a decimal.
pub fn span(seconds: f64) -> String {
    if seconds >= 2.0 * YEAR_SECONDS {
        return format!("{:.1} years", seconds / YEAR_SECONDS);
    }
    let (unit, name) = time_unit(seconds).unwrap_or((1.0, "seconds"));
    format!("{:.0} {name}", (seconds / unit).max(1.0))
}

/// The years that drives stand and the price of each, in words behind a separator; empty where the writes a day are not
/// known.
pub fn standing_words(stands: &[Stands], endurance: &Endurance) -> String {
    let words = |one: &Stands| {
        let price = one.price_per_year;
        let price = price.map_or_else(String::new, |price| format!(" ({price:.2} a year)"));
        let years = span(one.years? * YEAR_SECONDS);
        Some(format!("{years} with {}{price}", one.scheme))
    };
    let all: Vec<String> = stands.iter().filter_map(words).collect();
    match endurance.writes_per_day {
        Some(rate) if !all.is_empty() => format!(
            "; at {} a day it lasts {}",
            bytes(rate as u64),
            all.join(", ")
        ),
        _ => String::new(),
    }
}

/// The unit of days, hours or minutes that suits a time, in seconds, and its name; `None` for less than two minutes.
pub fn time_unit(seconds: f64) -> Option<(f64, &'static str)> {
    let units = [(86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes")];
    units.into_iter().find(|(unit, _)| seconds >= 2.0 * unit)
}

/// A ratio as text, to three decimals; a dash for `None`.
pub fn ratio(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"))
}

/// A ratio as text, with its error where it has one.
pub fn ratio_within(value: Option<f64>, error: Option<f64>) -> String {
    match error {
        Some(error) => format!("{} ± {error:.3}", ratio(value)),
        None => ratio(value),
    }
}

/// `part` of `whole` as text, in percent.
pub fn share(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_told_in_the_unit_that_suits_them() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.50 KiB");
        assert_eq!(bytes(3 << 30), "3.00 GiB");
    }

    #[test]
    fn a_ratio_that_is_not_there_is_a_dash() {
        assert_eq!(ratio(None), "-");
        assert_eq!(ratio(Some(1.0)), "1.000");
    }
}
