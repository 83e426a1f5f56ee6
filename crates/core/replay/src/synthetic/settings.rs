//! Settings of a load besides its size, its writes and its seed.

use anabranch_placement::Bytes;

/// The kind of a setting's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// A share: `4%` or `0.04`.
    Share,
    /// A whole number.
    Count,
}

/// A setting of one load.
#[derive(Debug)]
pub struct Setting {
    /// The setting's name.
    pub name: &'static str,
    /// The kind of its value.
    pub measure: Measure,
    /// The value where none is given.
    pub default: f64,
    /// The least and the most that the value may be.
    pub range: (f64, f64),
    /// Its place among the load's settings, from 0.
    pub(super) place: usize,
}

impl Setting {
    /// A setting that is a share from `least` to `most`.
    pub(super) const fn share(
        place: usize,
        name: &'static str,
        default: f64,
        range: (f64, f64),
    ) -> Setting {
        Setting {
            name,
            measure: Measure::Share,
            default,
            range,
            place,
        }
    }

    /// A setting that is a whole number from `least` to `most`.
    pub(super) const fn count(
        place: usize,
        name: &'static str,
        default: f64,
        range: (f64, f64),
    ) -> Setting {
        Setting {
            measure: Measure::Count,
            ..Setting::share(place, name, default, range)
        }
    }

    /// The setting's value among those of its load.
    pub(super) fn value_in(&self, values: &[f64]) -> f64 {
        values.get(self.place).copied().unwrap_or(self.default)
    }

    fn text(&self, value: f64) -> String {
        match self.measure {
            Measure::Share => format!("{}%", value * 100.0),
            Measure::Count => value.to_string(),
        }
    }

    fn value(&self, text: &str) -> Result<f64, String> {
        let (least, most) = self.range;
        let number = match (self.measure, text.strip_suffix('%')) {
            (Measure::Share, Some(percent)) => {
                percent.trim().parse().map(|share: f64| share / 100.0)
            }
            _ => text.parse(),
        };
        let fits = |value: &f64| {
            let is_whole = self.measure == Measure::Share || value.fract() == 0.0;
            (least..=most).contains(value) && is_whole
        };
        number.ok().filter(fits).ok_or_else(|| {
            let (least, most) = (self.text(least), self.text(most));
            format!(
                "{} is from {least} to {most}, and not \"{text}\"",
                self.name
            )
        })
    }
}

/// The default of every setting.
pub(super) fn defaults(settings: &[Setting]) -> Vec<f64> {
    settings.iter().map(|setting| setting.default).collect()
}

/// The settings as they are written, each after a comma.
pub(super) fn examples(settings: &[Setting]) -> String {
    let example =
        |setting: &Setting| format!(", {}={}", setting.name, setting.text(setting.default));
    settings.iter().map(example).collect()
}

/// Puts the value of `name=value` among the values. Answers with the reason where the value is wrong; `None` where no
/// setting has that name.
pub(super) fn read(
    settings: &[Setting],
    text: &str,
    values: &mut [f64],
) -> Option<Result<(), String>> {
    let (name, value) = text.split_once('=')?;
    let setting = settings.iter().find(|setting| setting.name == name)?;
    let put = |value| {
        if let Some(place) = values.get_mut(setting.place) {
            *place = value;
        }
    };
    Some(setting.value(value).map(put))
}

/// Parses a number of bytes.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    match text.parse::<Bytes>() {
        Ok(bytes) => Ok(bytes.0),
        Err(error) => Err(error.to_string()),
    }
}
