//! The traits that a scheme's file implements for the catalogue.

use std::{fmt, sync::Arc};

use anabranch_ssd::victims::VictimRule;

use crate::{
    geometry::HostGeometry, halves::Halves, parameter::Parameter, rules::Rules, site::Site,
};

/// A parameter's key and the value to give it.
pub type Setting = (&'static str, String);

/// The host half of a scheme without a drive: its name and its parameters.
pub trait HostScheme: fmt::Debug + Send + Sync {
    /// The scheme's name in the catalogue when copies are mixed with new data.
    fn name(&self) -> &str;

    /// The scheme's parameters, in the order in which people see them.
    fn parameters(&mut self) -> Vec<Parameter<'_>> {
        Vec::new()
    }

    /// Named sets of values for the parameters, the defaults first; empty where there are no others.
    fn presets(&self) -> &'static [Preset] {
        &[]
    }

    /// Builds the scheme for a drive. Where another places the copies, a scheme that is both halves may give its host
    /// half alone.
    ///
    /// # Errors
    /// When a parameter does not fit the drive.
    fn build(&self, site: &Site<'_>) -> Result<Halves, Unfit>;

    /// The victim rule that the scheme's own device half needs; `None` where any rule of the drive will do.
    fn victim_rule(&self) -> Option<VictimRule> {
        None
    }

    /// Whether the scheme must know when pages will die, which no drive can.
    fn needs_future(&self) -> bool {
        false
    }

    /// Whether the scheme is a bound: other schemes are measured by how much of the way from `baseline+gc` to it they go.
    fn is_bound(&self) -> bool {
        false
    }

    /// Whether the scheme goes by the life-time hints that the application asked for, granted or not.
    fn goes_by_hints(&self) -> bool {
        false
    }

    /// The rules by which the scheme places writes, if it goes by nothing else.
    fn rules(&self) -> Option<&Rules> {
        None
    }

    /// Whether the scheme goes by requests and their neighbourhood: where they begin and end, which request they
    /// continue, how many come to a stretch of addresses, or who comes first. On a sampled drive such a scheme is shown
    /// every request as it came, since samples do not have these.
    fn goes_by_requests(&self) -> bool {
        false
    }

    /// The scheme for a sampled drive, of whose pages each stands for `one_of` of the whole drive's: what it counts in
    /// pages is counted in these. `None` if it counts nothing, or is shown every request.
    fn sampled(&self, _one_of: u32) -> Option<Arc<dyn HostScheme>> {
        None
    }

    /// Reason that the scheme acts differently on a sampled drive, as a phrase that follows its name; `None` if it acts the
    /// same.
    fn unsampled(&self) -> Option<&'static str> {
        None
    }

    /// The settings of which a comparison runs every one and keeps the best, if the scheme's parameters leave that
    /// open; otherwise empty.
    fn trials(&self, _geometry: &HostGeometry) -> Vec<Vec<Setting>> {
        Vec::new()
    }
}

/// Values for a scheme's parameters that were published together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// The name that stands behind `preset=`.
    pub name: &'static str,
    /// Publication that the values are from, with conference and year.
    pub source: &'static str,
    /// Keys and values, as a person would write them; other parameters keep their defaults.
    pub settings: &'static [(&'static str, &'static str)],
}

/// A parameter with a value that the drive rules out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit {
    /// The parameter's key.
    pub key: &'static str,
    /// The values that the drive allows.
    pub expected: String,
}
