//! The options of an export.

use std::{fmt, path::PathBuf, str::FromStr};

use anabranch_compare::{CompareError, DriveOptions, Result, parsed_list};
use anabranch_trace::foreign::Form;
use serde::Deserialize;

pub use crate::export::ExportKind;

/// A target of an export.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ExportTarget {
    /// Advice that is fed back to the drive.
    Advice(&'static ExportKind),
    /// The trace itself, in a foreign form.
    Trace(Form),
}

impl ExportTarget {
    /// Every target: the kinds of advice, then the forms of traces.
    pub fn all() -> impl Iterator<Item = ExportTarget> {
        let advice = ExportKind::ALL.iter().map(ExportTarget::Advice);
        advice.chain(Form::ALL.iter().copied().map(ExportTarget::Trace))
    }

    /// The target's name.
    pub fn name(&self) -> &'static str {
        match self {
            ExportTarget::Advice(kind) => kind.name,
            ExportTarget::Trace(form) => form.name(),
        }
    }

    /// A description in a few words.
    pub fn about(&self) -> &'static str {
        match self {
            ExportTarget::Advice(kind) => kind.about,
            ExportTarget::Trace(form) => form.about(),
        }
    }
}

impl FromStr for ExportTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<ExportTarget, String> {
        ExportTarget::all()
            .find(|target| target.name() == text)
            .ok_or_else(|| {
                let names: Vec<&str> = ExportTarget::all().map(|target| target.name()).collect();
                format!(
                    "nothing to export is called so (there are: {})",
                    names.join(", ")
                )
            })
    }
}

impl fmt::Display for ExportTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Source, drive and targets of an export.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default, deny_unknown_fields)]
pub struct ExportOptions {
    /// Targets to write
    #[serde(rename = "to", deserialize_with = "parsed_list")]
    #[cfg_attr(
        feature = "clap",
        arg(long = "to", value_name = "TARGET", value_delimiter = ',', required = true, value_parser = parser())
    )]
    pub targets: Vec<ExportTarget>,
    /// The scheme whose placement is exported [default: pcstream; of a result, its best]
    #[cfg_attr(feature = "clap", arg(long, value_name = "SCHEME"))]
    pub scheme: Option<String>,
    /// Give the scheme's host half this device half, as `replay --relocation` does: fdp for a drive that `steer` steers
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    pub relocation: Option<String>,
    /// The trace of a result, where it lies elsewhere now
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub trace: Option<PathBuf>,
    /// Lifetimes of contexts that earlier runs learned (`replay --lifetimes`)
    #[serde(rename = "profile", alias = "lifetimes")]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE", alias = "profile"))]
    pub lifetimes: Option<PathBuf>,
    /// Renumber the addresses and size the drive so that the pages ever written fill this share of it, as
    /// `replay --fill` does; what is written is at the trace's own addresses
    #[cfg_attr(feature = "clap", arg(long, value_name = "SHARE"))]
    pub fill: Option<String>,
    /// The drive.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub drive: DriveOptions,
}

impl ExportOptions {
    /// The form of a trace that is asked for, if one is; no other target may be asked for with it.
    ///
    /// # Errors
    /// When other targets are asked for as well, or none at all.
    pub fn form(&self) -> Result<Option<Form>> {
        if self.targets.is_empty() {
            return Err(CompareError::wrong_use(
                "nothing to export is named: say --to, as in --to rules,fdp",
            ));
        }
        let form = self.targets.iter().find_map(|target| match target {
            ExportTarget::Trace(form) => Some(*form),
            ExportTarget::Advice(_) => None,
        });
        let Some(form) = form else {
            return Ok(None);
        };
        let name = form.name();
        if self.targets.len() > 1 {
            return Err(CompareError::wrong_use(format!(
                "--to {name} writes one file, which -o names: export it by itself"
            )));
        }
        let useless = [
            ("--scheme", self.scheme.is_some()),
            ("--relocation", self.relocation.is_some()),
            ("--trace", self.trace.is_some()),
            ("--lifetimes", self.lifetimes.is_some()),
            ("--fill", self.fill.is_some()),
        ];
        match useless.into_iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(CompareError::wrong_use(format!(
                "--to {name} writes the trace as it is: {option} has no use there"
            ))),
            None => Ok(Some(form)),
        }
    }

    /// Whether the output is one file, and not a directory of advice.
    pub fn is_one_file(&self) -> bool {
        let is_trace = |target: &ExportTarget| matches!(target, ExportTarget::Trace(_));
        self.targets.iter().any(is_trace)
    }
}

#[cfg(feature = "clap")]
fn parser() -> impl clap::builder::TypedValueParser<Value = ExportTarget> {
    use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
    let value = |target: ExportTarget| PossibleValue::new(target.name()).help(target.about());
    PossibleValuesParser::new(ExportTarget::all().map(value))
        .try_map(|name| name.parse::<ExportTarget>())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_target_has_a_name_of_its_own_and_is_read_by_it() {
        let names: BTreeSet<&str> = ExportTarget::all().map(|target| target.name()).collect();
        assert_eq!(names.len(), ExportTarget::all().count());
        for target in ExportTarget::all() {
            assert_eq!(target.name().parse::<ExportTarget>(), Ok(target));
        }
        assert!(
            "rulez"
                .parse::<ExportTarget>()
                .unwrap_err()
                .contains("rules, hints")
        );
    }
}
