//! Endurance: the years that a drive stands, and the writes a day.

use serde::{Deserialize, Serialize};

/// Days of a year.
const DAYS: f64 = 365.25;

/// The known endurance of a drive, and its use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Endurance {
    /// The limit that is known.
    pub limit: Limit,
    /// Bytes that the host sees of the drive that has this limit, the whole one where it is scaled; null where the limit
    /// is a data sheet's, and the drive that was compared is no such drive.
    pub logical_bytes: Option<u64>,
    /// Bytes that the host writes a day; null where they are not known.
    pub writes_per_day: Option<f64>,
    /// Seconds over which they were measured; null where they were given.
    pub measured_seconds: Option<f64>,
    /// Bytes of whole pages that the drive writes for each byte that the host asks for, before any WAF: above 1 where
    /// writes are smaller than pages.
    pub page_rounding: f64,
    /// Years that the drive is to stand; null where none are asked for.
    pub years: Option<f64>,
    /// Price of the drive, in any currency; null where it is not given.
    pub price: Option<f64>,
}

/// The limit of a drive's endurance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// The flash may be programmed with so many bytes: its rated erases.
    Flash {
        /// Erases a unit is rated for.
        rated_erases: u32,
        /// Bytes of flash times these.
        bytes: f64,
    },
    /// The host may write so many bytes by the data sheet. An ordinary drive is taken to stand just that.
    Host {
        /// Bytes that the host may write by the data sheet.
        bytes: f64,
    },
}

/// The endurance of a drive with one scheme.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stands {
    /// Name of the scheme, with its parameters.
    pub scheme: String,
    /// Bytes that the host can write.
    pub host_bytes: f64,
    /// Years that it stands; null where the writes a day are not known.
    pub years: Option<f64>,
    /// Writes of the whole drive a day that it stands for the years asked for; null where none are, or its capacity is
    /// not known.
    pub drive_writes_per_day: Option<f64>,
    /// Price of a year; null where price or writes a day are not known.
    pub price_per_year: Option<f64>,
}

impl Endurance {
    /// The endurance with a scheme of this WAF, where an ordinary drive's is `ordinary`.
    pub fn with(&self, scheme: &str, waf: f64, ordinary: f64) -> Stands {
        let host_bytes = match self.limit {
            Limit::Flash { bytes, .. } => bytes / (waf * self.page_rounding),
            Limit::Host { bytes } => bytes * ordinary / waf,
        };
        let per_day = self.writes_per_day.filter(|bytes| *bytes > 0.0);
        let years = per_day.map(|bytes| host_bytes / bytes / DAYS);
        let capacity = self.logical_bytes.filter(|bytes| *bytes > 0);
        let capacities = capacity.map(|bytes| host_bytes / bytes as f64);
        Stands {
            scheme: scheme.to_owned(),
            host_bytes,
            years,
            drive_writes_per_day: capacities
                .zip(self.years)
                .map(|(capacities, years)| capacities / (years * DAYS)),
            price_per_year: self.price.zip(years).map(|(price, years)| price / years),
        }
    }
}
