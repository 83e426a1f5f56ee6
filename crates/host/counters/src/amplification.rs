//! Write amplification: a pair of counters in one unit.

use crate::count::{Count, Quantity, Unit};

/// From so many units on a ratio is reported (our choice: it is then known to a hundredth).
const LEAST_UNITS: u128 = 100;

/// A drive's counts of hosts' writes and of writes to the flash, as far as it has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amplification {
    /// Written by hosts.
    pub host: Option<Count>,
    /// Written to the flash.
    pub flash: Option<Count>,
    /// Written by hosts, by a counter whose unit has a known size.
    in_bytes: Option<Count>,
}

impl Amplification {
    /// Finds the pair: two counters of one log in one unit, else two in bytes. Without a pair, the first of each kind.
    pub fn of(counts: &[Count]) -> Amplification {
        let hosts = || counts.iter().filter(|one| one.quantity == Quantity::Host);
        let in_bytes = hosts().find(|host| host.bytes().is_some()).copied();
        let flashes = flashes(counts);
        for flash in &flashes {
            let same = hosts().find(|host| host.log == flash.log && host.unit == flash.unit);
            let host = same
                .copied()
                .or(in_bytes.filter(|_| flash.bytes().is_some()));
            if host.is_some() {
                return Amplification {
                    host,
                    flash: Some(*flash),
                    in_bytes,
                };
            }
        }
        Amplification {
            host: in_bytes.or(hosts().next().copied()),
            flash: flashes.first().copied(),
            in_bytes,
        }
    }

    /// Bytes that hosts wrote.
    pub fn host_bytes(&self) -> Option<u128> {
        let exact = self.host.and_then(|host| host.bytes());
        exact.or_else(|| self.in_bytes?.bytes())
    }

    /// Bytes written to the flash.
    pub fn flash_bytes(&self) -> Option<u128> {
        self.flash?.bytes()
    }

    /// Bytes to which both counts are known: those of the larger unit.
    pub fn grain_bytes(&self) -> Option<u64> {
        let (host, flash) = self.pair()?;
        Some(host.unit_bytes()?.max(flash.unit_bytes()?))
    }

    /// Flash / host; `None` without a pair in one unit, or while either has counted too few units.
    pub fn waf(&self) -> Option<f64> {
        let (host, flash) = self.pair().filter(|(host, flash)| {
            let is_known = |count: &Count| match count.unit {
                Unit::Bytes(1) => true,
                _ => count.value >= LEAST_UNITS,
            };
            host.value > 0 && is_known(host) && is_known(flash)
        })?;
        let (host, flash) = match (host.bytes(), flash.bytes()) {
            (Some(host), Some(flash)) => (host, flash),
            _ => (host.value, flash.value),
        };
        Some(flash as f64 / host as f64)
    }

    /// The reason why there is no WAF; `None` where there is one.
    pub fn missing(&self) -> Option<String> {
        if self.waf().is_some() {
            return None;
        }
        Some(match (&self.host, &self.flash) {
            (None, None) => "no counter of writes is known".to_owned(),
            (Some(_), None) => "bytes written to the flash are not known".to_owned(),
            (None, Some(_)) => "bytes that hosts wrote are not known".to_owned(),
            (Some(host), Some(flash)) if self.pair().is_none() => {
                let unnamed = if flash.bytes().is_none() { flash } else { host };
                format!("the unit in which {} counts is not known", unnamed.log)
            }
            (Some(host), _) if host.value == 0 => "hosts wrote nothing".to_owned(),
            _ => format!("fewer than {LEAST_UNITS} of the units that are counted were written"),
        })
    }

    /// The writes since an earlier reading of the same counters.
    ///
    /// # Errors
    /// When the counters are others, or went back.
    pub fn since(&self, before: &Amplification) -> Result<Amplification, &'static str> {
        let difference = |now: Option<Count>, before: Option<Count>| match (now, before) {
            (None, None) => Ok(None),
            (Some(now), Some(before)) if (now.log, now.unit) == (before.log, before.unit) => {
                let value = now.value.checked_sub(before.value);
                let value =
                    value.ok_or("counters went back: the drive is another, or was reset")?;
                Ok(Some(Count { value, ..now }))
            }
            _ => Err("the earlier reading is of other counters"),
        };
        Ok(Amplification {
            host: difference(self.host, before.host)?,
            flash: difference(self.flash, before.flash)?,
            in_bytes: difference(self.in_bytes, before.in_bytes)?,
        })
    }

    /// Both counts, if they can be compared.
    fn pair(&self) -> Option<(Count, Count)> {
        let (host, flash) = self.host.zip(self.flash)?;
        let is_same = host.log == flash.log && host.unit == flash.unit;
        let are_bytes = host.bytes().is_some() && flash.bytes().is_some();
        (is_same || are_bytes).then_some((host, flash))
    }
}

/// Counts of all writes to the flash, one for each log at most: as counted, as the sum of shares, or as hosts' writes and those
/// beside them.
fn flashes(counts: &[Count]) -> Vec<Count> {
    let mut found: Vec<Count> = Vec::new();
    for count in counts {
        let known = found.iter_mut().find(|flash| flash.log == count.log);
        match (count.quantity, known) {
            (Quantity::Flash | Quantity::Share, None) => found.push(*count),
            (Quantity::Share, Some(sum)) if sum.quantity == Quantity::Share => {
                sum.value = sum.value.saturating_add(count.value);
            }
            (Quantity::Background, None) => {
                let is_its_host = |one: &&Count| {
                    (one.quantity, one.log, one.unit) == (Quantity::Host, count.log, count.unit)
                };
                found.extend(counts.iter().find(is_its_host).map(|host| Count {
                    value: count.value.saturating_add(host.value),
                    ..*count
                }));
            }
            _ => {}
        }
    }
    let flash = |count| Count {
        quantity: Quantity::Flash,
        ..count
    };
    found.into_iter().map(flash).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(log: &'static str, quantity: Quantity, value: u128, unit: Unit) -> Count {
        Count {
            log,
            quantity,
            value,
            unit,
            source: "",
        }
    }

    const PAGES: Unit = Unit::Unnamed("pages");

    #[test]
    fn a_ratio_needs_both_counts_in_one_unit() {
        let host = count("a", Quantity::Host, 200, Unit::Bytes(512));
        let flash = count("b", Quantity::Flash, 300, Unit::Bytes(1024));
        let both = Amplification::of(&[host, flash]);
        assert_eq!((both.waf(), both.missing()), (Some(3.0), None));
        assert_eq!(both.grain_bytes(), Some(1024));
        let alone = Amplification::of(&[host]);
        assert_eq!((alone.waf(), alone.host_bytes()), (None, Some(102_400)));
        assert!(alone.missing().unwrap().contains("flash"));
        let alone = Amplification::of(&[flash]);
        assert!(alone.missing().unwrap().contains("hosts"));
        let unnamed = count("b", Quantity::Flash, 300, PAGES);
        let unlike = Amplification::of(&[host, unnamed]);
        assert_eq!((unlike.waf(), unlike.flash_bytes()), (None, None));
        assert!(unlike.missing().unwrap().ends_with("b counts is not known"));
        assert!(Amplification::of(&[]).missing().is_some());
    }

    #[test]
    fn pages_beside_the_hosts_own_and_shares_of_cells_are_added() {
        let counts = [
            count("a", Quantity::Host, 9_000, Unit::Bytes(512)),
            count("a", Quantity::Host, 100, PAGES),
            count("a", Quantity::Background, 150, PAGES),
        ];
        let pages = Amplification::of(&counts);
        assert_eq!(
            (pages.waf(), pages.host_bytes()),
            (Some(2.5), Some(9_000 * 512))
        );
        let counts = [
            count("s", Quantity::Host, 1_000, Unit::Bytes(1)),
            count("a", Quantity::Share, 700, Unit::Bytes(1)),
            count("a", Quantity::Share, 800, Unit::Bytes(1)),
        ];
        assert_eq!(Amplification::of(&counts).waf(), Some(1.5));
    }

    #[test]
    fn too_few_units_are_no_ratio_and_huge_counts_no_overflow() {
        let host = |value| count("a", Quantity::Host, value, Unit::Bytes(1 << 30));
        let flash = |value| count("a", Quantity::Flash, value, Unit::Bytes(1 << 30));
        let few = Amplification::of(&[host(99), flash(300)]);
        assert!(few.waf().is_none() && few.missing().unwrap().contains("100"));
        let none = Amplification::of(&[host(0), flash(0)]);
        assert!(none.missing().unwrap().contains("nothing"));
        let huge = Amplification::of(&[host(u128::MAX), flash(u128::MAX)]);
        assert_eq!(
            (huge.host_bytes(), huge.waf()),
            (Some(u128::MAX), Some(1.0))
        );
    }

    #[test]
    fn an_interval_is_the_difference_of_the_same_counters() {
        let at = |host, flash| {
            Amplification::of(&[
                count("a", Quantity::Host, host, Unit::Bytes(1)),
                count("a", Quantity::Flash, flash, Unit::Bytes(1)),
            ])
        };
        let since = at(300, 900).since(&at(100, 400)).unwrap();
        assert_eq!((since.host_bytes(), since.waf()), (Some(200), Some(2.5)));
        assert!(
            at(99, 900)
                .since(&at(100, 400))
                .unwrap_err()
                .contains("back")
        );
        let other = Amplification::of(&[count("b", Quantity::Host, 1, Unit::Bytes(1))]);
        assert!(at(1, 1).since(&other).unwrap_err().contains("other"));
    }
}
