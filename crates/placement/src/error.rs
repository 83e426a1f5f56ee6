//! What can be wrong with a scheme as a person wrote it.

use std::fmt;

use thiserror::Error;

/// Why there is no such scheme. Each message names what was written and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SchemeError {
    /// No scheme of that name.
    #[error("there is no scheme `{name}`{suggestion}: `anabranch schemes` lists them")]
    UnknownScheme {
        /// What was written.
        name: String,
        /// The nearest name there is.
        suggestion: DidYouMean,
    },
    /// No relocation of that name.
    #[error("`{spec}`: there is no relocation `{name}`{suggestion}: there are {known}")]
    UnknownRelocation {
        /// The whole scheme as written.
        spec: String,
        /// What was written after the `+`.
        name: String,
        /// The nearest name there is.
        suggestion: DidYouMean,
        /// All names there are.
        known: String,
    },
    /// The scheme has no parameter of that name.
    #[error("scheme `{scheme}` has no parameter `{key}`{suggestion}: {known}")]
    UnknownParameter {
        /// The scheme's name.
        scheme: String,
        /// What was written before the `=`.
        key: String,
        /// The nearest key there is.
        suggestion: DidYouMean,
        /// Which parameters it has.
        known: String,
    },
    /// A parameter's value is not what it takes.
    #[error("scheme `{scheme}`: `{key}={value}` will not do, {key} must be {expected}")]
    BadValue {
        /// The scheme's name.
        scheme: String,
        /// The parameter.
        key: String,
        /// What was written after the `=`.
        value: String,
        /// What it should have been.
        expected: String,
    },
    /// A parameter without a value.
    #[error("scheme `{scheme}`: `{text}` is no parameter, write key=value")]
    NotAPair {
        /// The scheme's name.
        scheme: String,
        /// What was written.
        text: String,
    },
    /// A parameter given twice.
    #[error("scheme `{scheme}`: `{key}` is given twice, leave one out")]
    GivenTwice {
        /// The scheme's name.
        scheme: String,
        /// The parameter.
        key: String,
    },
    /// The scheme is a bound, and nobody has read ahead.
    #[error(
        "scheme `{scheme}` must know when data will die, which only a recorded trace tells: first \
         record one (`anabranch run -t trace.parquet -- …`, or `anabranch record`), then \
         `anabranch replay trace.parquet --scheme baseline,{scheme}`"
    )]
    NeedsFuture {
        /// The scheme's name.
        scheme: String,
    },
    /// A scheme that places copies itself cannot be given some of the streams only.
    #[error(
        "scheme `{scheme}` places copies itself: its streams cannot be shared out, leave `tenants` out"
    )]
    NotShared {
        /// The scheme's name.
        scheme: String,
    },
    /// The drive can have no scheme at all.
    #[error("a drive has at least one host stream and pages of at least one byte")]
    NoDrive,
}

/// The name a person may have meant: prints as nothing, or as ` (did you mean X?)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DidYouMean(Option<&'static str>);

impl DidYouMean {
    /// The nearest of `names` to `written`, if one is near.
    pub(crate) fn among(names: impl Iterator<Item = &'static str>, written: &str) -> DidYouMean {
        // As clap does for its own names: Jaro similarity above 0.7.
        let near = names
            .map(|name| (strsim::jaro(name, written), name))
            .filter(|(similarity, _)| *similarity > 0.7)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        DidYouMean(near.map(|(_, name)| name))
    }
}

impl fmt::Display for DidYouMean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(name) => write!(f, " (did you mean `{name}`?)"),
            None => Ok(()),
        }
    }
}
