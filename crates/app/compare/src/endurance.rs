//! The endurance of a drive, from its profile or from options. Nothing is guessed: without a limit there is none.

use anabranch_replay::{Comparison, Endurance, Limit, Verdict};

use crate::{
    compared_drive::ComparedDrive,
    error::{CompareError, Result},
    options::EnduranceOptions,
    source::SYNTHETIC,
    texts::bytes,
};

const DAY_SECONDS: f64 = 86_400.0;

/// Refuses options on endurance that are wrong by themselves, or that the drive cannot answer; `None` for a drive of
/// which nothing is known.
///
/// # Errors
/// Wrong use, with the option to give.
pub fn check_endurance(options: &EnduranceOptions, drive: Option<&ComparedDrive>) -> Result {
    for (option, value) in [("--years", options.years), ("--price", options.price)] {
        if let Some(value) = value.filter(|value| !(*value > 0.0 && value.is_finite())) {
            return Err(CompareError::wrong_use(format!(
                "{option} {value}: give a number above 0"
            )));
        }
    }
    for (option, text) in [
        ("--tbw", &options.tbw),
        ("--writes-per-day", &options.writes_per_day),
    ] {
        if let Some(text) = text
            && bytes(text)? == 0
        {
            return Err(CompareError::wrong_use(format!(
                "{option} {text}: give bytes above 0, as in 2TB"
            )));
        }
    }
    let asked = [
        ("--years", options.years.is_some()),
        ("--writes-per-day", options.writes_per_day.is_some()),
        ("--price", options.price.is_some()),
    ];
    let asked = asked.into_iter().find(|(_, is_given)| *is_given);
    match asked {
        Some((option, _)) if limit(options, drive)?.is_none() => {
            let why = match drive {
                Some(drive) => format!(
                    "device profile {} tells no endurance; give the data sheet's --tbw BYTES, or --rated-erases N",
                    drive.profile
                ),
                None => "the drive's endurance is not known; give the data sheet's --tbw BYTES"
                    .to_owned(),
            };
            Err(CompareError::wrong_use(format!("{option}: {why}")))
        }
        _ => Ok(()),
    }
}

/// Adds the endurance to a result, where it is known.
///
/// # Errors
/// When the writes a day are needed, and neither given nor to be measured.
pub fn add_endurance(
    found: &mut Comparison,
    options: &EnduranceOptions,
    drive: &ComparedDrive,
) -> Result {
    let seconds = found.source.lasted_s();
    // The clock of a load made by rule is no program's.
    let trace = found.config.get("trace").and_then(|name| name.as_str());
    let is_made = trace.is_some_and(|name| name.starts_with(SYNTHETIC));
    let measured = (!is_made).then_some((found.source.write_bytes, seconds));
    // A data sheet's limit is that of another drive than one made for the trace.
    let whole = drive.scaled.map(|whole| whole.logical_bytes);
    let own = options.tbw.is_none();
    let logical_bytes = whole.or(own.then(|| drive.config.logical_bytes()));
    let Some(mut endurance) = endurance(options, Some(drive), logical_bytes, measured)? else {
        return Ok(());
    };
    endurance.page_rounding = found.source.page_rounding(found.sampled.is_some());
    found.endurance = Some(endurance);
    found.verdict = Some(Verdict::of(found));
    Ok(())
}

/// The endurance of a drive, where it is known; `drive` is its model, if there is one. `logical_bytes` are those of the
/// drive that has the limit; `measured` are the bytes that the host asked to write, and in how many seconds. Its page
/// rounding is 1: the caller may know another.
///
/// # Errors
/// When the writes a day are needed, and neither given nor measured.
pub fn endurance(
    options: &EnduranceOptions,
    drive: Option<&ComparedDrive>,
    logical_bytes: Option<u64>,
    measured: Option<(u64, f64)>,
) -> Result<Option<Endurance>> {
    let Some(limit) = limit(options, drive)? else {
        return Ok(None);
    };
    let given = options.writes_per_day.as_deref().map(bytes).transpose()?;
    let measured = measured.filter(|(_, seconds)| given.is_none() && *seconds > 0.0);
    let rate = measured.map(|(bytes, seconds)| bytes as f64 / seconds * DAY_SECONDS);
    let writes_per_day = given.map(|bytes| bytes as f64).or(rate);
    if writes_per_day.is_none() && options.price.is_some() {
        return Err(CompareError::wrong_use(
            "--price: this trace does not tell how much is written a day; give --writes-per-day BYTES",
        ));
    }
    Ok(Some(Endurance {
        limit,
        logical_bytes,
        writes_per_day,
        measured_seconds: measured.map(|(_, seconds)| seconds),
        page_rounding: 1.0,
        years: options.years,
        price: options.price,
    }))
}

/// The limit of a drive: the TBW given, else its rated erases.
fn limit(options: &EnduranceOptions, drive: Option<&ComparedDrive>) -> Result<Option<Limit>> {
    if let Some(text) = &options.tbw {
        let bytes = bytes(text)? as f64;
        return Ok(Some(Limit::Host { bytes }));
    }
    let Some(drive) = drive else {
        return Ok(None);
    };
    let config = &drive.config;
    let rated_erases = config.wear.rated_erases;
    let times = drive.scaled.map_or(1.0, |whole| {
        whole.logical_bytes as f64 / config.logical_bytes().max(1) as f64
    });
    let bytes = f64::from(rated_erases) * config.physical_bytes() as f64 * times;
    Ok((rated_erases > 0).then_some(Limit::Flash {
        rated_erases,
        bytes,
    }))
}
