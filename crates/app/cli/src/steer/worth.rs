//! Sentences on what steering is worth.

use anabranch_compare::{EnduranceOptions, endurance};
use anabranch_replay::Stands;
use anabranch_report::{SteeredTotals, standing_words};

use super::shadow::Counted;
use crate::error::Result;

/// A difference of less is none (our choice): to the three decimals that are shown.
const LEAST_SHARE: f64 = 0.001;

/// A judgement of steering.
#[derive(Debug, PartialEq)]
pub struct SteeringVerdict {
    /// Sentence that tells what steering is worth, for a person.
    pub words: String,
    /// Write amplification as steered, and in one stream, where there is an answer.
    pub wafs: Option<[f64; 2]>,
}

/// A share of flash writes saved, in words.
pub fn phrase(saved: f64) -> String {
    let percent = 100.0 * saved.abs();
    if saved.abs() < LEAST_SHARE {
        "steering neither saves nor costs flash writes".to_owned()
    } else if saved > 0.0 {
        format!("steering saves {percent:.1} % of flash writes")
    } else {
        format!("steering costs {percent:.1} % more flash writes")
    }
}

/// The end of a sentence on a saved share.
pub fn end(saved: f64) -> &'static str {
    if saved <= -LEAST_SHARE { ": stop" } else { "" }
}

/// Judges what steering is worth: the model in the scheme's streams beside that in one stream, whose copies are apart, as those of a
/// drive are that nobody steers.
pub fn by_models(counted: &Counted) -> SteeringVerdict {
    let none = |words: &str| SteeringVerdict {
        words: words.to_owned(),
        wafs: None,
    };
    let Some((saved, error)) = counted.saved else {
        return none("nothing was written yet: there is no verdict");
    };
    if counted.steered.copied_pages == 0 && counted.baseline.copied_pages == 0 {
        return none(
            "no verdict yet: the models of the drive are not full, and have copied nothing",
        );
    }
    let wafs = counted.steered.waf.zip(counted.baseline.waf);
    SteeringVerdict {
        words: by_models_words(saved, error),
        wafs: wafs.filter(|_| saved.abs() >= error).map(Into::into),
    }
}

/// A sentence on the share of flash writes that models say is saved, and half the width of its interval.
fn by_models_words(saved: f64, error: f64) -> String {
    let by = match error {
        0.0 => "by the models".to_owned(),
        error => format!("by the models (± {:.1} %)", 100.0 * error),
    };
    if saved.abs() < error {
        return format!("whether steering saves or costs flash writes is not known yet, {by}");
    }
    format!("{}, {by}{}", phrase(saved), end(saved))
}

/// The verdict on several drives together.
pub fn verdict_of_set(totals: &SteeredTotals) -> String {
    match totals.models {
        Some(models) if models.one_stream_waf > 1.0 || models.steered_waf > 1.0 => {
            let words = by_models_words(models.saved(), models.saved_error);
            format!("all together: {words}")
        }
        Some(_) => "no verdict on all together yet: the models have copied nothing".to_owned(),
        None => {
            "no verdict on all together: not each drive has models that were written to".to_owned()
        }
    }
}

/// A sentence on the models and the drive's log, where one has it that steering saves and the other that it does not.
pub fn contradiction(models: [f64; 2], log: [f64; 2]) -> Option<String> {
    let saves = |[steered, one]: [f64; 2]| steered < one;
    (saves(models) != saves(log)).then(|| {
        "the models and the drive's log disagree: go by the log. The models take the drive's spare from --spare".to_owned()
    })
}

/// The load on a drive, and its size.
pub struct DriveLoad {
    pub host_bytes: u64,
    pub seconds: f64,
    pub drive_bytes: u64,
}

/// Years that the drive stands in one stream and as steered by a scheme, and the price of each, as far as its endurance is
/// known; with the words to put behind a sentence.
///
/// # Errors
///
/// Options that contradict each other.
pub fn years(
    options: &EnduranceOptions,
    scheme: &str,
    [steered, one]: [f64; 2],
    load: &DriveLoad,
) -> Result<(Vec<Stands>, String)> {
    let measured = Some((load.host_bytes, load.seconds));
    let Some(known) = endurance(options, None, Some(load.drive_bytes), measured)? else {
        return Ok((Vec::new(), String::new()));
    };
    let stands = vec![
        known.with("one stream", one, one),
        known.with(scheme, steered, one),
    ];
    let words = standing_words(&stands, &known);
    Ok((stands, words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steer::shadow::Modelled;

    /// Models that copied so many pages for a thousand of the host's, and how much the saved share may be off.
    fn counted(steered: u64, one: u64, error: f64) -> Counted {
        let modelled = |copied_pages: u64| Modelled {
            host_pages: 1000,
            copied_pages,
            waf: Some(1.0 + copied_pages as f64 / 1000.0),
            error: None,
        };
        let (steered, baseline) = (modelled(steered), modelled(one));
        let ratio = steered.waf.unwrap() / baseline.waf.unwrap();
        Counted {
            baseline,
            steered,
            saved: Some((1.0 - ratio, error)),
        }
    }

    #[test]
    fn the_verdict_says_what_steering_saves_or_costs_once_a_model_has_copied() {
        let words = |steered, one| by_models(&counted(steered, one, 0.0)).words;
        assert!(
            by_models(&Counted::default())
                .words
                .contains("nothing was written")
        );
        assert!(words(0, 0).starts_with("no verdict yet"));
        assert!(words(0, 100).starts_with("steering saves 9.1 % of flash writes"));
        assert!(words(109, 100).starts_with("steering costs 0.8 % more flash writes"));
        assert!(words(109, 100).ends_with("stop"));
        assert!(words(100, 100).starts_with("steering neither saves nor costs"));
        assert!(words(101, 101).starts_with("steering neither"));
    }

    #[test]
    fn samples_that_differ_by_more_than_steering_saves_give_no_verdict() {
        let found = |error| by_models(&counted(50, 100, error));
        assert!(
            found(0.01)
                .words
                .starts_with("steering saves 4.5 % of flash writes")
        );
        assert!(found(0.01).words.ends_with("(± 1.0 %)"));
        assert_eq!(found(0.01).wafs, Some([1.05, 1.1]));
        assert!(
            found(0.05)
                .words
                .starts_with("whether steering saves or costs")
        );
        assert_eq!(found(0.05).wafs, None);
    }

    #[test]
    fn the_log_has_the_last_word_where_the_models_disagree() {
        let words = contradiction([1.2, 1.1], [1.0, 1.1]).unwrap();
        assert!(words.contains("go by the log"), "{words}");
        assert_eq!(contradiction([1.05, 1.1], [1.0, 1.1]), None);
        assert_eq!(contradiction([1.2, 1.1], [1.2, 1.1]), None);
    }

    #[test]
    fn years_and_money_follow_the_data_sheet_and_the_load() {
        let options = EnduranceOptions {
            tbw: Some("3652.5TB".to_owned()),
            price: Some(300.0),
            years: Some(5.0),
            ..EnduranceOptions::default()
        };
        let load = DriveLoad {
            host_bytes: 1_000_000_000_000,
            seconds: 86_400.0,
            drive_bytes: 2_000_000_000_000,
        };
        let (stands, words) = years(&options, "anabranch", [1.0, 1.25], &load).unwrap();
        assert_eq!(
            words,
            "; at 931.32 GiB a day it lasts 10.0 years with one stream (30.00 a year), 12.5 years with anabranch (24.00 a year)"
        );
        assert_eq!(stands[1].years, Some(12.5));
        assert_eq!(stands[0].drive_writes_per_day, Some(1.0));
        // Nothing is guessed.
        let unknown = years(
            &EnduranceOptions::default(),
            "anabranch",
            [1.0, 1.25],
            &load,
        );
        assert_eq!(unknown.unwrap(), (Vec::new(), String::new()));
        // Before anything was written there is no rate.
        let idle = DriveLoad {
            host_bytes: 0,
            ..load
        };
        assert_eq!(
            years(&options, "anabranch", [1.0, 1.25], &idle).unwrap().1,
            ""
        );
    }
}
