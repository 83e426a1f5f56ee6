//! The `[fdp]` section of a profile.

use serde::{Deserialize, Serialize};

use super::{Profile, Streams};
use crate::{error::ProfileError, fdp::FdpOptions};

/// Flexible Data Placement of a device, in the keys of its configuration descriptor. The streams
/// and units it speaks of are those of the other sections; they must agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FdpSection {
    /// Reclaim unit handles.
    pub nruh: u16,
    /// Reclaim groups, a power of two; one when not given.
    #[serde(default = "one")]
    pub nrg: u32,
    /// Bytes in a reclaim unit; must be what the geometry makes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<u64>,
    /// Number of persistently isolated handles, the last ones; all others are initially
    /// isolated.
    #[serde(default)]
    pub persistently_isolated: u16,
    /// Seconds a reclaim unit may stay referenced; 0: no limit.
    #[serde(default)]
    pub erutl: u32,
    /// Namespaces there may be; 128 when not given (our choice).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nnss: Option<u32>,
}

fn one() -> u32 {
    1
}

impl FdpSection {
    /// The options of the section that the device's configuration does not hold.
    pub fn options(&self) -> FdpOptions {
        let default = FdpOptions::default();
        FdpOptions {
            time_limit_seconds: self.erutl,
            namespaces: self.nnss.unwrap_or(default.namespaces),
            ..default
        }
    }

    /// Internal streams that copies of its handles need: one for all initially isolated handles
    /// of a group, and one for each other.
    fn internal_streams(&self) -> u64 {
        let shared = u64::from(self.persistently_isolated < self.nruh);
        u64::from(self.nrg) * (shared + u64::from(self.persistently_isolated))
    }
}

impl Profile {
    /// Checks that the section agrees with itself and with the others.
    pub(super) fn check_fdp(&self) -> Result<(), ProfileError> {
        let Some(fdp) = self.fdp else {
            return Ok(());
        };
        let (nruh, nrg) = (fdp.nruh, fdp.nrg);
        if nruh == 0 || !nrg.is_power_of_two() {
            return Err(ProfileError::HandlesAndGroups { nruh, nrg });
        }
        let persistently_isolated = fdp.persistently_isolated;
        if persistently_isolated > nruh {
            return Err(ProfileError::Isolated {
                persistently_isolated,
                nruh,
            });
        }
        let unit_bytes = self.unit_bytes();
        if let Some(runs) = fdp.runs
            && runs != unit_bytes
        {
            return Err(ProfileError::UnitBytes { runs, unit_bytes });
        }
        let Streams { host, internal, .. } = self.streams;
        let needed = u64::from(nruh) * u64::from(nrg);
        if u64::from(host) != needed {
            return Err(ProfileError::HostStreams { host, needed });
        }
        let needed = fdp.internal_streams();
        if u64::from(internal) != needed {
            return Err(ProfileError::InternalStreams { internal, needed });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shipped() -> impl Iterator<Item = (&'static str, Profile)> {
        Profile::names().map(|name| {
            let text = Profile::text(name).unwrap();
            (name, Profile::parse(name, text).unwrap())
        })
    }

    #[test]
    fn a_shipped_fdp_profile_is_an_fdp_device() {
        let mut devices = 0;
        for (name, profile) in shipped() {
            let config = profile.resolve(name).unwrap();
            let Some(fdp) = profile.fdp else {
                assert_eq!(config.reclaim_groups, 1, "{name}");
                continue;
            };
            let configuration = crate::fdp::FdpConfiguration::of(&config, &fdp.options()).unwrap();
            assert_eq!(Some(configuration.unit_bytes), fdp.runs, "{name}");
            assert_eq!(configuration.handles, fdp.nruh, "{name}");
            assert_eq!(configuration.groups, fdp.nrg, "{name}");
            devices += 1;
        }
        assert_eq!(devices, 4);
    }

    #[test]
    fn what_contradicts_the_other_sections_is_an_error_that_names_the_key() {
        for (good, bad, word) in [
            ("nruh = 8", "nruh = 4", "host"),
            ("nruh = 8", "nruh = 0", "nruh"),
            ("nrg = 4", "nrg = 3", "nrg"),
            ("runs = 67_108_864", "runs = 67_108_865", "runs"),
            (
                "persistently_isolated = 2",
                "persistently_isolated = 9",
                "persistently_isolated",
            ),
            (
                "persistently_isolated = 2",
                "persistently_isolated = 1",
                "internal",
            ),
            ("internal = 12", "internal = 13", "internal"),
        ] {
            let text = Profile::text("fdp-4rg").unwrap();
            let profile = Profile::parse("x", &text.replace(good, bad)).unwrap();
            let error = profile.resolve("x").unwrap_err().to_string();
            assert!(error.contains(word), "{bad}: {error}");
        }
    }

    #[test]
    fn an_unknown_key_is_an_error_that_names_it() {
        let text = Profile::text("fdp-4rg").unwrap();
        let text = text.replace("nrg = 4", "nrg = 4\nruhs = 3");
        let error = Profile::parse("mine.toml", &text).unwrap_err().to_string();
        assert!(error.contains("ruhs"), "{error}");
    }
}
