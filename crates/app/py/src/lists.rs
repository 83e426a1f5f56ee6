//! Lists of what can be chosen by name.

use anabranch_placement::SCHEMES;
use anabranch_ssd::profile::Profile;
use pyo3::prelude::*;

/// Every scheme: its name, what it does, and its source.
#[pyfunction]
pub fn schemes() -> Vec<(&'static str, &'static str, &'static str)> {
    let row =
        |scheme: &'static anabranch_placement::Scheme| (scheme.name, scheme.summary, scheme.source);
    SCHEMES.iter().map(row).collect()
}

/// Every shipped device profile: its name and its TOML.
#[pyfunction]
pub fn devices() -> Vec<(&'static str, &'static str)> {
    let row = |name: &'static str| (name, Profile::text(name).unwrap_or_default());
    Profile::names().map(row).collect()
}
