//! Numbers as people read them.

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
