//! Dates and times of day as people write them (ISO 8601, and what programs make of it).

use super::fields::{SECOND_NS, number, time_ns};

/// Seconds of a minute, an hour and a day.
const MINUTE_S: u64 = 60;
const HOUR_S: u64 = 3600;
const DAY_S: u64 = 86_400;

/// Parses `2024-01-15T10:30:45.123456Z` as nanoseconds since 1970-01-01.
///
/// A blank may stand for the `T`, slashes for the hyphens. Without a fraction it is zero; without `Z` or an offset
/// such as `+01:00` the clock is taken for that of UTC.
pub(super) fn date_ns(text: &[u8]) -> Option<u64> {
    let (date, clock) = text.split_at_checked(10)?;
    let clock = clock.strip_prefix(b"T").or(clock.strip_prefix(b" "))?;
    let (clock, zone) = split_zone(clock);
    let seconds_ns = day(date)?.checked_mul(DAY_S * SECOND_NS)?;
    zone_shifted(seconds_ns.checked_add(clock_ns(clock)?)?, zone)
}

/// Parses `10:30:45.123456` as nanoseconds since midnight.
pub(super) fn clock_ns(text: &[u8]) -> Option<u64> {
    let (clock, fraction) = text.split_at_checked(8)?;
    let [hour, minute, second] = three(clock, b':')?;
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let fraction_ns = match fraction {
        b"" => 0,
        [b'.' | b',', digits @ ..] if !digits.is_empty() => {
            time_ns(&[b"0.", digits].concat(), SECOND_NS).ok()?
        }
        _ => return None,
    };
    Some((hour * HOUR_S + minute * MINUTE_S + second) * SECOND_NS + fraction_ns)
}

/// Parses `2024-01-15` or `2024/01/15` as days since 1970-01-01.
pub(super) fn day(text: &[u8]) -> Option<u64> {
    let [year, month, day] = three(text, b'-').or_else(|| three(text, b'/'))?;
    // Years that fit 64 bits of nanoseconds.
    let is_date =
        (1970..2500).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    is_date.then(|| days(year, month, day) - days(1970, 1, 1))
}

/// The clock and its distance from UTC, `Z`, `+01:00`, `-0800`, or nothing.
fn split_zone(clock: &[u8]) -> (&[u8], &[u8]) {
    let zone = clock
        .iter()
        .position(|byte| matches!(byte, b'Z' | b'+' | b'-'));
    let (clock, zone) = clock.split_at(zone.unwrap_or(clock.len()));
    (clock.trim_ascii_end(), zone)
}

fn zone_shifted(local_ns: u64, zone: &[u8]) -> Option<u64> {
    let (sign, digits) = match zone {
        b"" | b"Z" => return Some(local_ns),
        [sign, digits @ ..] => (sign, digits),
    };
    let digits: Vec<u8> = digits
        .iter()
        .copied()
        .filter(|byte| *byte != b':')
        .collect();
    let (hours, minutes) = match digits.len() {
        2 => (number(&digits)?, 0),
        4 => (number(digits.get(..2)?)?, number(digits.get(2..)?)?),
        _ => return None,
    };
    let shift_ns = (hours * HOUR_S + minutes * MINUTE_S) * SECOND_NS;
    if *sign == b'+' {
        local_ns.checked_sub(shift_ns)
    } else {
        local_ns.checked_add(shift_ns)
    }
}

/// Parses three numbers with the byte `between` between them.
fn three(text: &[u8], between: u8) -> Option<[u64; 3]> {
    let mut parts = text.split(|byte| *byte == between);
    let mut next = || number(parts.next()?);
    let found = [next()?, next()?, next()?];
    parts.next().is_none().then_some(found)
}

/// Days of the Gregorian calendar since March of the year 0: years that begin in March have their leap day last.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let year = year - u64::from(month <= 2);
    let month = (month + 9) % 12;
    year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> u64 {
        date_ns(text.as_bytes()).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn a_day_is_a_day_over_leap_years_and_years_ends() {
        for (one, next) in [
            ("2024-02-28 00:00:00", "2024-02-29 00:00:00"),
            ("2024-02-29 00:00:00", "2024-03-01 00:00:00"),
            ("2023-02-28 12:00:00", "2023-03-01 12:00:00"),
            ("2023-12-31 23:59:59.000001", "2024-01-01 23:59:59.000001"),
            ("2100-02-28 00:00:00", "2100-03-01 00:00:00"),
        ] {
            assert_eq!(at(next) - at(one), DAY_S * SECOND_NS, "{one}");
        }
        assert_eq!(at("1970-01-01 00:00:00"), 0);
        assert_eq!(at("2019-12-31 16:02:24"), 1_577_808_144 * SECOND_NS);
    }

    #[test]
    fn every_way_to_write_one_moment_is_that_moment() {
        let moment = at("2024-01-15 10:30:45.500000");
        for same in [
            "2024-01-15T10:30:45.5Z",
            "2024-01-15T12:30:45.5+02:00",
            "2024-01-15T02:30:45.500-0800",
            "2024/01/15 10:30:45,5",
        ] {
            assert_eq!(at(same), moment, "{same}");
        }
    }

    #[test]
    fn a_text_that_is_no_date_is_refused() {
        for bad in [
            "",
            "2024-01-15",
            "2024-13-01 00:00:00",
            "2024-01-15 25:00:00",
            "2024-01-15 10:30:45.",
            "2024-01-15 10:30:45+1",
            "0000-01-01 00:00:00",
            "2024-01-15 00:00:0x",
            "1970-01-01 00:00:00+01:00",
        ] {
            assert_eq!(date_ns(bad.as_bytes()), None, "{bad}");
        }
    }
}
