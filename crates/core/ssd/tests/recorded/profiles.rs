//! Profiles: what is shipped, and each with one value changed.

use std::collections::BTreeSet;

use anabranch_ssd::{
    ConfigError, ProfileError,
    profile::Profile,
    relocate::RelocationKind,
    time::{Issue, TimedDevice},
};

use crate::{Sum, hold};

/// Values that a line of a profile is given in turn.
const VALUES: [&str; 9] = [
    "0",
    "1",
    "3",
    "64",
    "4096",
    "4294967295",
    "0.5",
    "-0.25",
    "1.5",
];

/// All that follows from a profile.
fn record_profile(name: &str, text: &str, sum: &mut Sum) -> Result<(), String> {
    let fail = |error: ConfigError| match error {
        // Its words are the library's that reads it.
        ConfigError::Profile {
            problem: ProfileError::Toml(_),
            ..
        } => "not a profile".to_owned(),
        error => error.to_string(),
    };
    let profile = Profile::parse(name, text).map_err(fail)?;
    sum.take(&profile);
    for one_of in [2, 3, 8] {
        sum.take(profile.resolve_sampled(name, one_of).map_err(fail));
    }
    let config = profile.resolve(name).map_err(fail)?;
    sum.take((&config, profile.layout(), profile.stream_costs(&config)));
    sum.take((config.logical_bytes(), config.physical_bytes()));
    sum.take((config.least_physical_units(), config.logical_units()));
    sum.take(profile.fdp.map(|fdp| fdp.options()));
    for kind in RelocationKind::ALL {
        sum.take((kind.name(), kind.internal_streams(&config)));
    }
    // Not so many that building them takes long.
    if let Some(timing) = profile.timing.filter(|_| config.logical_pages < 1 << 18) {
        let issue = Issue::Closed { queue_depth: 1 };
        let device = TimedDevice::new(config, timing, profile.layout(), issue, &());
        device.map_err(|error| error.to_string())?;
    }
    Ok(())
}

#[test]
fn profiles_mean_what_they_meant_and_are_refused_in_the_same_words() {
    let (mut lines, mut refusals) = (Vec::new(), BTreeSet::new());
    for name in Profile::names() {
        let text = Profile::text(name).unwrap();
        let mut sum = Sum::default();
        record_profile(name, text, &mut sum).unwrap();
        lines.push(format!("{name}: {}", sum.text()));
        for (at, line) in text.lines().enumerate() {
            let Some((key, _)) = line.split_once(" = ").filter(|(key, _)| !key.contains('#'))
            else {
                continue;
            };
            let mut sum = Sum::default();
            for value in VALUES {
                let changed = format!("{key} = {value}");
                let changed: Vec<&str> = (0..)
                    .zip(text.lines())
                    .map(|(number, line)| if number == at { &changed } else { line })
                    .collect();
                let result = record_profile(name, &changed.join("\n"), &mut sum);
                sum.take(&result);
                refusals.extend(result.err());
            }
            lines.push(format!("{name} {key}: {}", sum.text()));
        }
    }
    lines.extend(refusals);
    hold("profiles", &lines);
}
