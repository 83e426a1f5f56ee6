//! Sampled drives: their rates, and the options they exclude.

use std::{fmt, str::FromStr};

use anabranch_ssd::profile::Profile;
use anabranch_trace::{NoRate, Rate, Sample, Sampled, as_text};
use serde::{Deserialize, Serialize};

use crate::error::{CompareError, Result};

/// The fewest pages of an erase unit on a sampled drive (our choice: with fewer, chance decides what one unit holds).
const LEAST_UNIT_PAGES: u64 = 16;
/// Default number of samples: the fewest whose error bar is not mostly uncertainty about itself (our choice; Student's
/// t is 3.2 at 3 degrees of freedom, 4.3 at 2).
pub const SAMPLES: u32 = 4;
/// The most samples of a drive (our choice: the error bar is then half as wide as with the default).
const MOST_SAMPLES: u32 = 16;
/// The widest error bar, as a share of the WAF, that `--sample auto` accepts.
pub(crate) const ERROR: f64 = 0.02;

/// Sampling of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Sampling {
    /// At the coarsest rate whose error bars are narrow enough.
    Auto,
    /// At this rate.
    Rate(Rate),
}

impl Sampling {
    /// Whether pages may be left out.
    pub(crate) fn leaves_out(self) -> bool {
        self != Sampling::Rate(Rate::WHOLE)
    }
}

impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sampling::Auto => f.write_str("auto"),
            Sampling::Rate(rate) => rate.fmt(f),
        }
    }
}

impl FromStr for Sampling {
    type Err = NoRate;

    fn from_str(text: &str) -> Result<Sampling, NoRate> {
        match text {
            "auto" => Ok(Sampling::Auto),
            rate => rate.parse().map(Sampling::Rate),
        }
    }
}

as_text!(Sampling, NoRate);

/// The rate of a sampled drive, and its size before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thinned {
    /// The sampling rate.
    pub rate: Rate,
    /// Pages the host could address before.
    pub logical_pages: u64,
}

/// The coarsest rate that leaves a drive's erase units enough pages.
pub(crate) fn coarsest(profile: &Profile) -> Rate {
    let unit_pages = profile.pages_per_unit();
    let works = |rate: &Rate| leaves_enough(unit_pages, *rate) && fits(profile, *rate);
    let mut rates = (0..=20).rev().filter_map(|bits| Rate::one_of(1 << bits));
    rates.find(works).unwrap_or(Rate::WHOLE)
}

/// Whether a rate leaves a whole number of an erase unit's pages, and enough of them.
pub fn leaves_enough(unit_pages: u64, rate: Rate) -> bool {
    let one_of = u64::from(rate.pages());
    unit_pages.is_multiple_of(one_of) && unit_pages / one_of >= LEAST_UNIT_PAGES
}

/// Whether the size of a sampled page fits 32 bits.
fn fits(profile: &Profile, rate: Rate) -> bool {
    let bytes = profile.geometry.page_bytes.checked_mul(rate.pages());
    bytes.is_some()
}

/// Refuses a rate at which a drive's units keep too few pages.
pub(crate) fn check(profile: &Profile, rate: Rate) -> Result {
    if rate == Rate::WHOLE {
        return Ok(());
    }
    if profile.faults.pages_per_program_failure > 0 {
        return Err(CompareError::wrong_use(
            "--sample leaves most pages out, and with --fault program=N single pages fail: leave one out",
        ));
    }
    let unit_pages = profile.pages_per_unit();
    if leaves_enough(unit_pages, rate) && fits(profile, rate) {
        return Ok(());
    }
    let works = match coarsest(profile) {
        Rate::WHOLE => "leave it out, or give a larger --unit".to_owned(),
        rate => format!("--sample {rate} works"),
    };
    Err(CompareError::wrong_use(format!(
        "--sample {rate}: of the {unit_pages} pages of an erase unit it must leave a whole number, at least \
         {LEAST_UNIT_PAGES}: {works}"
    )))
}

pub(crate) fn check_count(samples: Option<u32>) -> Result {
    match samples {
        Some(count) if !(1..=MOST_SAMPLES).contains(&count) => {
            Err(CompareError::wrong_use(format!(
                "--samples {count}: 1 to {MOST_SAMPLES} of them can be taken, and {SAMPLES} are unless it is said"
            )))
        }
        _ => Ok(()),
    }
}

/// The fault for simulated time on a sampled drive.
pub(crate) fn untimed() -> CompareError {
    CompareError::wrong_use(
        "--time has requests wait for each other, and of a sampled drive most are left out: leave out --time or \
         --sample",
    )
}

/// The samples of a trace for a drive; empty where the requests are taken as they come. `recorded` is the sample that
/// the trace itself holds.
///
/// # Errors
/// When the trace holds fewer pages than asked for, or pages of another size, or the number of samples is not possible.
pub fn samples(
    rate: Rate,
    page_bytes: u32,
    recorded: Option<Sampled>,
    seed: u64,
    count: Option<u32>,
) -> Result<Vec<Sample>> {
    check_count(count)?;
    let from = recorded.map_or(Rate::WHOLE, |recorded| recorded.rate);
    if let Some(recorded) = recorded {
        if rate < from {
            return Err(CompareError::wrong_use(format!(
                "--sample {rate}: the trace was recorded with --sample {from}, and holds no more: {from} works"
            )));
        }
        if recorded.page_bytes != page_bytes {
            return Err(CompareError::wrong_use(format!(
                "the trace was recorded with --sample {from} of pages of {} bytes, and the drive has pages of \
                 {page_bytes}: name a --device with such pages",
                recorded.page_bytes
            )));
        }
    }
    // Samples of all there is are all alike.
    let most = if rate == from { 1 } else { u32::MAX };
    let first = recorded.map_or(seed, |recorded| recorded.hash);
    let sample = |number: u32| {
        let sampled = Sampled {
            rate,
            hash: first.wrapping_add(u64::from(number) << 32),
            page_bytes,
        };
        Sample::thinned(from, sampled)
    };
    Ok((0..count.unwrap_or(SAMPLES).min(most))
        .map(sample)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        options::{IssueKind, ReplayOptions},
        profiles::load,
    };

    fn rate(text: &str) -> Rate {
        text.parse().unwrap()
    }

    #[test]
    fn a_rate_leaves_an_erase_unit_sixteen_pages() {
        // 24 MiB are 6,144 pages: 24 of 256.
        let demo = load("demo").unwrap();
        assert_eq!(coarsest(&demo), rate("1/256"));
        assert!(check(&demo, rate("1/256")).is_ok());
        let words = check(&demo, rate("1/512")).unwrap_err().to_string();
        assert!(
            words.contains("--sample 1/512") && words.ends_with("--sample 1/256 works"),
            "{words}"
        );
    }

    #[test]
    fn a_rate_must_divide_an_erase_unit() {
        let mut odd = load("demo").unwrap();
        odd.geometry.pages_per_block = 100;
        odd.geometry.dies_per_unit = Some(1);
        assert!(check(&odd, rate("1/4")).is_ok());
        let words = check(&odd, rate("1/8")).unwrap_err().to_string();
        assert!(words.ends_with("--sample 1/4 works"), "{words}");
        odd.geometry.pages_per_block = 33;
        let words = check(&odd, rate("1/2")).unwrap_err().to_string();
        assert!(words.contains("larger --unit"), "{words}");
    }

    #[test]
    fn time_and_old_drives_are_not_sampled() {
        let mut options = ReplayOptions::default();
        options.comparison.samples = Some(3);
        assert!(options.validate(1).is_err());
        options.comparison.sample = Some(Sampling::Auto);
        assert!(options.validate(1).is_ok());
        options.time.issue = Some(IssueKind::Open);
        assert!(options.validate(1).is_err());
        options.time.issue = None;
        options.drive_file = Some("aged.drive".into());
        assert!(options.validate(1).is_err());
    }

    #[test]
    fn a_sampled_trace_has_its_own_sample_and_coarser_ones() {
        let recorded = Some(Sampled {
            rate: rate("1/8"),
            hash: 7,
            page_bytes: 4096,
        });
        let made = |rate, page_bytes| samples(rate, page_bytes, recorded, 0, None);
        assert_eq!(made(rate("1/8"), 4096).unwrap().len(), 1);
        assert_eq!(made(rate("1/16"), 4096).unwrap().len(), 4);
        assert!(made(rate("1/4"), 4096).is_err());
        assert!(made(rate("1/16"), 16_384).is_err());
        assert_eq!(
            samples(Rate::WHOLE, 512, None, 3, Some(9)).unwrap().len(),
            1
        );
    }
}
