//! Device profiles by their names.

use std::path::Path;

use anabranch_ssd::profile::Profile;

use crate::{
    error::{CompareError, Result},
    small_file::settings,
};

/// The profile that is taken where none is named and the trace does not hold its drive.
pub const DEFAULT_PROFILE: &str = "demo";

/// A shipped profile by its name, or a TOML file by its path.
pub fn load(name: &str) -> Result<Profile> {
    if let Some(text) = Profile::text(name) {
        return Ok(Profile::parse(name, text)?);
    }
    if !name.ends_with(".toml") && !Path::new(name).exists() {
        return Err(unknown(name));
    }
    let text = settings(Path::new(name))
        .map_err(|error| CompareError::wrong_use(format!("device profile {name}: {error}")))?;
    Ok(Profile::parse(name, &text)?)
}

fn unknown(name: &str) -> CompareError {
    let near = Profile::names()
        .map(|known| (strsim::jaro_winkler(known, name), known))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map_or_else(String::new, |(_, known)| {
            format!("did you mean \"{known}\"? ")
        });
    CompareError::wrong_use(format!(
        "no device profile is called \"{name}\" ({near}`anabranch devices` lists them; a file of \
         your own ends in .toml)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_profile_is_told_its_neighbour() {
        let fault = load("pcstream-emulater").unwrap_err();
        assert!(fault.to_string().contains("pcstream-emulator"));
    }
}
