//! Errors in a scheme as a person wrote it.

use std::fmt;

use thiserror::Error;

/// The reason why a scheme cannot be made. Each message names what was written and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SchemeError {
    /// There is no scheme of that name.
    #[error("there is no scheme `{name}`{suggestion}: `anabranch schemes` lists them")]
    UnknownScheme {
        /// The name as written.
        name: String,
        /// The nearest name that exists.
        suggestion: DidYouMean,
    },
    /// There is no relocation of that name.
    #[error("`{spec}`: there is no relocation `{name}`{suggestion}: there are {known}")]
    UnknownRelocation {
        /// The whole scheme as written.
        spec: String,
        /// Text after the `+`.
        name: String,
        /// The nearest name that exists.
        suggestion: DidYouMean,
        /// All names of relocations.
        known: String,
    },
    /// The scheme has no parameter of that name.
    #[error("scheme `{scheme}` has no parameter `{key}`{suggestion}: {known}")]
    UnknownParameter {
        /// The scheme's name.
        scheme: String,
        /// Text before the `=`.
        key: String,
        /// The nearest key that exists.
        suggestion: DidYouMean,
        /// The parameters that the scheme has.
        known: String,
    },
    /// A parameter's value is not what it takes.
    #[error("scheme `{scheme}`: `{key}={value}` will not do, {key} must be {expected}")]
    BadValue {
        /// The scheme's name.
        scheme: String,
        /// The parameter.
        key: String,
        /// Text after the `=`.
        value: String,
        /// The values that it takes.
        expected: String,
    },
    /// A parameter is written without a value.
    #[error("scheme `{scheme}`: `{text}` is no parameter, write key=value")]
    NotAPair {
        /// The scheme's name.
        scheme: String,
        /// The text as written.
        text: String,
    },
    /// A parameter is given twice.
    #[error("scheme `{scheme}`: `{key}` is given twice, leave one out")]
    GivenTwice {
        /// The scheme's name.
        scheme: String,
        /// The parameter.
        key: String,
    },
    /// The scheme is a bound that must know the future, and the trace was not read ahead.
    #[error(
        "scheme `{scheme}` must know when data will die, which only a recorded trace tells: first \
         record one (`anabranch run -t trace.parquet -- …`, or `anabranch record`), then \
         `anabranch replay trace.parquet --scheme baseline,{scheme}`"
    )]
    NeedsFuture {
        /// The scheme's name.
        scheme: String,
    },
    /// The scheme places copies itself, and so cannot be given a part of the streams.
    #[error(
        "scheme `{scheme}` places copies itself: its streams cannot be shared out, leave `tenants` out"
    )]
    NotShared {
        /// The scheme's name.
        scheme: String,
    },
    /// The host collects where that is asked for in another way, or not at all.
    #[error(
        "scheme `{scheme}`: `+host` is for replays. `steer --collect host` has the host collect on a drive in use; a served \
         drive collects by itself: leave out `+host`"
    )]
    OnlyReplayed {
        /// The scheme's name.
        scheme: String,
    },
    /// The drive is not possible for any scheme.
    #[error("a drive has at least one host stream and pages of at least one byte")]
    NoDrive,
}

/// The name that was probably meant, printed as ` (did you mean X?)`; prints nothing if there is
/// none.
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
