//! Answers for a recording whose own drive gives none: it is replayed at once on a drive that it fills.

use anabranch_placement::SchemeSpec;
use anabranch_replay::{Comparison, Verdict, close_gaps};
use serde_json::{Value, json};

use crate::{
    error::{CompareError, Result},
    options::{ComparisonOptions, EnduranceOptions, ReplayOptions},
    replay::replay,
    schemes::{read_text, schemes},
    source::Requests,
    watch::Watch,
};

/// The drives tried: one that the trace fills, then one that its live data fill.
const TRIES: usize = 2;
/// The bound that is compared by default.
const BOUND: &str = "oracle";

/// The options of `replay` in these words, with `comparison`.
///
/// # Errors
/// When there is no such option, or a value is of the wrong kind.
pub fn options_of(words: &[String], comparison: &ComparisonOptions) -> Result<ReplayOptions> {
    let mut options: Vec<(String, Value)> = Vec::new();
    for word in words {
        match (word.strip_prefix("--"), options.last_mut()) {
            (Some(name), _) => options.push((name.to_owned(), json!(true))),
            (None, Some((_, value))) => *value = json!(word),
            (None, None) => return Err(CompareError::wrong_use(format!("{word} is no option"))),
        }
    }
    let options = ReplayOptions::named(options)?;
    Ok(ReplayOptions {
        comparison: comparison.clone(),
        ..options
    })
}

/// The same, with what is asked of the drive's endurance.
fn question(
    words: &[String],
    comparison: &ComparisonOptions,
    endurance: &EnduranceOptions,
) -> Result<ReplayOptions> {
    Ok(ReplayOptions {
        endurance: endurance.clone(),
        ..options_of(words, comparison)?
    })
}

/// Completes the answer of a live run from its recording: adds the bound, which no live run can know. Where its own
/// drive gives no answer yet, the recording is replayed on a drive that it fills, and that one answers.
///
/// # Errors
/// When a scheme is wrong, or the recording cannot be read.
pub fn complete(
    result: &mut Comparison,
    comparison: &ComparisonOptions,
    endurance: &EnduranceOptions,
    source: &dyn Requests,
    watch: &mut dyn Watch,
) -> Result {
    let comparison = ComparisonOptions {
        lifetimes: None,
        ..comparison.clone()
    };
    if comparison.is_default() {
        add_bound(result, comparison.clone(), source, watch)?;
    }
    if let Some(filled) = filled(result, &comparison, endurance, source, watch)? {
        result.answer_with(filled);
    }
    Ok(())
}

/// The same requests on a drive that they fill, where this one gives no answer yet.
///
/// # Errors
/// When a scheme is wrong, or the recording cannot be read.
pub fn filled(
    result: &Comparison,
    comparison: &ComparisonOptions,
    endurance: &EnduranceOptions,
    source: &dyn Requests,
    watch: &mut dyn Watch,
) -> Result<Option<Comparison>> {
    let specs = schemes(comparison, true, &read_text)?;
    let mut best: Option<Comparison> = None;
    for _ in 0..TRIES {
        let now = best.as_ref().unwrap_or(result);
        let Some(words) = now.fuller_drive() else {
            break;
        };
        let options = question(&words, comparison, endurance)?;
        match replay(&options, &specs, &[source], watch) {
            Ok(mut found) => best = found.pop().or(best),
            Err(fault) => {
                // The run itself is done, and its result is not to be lost with this.
                watch.say(&format!("no replay on a drive that it fills: {fault}"));
                break;
            }
        }
    }
    Ok(best)
}

/// The answer for a recording of a drive in use, of which the size and the age are not those of a comparison: on a drive
/// that it fills.
///
/// # Errors
/// When the recording cannot be read, or fills no drive.
pub fn of_recording(
    endurance: &EnduranceOptions,
    source: &dyn Requests,
    watch: &mut dyn Watch,
) -> Result<Option<Comparison>> {
    let comparison = ComparisonOptions::default();
    let specs = schemes(&comparison, true, &read_text)?;
    let words = ["--fill", "90%"].map(str::to_owned);
    let options = question(&words, &comparison, endurance)?;
    let Some(first) = replay(&options, &specs, &[source], watch)?.pop() else {
        return Ok(None);
    };
    let mut found = filled(&first, &comparison, endurance, source, watch)?.unwrap_or(first);
    let pack = if found.config.get("pack") == Some(&json!(true)) {
        " --pack"
    } else {
        ""
    };
    if let Some(verdict) = &mut found.verdict {
        verdict.about =
            format!("This is the recording replayed on a drive that it fills (--fill 90%{pack}).");
    }
    Ok(Some(found))
}

/// Adds the bound to a result, from its recording.
fn add_bound(
    result: &mut Comparison,
    mut comparison: ComparisonOptions,
    source: &dyn Requests,
    watch: &mut dyn Watch,
) -> Result {
    comparison.schemes = vec![BOUND.to_owned()];
    let specs = SchemeSpec::parse_list(BOUND).map_err(CompareError::usage)?;
    let options = ReplayOptions {
        comparison,
        ..ReplayOptions::default()
    };
    let found = replay(&options, &specs, &[source], watch)?;
    result
        .schemes
        .extend(found.into_iter().flat_map(|found| found.schemes));
    close_gaps(&mut result.schemes, &[BOUND.to_owned()]);
    result.compare_schemes();
    result.verdict = Some(Verdict::of(result));
    Ok(())
}
