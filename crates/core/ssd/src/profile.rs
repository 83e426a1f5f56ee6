//! Device profiles: TOML in the field's words, resolved to a [`Config`].

mod fdp;

use serde::{Deserialize, Serialize};

pub use fdp::FdpSection;

use crate::{
    config::Config,
    error::{ConfigError, ProfileError},
    time::{Layout, Timing},
    victims::VictimRule,
    wear::{Faults, Wear},
};

/// A description of a device in TOML. Unknown keys are errors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Description of the device, one line.
    pub description: String,
    /// Sources of the figures, and which of them are our choice.
    pub source: String,
    /// Geometry: units, pages, spare.
    pub geometry: Geometry,
    /// Streams of the host and of the firmware, and who may use them.
    pub streams: Streams,
    /// Its Flexible Data Placement, if it has that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fdp: Option<FdpSection>,
    /// When it collects garbage.
    #[serde(default)]
    pub gc: Collection,
    /// Endurance and wear levelling.
    #[serde(default)]
    pub wear: Wear,
    /// Faults to inject.
    #[serde(default)]
    pub faults: Faults,
    /// Flash timing. Without it the device counts and takes no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
}

/// The flash a device is built of. Exactly one of `blocks_per_die` and `logical_bytes` is given; the other follows from
/// it and the over-provisioning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// Channels of the device.
    pub channels: u32,
    /// Dies on each channel.
    pub dies_per_channel: u32,
    /// Erase blocks in each die.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks_per_die: Option<u32>,
    /// Pages in each erase block.
    pub pages_per_block: u32,
    /// Bytes in each page, the mapping unit: 4 KiB to 64 KiB.
    pub page_bytes: u32,
    /// Dies a reclaim unit (superblock) is striped over; all of them when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dies_per_unit: Option<u32>,
    /// Bytes the host sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logical_bytes: Option<u64>,
    /// Spare flash as a share of the logical bytes: physical = logical x (1 + this).
    pub over_provisioning: f64,
}

/// The streams of a device.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Streams {
    /// Streams the host may name, the default one included.
    pub host: u16,
    /// Streams only garbage collection writes.
    pub internal: u16,
    /// Above this share of the drive that holds data, all host writes go to the default stream (the multi-stream eMMC).
    /// The default, 1, never does that.
    #[serde(default = "never")]
    pub off_above_fill: f64,
}

fn never() -> f64 {
    1.0
}

/// When a device collects garbage, as shares of its units that are free. Without the section it collects as late as it
/// can, which copies least.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collection {
    /// Collection starts when no larger share is free.
    #[serde(default)]
    pub start_free: f64,
    /// Collection goes on until a larger share is free.
    #[serde(default)]
    pub stop_free: f64,
    /// Rule that chooses the next unit to collect.
    #[serde(default)]
    pub victim: VictimRule,
}

/// The profiles that come with the project: name and text.
const SHIPPED: &[(&str, &str)] = &[
    ("demo", include_str!("../profiles/demo.toml")),
    ("golden", include_str!("../profiles/golden.toml")),
    (
        "hotstorage14",
        include_str!("../profiles/hotstorage14.toml"),
    ),
    (
        "pcstream-emulator",
        include_str!("../profiles/pcstream-emulator.toml"),
    ),
    ("pm963", include_str!("../profiles/pm963.toml")),
    ("emmc-64g", include_str!("../profiles/emmc-64g.toml")),
    ("fdp-8ruh", include_str!("../profiles/fdp-8ruh.toml")),
    ("fdp-8ruh-pi", include_str!("../profiles/fdp-8ruh-pi.toml")),
    ("fdp-4rg", include_str!("../profiles/fdp-4rg.toml")),
    ("fdp-pm9d3", include_str!("../profiles/fdp-pm9d3.toml")),
];

impl Profile {
    /// Names of the shipped profiles.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(name, _)| *name)
    }

    /// The text of a shipped profile.
    pub fn text(name: &str) -> Option<&'static str> {
        SHIPPED
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, text)| *text)
    }

    /// A shipped profile.
    ///
    /// ```
    /// use anabranch_ssd::profile::Profile;
    ///
    /// let drive = Profile::shipped("fdp-8ruh")?.resolve("fdp-8ruh")?;
    /// assert_eq!(drive.host_streams, 8);
    /// # Ok::<(), anabranch_ssd::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// When no shipped profile has that name.
    pub fn shipped(name: &str) -> Result<Profile, ConfigError> {
        let unknown = || {
            let names: Vec<&str> = Profile::names().collect();
            ConfigError::Profile {
                name: name.to_owned(),
                problem: ProfileError::Unknown {
                    known: names.join(", "),
                },
            }
        };
        Profile::parse(name, Profile::text(name).ok_or_else(unknown)?)
    }

    /// Parses a profile; `name` is for messages.
    ///
    /// # Errors
    /// When the text is not TOML of a profile's form.
    pub fn parse(name: &str, text: &str) -> Result<Profile, ConfigError> {
        toml::from_str(text).map_err(|error| ConfigError::Profile {
            name: name.to_owned(),
            problem: ProfileError::Toml(error.to_string().trim_end().to_owned()),
        })
    }

    /// Bytes in a reclaim unit.
    pub fn unit_bytes(&self) -> u64 {
        self.pages_per_unit() * u64::from(self.geometry.page_bytes)
    }

    /// Bytes the host sees.
    pub fn logical_bytes(&self) -> u64 {
        let flash = |blocks| self.units_of(blocks) as f64 * self.unit_bytes() as f64;
        match (self.geometry.logical_bytes, self.geometry.blocks_per_die) {
            (Some(bytes), _) => bytes,
            (None, Some(blocks)) => (flash(blocks) / self.provision()).round() as u64,
            (None, None) => 0,
        }
    }

    /// Physical bytes over logical bytes.
    fn provision(&self) -> f64 {
        1.0 + self.geometry.over_provisioning
    }

    /// Reclaim units of a device with this many blocks in each die.
    fn units_of(&self, blocks_per_die: u32) -> u64 {
        let pages =
            u64::from(blocks_per_die) * self.dies() * u64::from(self.geometry.pages_per_block);
        pages / self.pages_per_unit().max(1)
    }

    fn dies(&self) -> u64 {
        u64::from(self.geometry.channels) * u64::from(self.geometry.dies_per_channel)
    }

    /// Pages the host can address.
    pub fn logical_pages(&self) -> u64 {
        self.logical_bytes() / u64::from(self.geometry.page_bytes.max(1))
    }

    /// Pages in a reclaim unit.
    pub fn pages_per_unit(&self) -> u64 {
        let dies = self.geometry.dies_per_unit.map_or(self.dies(), u64::from);
        u64::from(self.geometry.pages_per_block) * dies
    }

    /// Channels and dies, and the dies a unit is striped over.
    pub fn layout(&self) -> Layout {
        let geometry = &self.geometry;
        let dies = u32::try_from(self.dies()).unwrap_or(u32::MAX);
        Layout {
            channels: geometry.channels,
            dies_per_channel: geometry.dies_per_channel,
            dies_per_unit: geometry.dies_per_unit.unwrap_or(dies),
        }
    }

    /// The configuration of the device, in the units the translation layer counts in.
    ///
    /// # Errors
    /// When the profile contradicts itself, or its numbers do not fit.
    pub fn resolve(&self, name: &str) -> Result<Config, ConfigError> {
        self.resolve_sampled(name, 1)
    }

    /// The device with one page for every `one_of` of the profile's, each as many times as large: all figures in bytes
    /// stay as they are. `one_of` must divide the pages of a unit. A device that is too large for 32-bit addresses can
    /// be sampled in this way.
    ///
    /// # Errors
    /// When the profile contradicts itself, or its numbers do not fit even so.
    pub fn resolve_sampled(&self, name: &str, one_of: u32) -> Result<Config, ConfigError> {
        let one_of = u64::from(one_of.max(1));
        let fail = |problem| ConfigError::Profile {
            name: name.to_owned(),
            problem,
        };
        let geometry = &self.geometry;
        self.check_shares().map_err(fail)?;
        self.check_fdp().map_err(fail)?;
        let unit_bytes = self.unit_bytes();
        if unit_bytes == 0 {
            return Err(fail(ProfileError::EmptyUnit));
        }
        if geometry.blocks_per_die.is_some() == geometry.logical_bytes.is_some() {
            return Err(fail(ProfileError::Size));
        }
        let logical_bytes = self.logical_bytes();
        let physical_units = match geometry.blocks_per_die {
            Some(blocks) => self.units_of(blocks),
            // Never less spare than asked for.
            None => (logical_bytes as f64 * self.provision() / unit_bytes as f64).ceil() as u64,
        };
        let number = |what, value: u64| {
            u32::try_from(value).map_err(|_| fail(ProfileError::TooMany { what, value }))
        };
        let pages = |pages: u64| u32::try_from(pages).map_err(|_| ConfigError::TooManyPages(pages));
        let share = |share: f64| ((physical_units as f64 * share) as u32).max(1);
        let config = Config {
            logical_pages: pages(self.logical_pages().div_ceil(one_of))?,
            page_bytes: number("bytes in a page", u64::from(geometry.page_bytes) * one_of)?,
            pages_per_unit: number("pages in a unit", self.pages_per_unit() / one_of)?,
            physical_units: number("units", physical_units)?,
            host_streams: self.streams.host,
            internal_streams: self.streams.internal,
            victim_rule: self.gc.victim,
            chips: number("dies", self.dies())?,
            seed: 0,
            gc_start_free_units: share(self.gc.start_free),
            gc_stop_free_units: share(self.gc.stop_free.max(self.gc.start_free)),
            reclaim_groups: self.fdp.map_or(1, |fdp| fdp.nrg),
            persistently_isolated: self.fdp.map_or(0, |fdp| fdp.persistently_isolated),
            streams_off_permille: (self.streams.off_above_fill * 1000.0).round() as u16,
            wear: self.wear,
            faults: self.faults,
        };
        config.validate()?;
        Ok(config)
    }

    fn check_shares(&self) -> Result<(), ProfileError> {
        let geometry = &self.geometry;
        for (name, value, most) in [
            ("over_provisioning", geometry.over_provisioning, 10.0),
            ("start_free", self.gc.start_free, 0.9),
            ("stop_free", self.gc.stop_free, 0.9),
            ("off_above_fill", self.streams.off_above_fill, 1.0),
        ] {
            if !(0.0..=most).contains(&value) {
                return Err(ProfileError::Share { name, value, most });
            }
        }
        if !(512..=65536).contains(&geometry.page_bytes) || !geometry.page_bytes.is_power_of_two() {
            return Err(ProfileError::PageBytes(geometry.page_bytes));
        }
        let uneven = |dies: u32| dies == 0 || !self.dies().is_multiple_of(u64::from(dies));
        if geometry.dies_per_unit.is_some_and(uneven) {
            return Err(ProfileError::Stripes);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_profile_resolves_to_a_device_that_can_be() {
        for name in Profile::names() {
            let profile = Profile::shipped(name).unwrap();
            let config = profile.resolve(name).unwrap();
            assert!(config.physical_bytes() > config.logical_bytes(), "{name}");
        }
    }

    #[test]
    fn the_emulators_geometry_is_the_papers() {
        let profile = Profile::shipped("pcstream-emulator").unwrap();
        let config = profile.resolve("x").unwrap();
        assert_eq!(config.physical_units, 8192);
        assert_eq!(config.pages_per_unit, 384);
        assert_eq!(config.physical_bytes(), 12 << 30);
    }

    #[test]
    fn the_golden_drive_has_the_logical_pages_of_the_golden_workloads() {
        let profile = Profile::shipped("golden").unwrap();
        assert_eq!(profile.resolve("x").unwrap().logical_pages, 1 << 20);
    }

    #[test]
    fn an_unknown_key_is_an_error_that_names_it() {
        let text = Profile::text("demo")
            .unwrap()
            .replace("internal = 8", "internal = 8\ncolour = 3");
        let error = Profile::parse("mine.toml", &text).unwrap_err().to_string();
        assert!(
            error.contains("mine.toml") && error.contains("colour"),
            "{error}"
        );
    }

    #[test]
    fn nonsense_values_are_errors_not_devices() {
        for (good, bad) in [
            ("over_provisioning = 0.07", "over_provisioning = -1.0"),
            ("over_provisioning = 0.07", "over_provisioning = nan"),
            ("over_provisioning = 0.07", "over_provisioning = 0.0"),
            ("page_bytes = 4096", "page_bytes = 1000"),
            ("channels = 4", "channels = 0"),
            ("host = 8", "host = 0"),
            (
                "logical_bytes = 1_310_720_000",
                "logical_bytes = 18_000_000_000_000_000",
            ),
            ("logical_bytes = 1_310_720_000", "logical_bytes = 0"),
            (
                "dies_per_channel = 4",
                "dies_per_channel = 4\nblocks_per_die = 4",
            ),
        ] {
            let text = Profile::text("demo").unwrap().replace(good, bad);
            let profile = Profile::parse("x", &text).unwrap();
            assert!(profile.resolve("x").is_err(), "{bad}");
        }
    }
}
