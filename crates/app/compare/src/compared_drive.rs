//! A drive of a comparison: its configuration, and its clock where time is simulated.

use anabranch_replay::{Clock, WholeDrive};
use anabranch_ssd::{
    Config,
    profile::Profile,
    time::{Issue, Layout, Timing},
};
use anabranch_trace::Rate;
use serde::{Deserialize, Serialize};

use crate::{
    error::{CompareError, Result},
    options::{IssueKind, TimeOptions},
    sampling::Thinned,
};

/// One drive of the grid.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ComparedDrive {
    /// The profile it was made from.
    pub profile: String,
    /// Its spare flash, as a share of the bytes the host sees, before it is rounded up to whole
    /// units.
    pub over_provisioning: f64,
    /// The drive.
    pub config: Config,
    /// The timing of its flash, where the profile has one.
    pub timing: Option<Timing>,
    /// The layout of its flash.
    pub layout: Layout,
    /// The rate at which its pages are sampled, and its size before, where it is sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinned: Option<Thinned>,
    /// The drive that it stands for, where it is scaled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaled: Option<WholeDrive>,
}

impl ComparedDrive {
    /// The whole drive of that configuration, with the flash of a profile.
    pub(crate) fn new(name: String, profile: &Profile, config: Config) -> ComparedDrive {
        ComparedDrive {
            profile: name,
            over_provisioning: profile.geometry.over_provisioning,
            config,
            timing: profile.timing,
            layout: profile.layout(),
            thinned: None,
            scaled: None,
        }
    }

    /// The sampling rate; [`Rate::WHOLE`] where the drive is not sampled.
    pub fn rate(&self) -> Rate {
        self.thinned.map_or(Rate::WHOLE, |thinned| thinned.rate)
    }

    /// Bytes of a page of the drive before it was sampled.
    pub fn page_bytes(&self) -> u32 {
        self.config.page_bytes / self.rate().pages()
    }

    /// The same drive sampled at a finer rate; `None` where there is no finer rate, or its pages
    /// would be too many to number.
    pub fn finer(&self) -> Option<ComparedDrive> {
        let thinned = self.thinned?;
        let rate = thinned.rate.finer()?;
        Some(ComparedDrive {
            thinned: Some(Thinned { rate, ..thinned }),
            ..self.resampled(thinned, rate)?
        })
    }

    /// The same drive without sampling; `None` where its pages would be too many to number.
    pub fn whole(&self) -> Option<ComparedDrive> {
        Some(ComparedDrive {
            thinned: None,
            ..self.resampled(self.thinned?, Rate::WHOLE)?
        })
    }

    /// The drive with smaller pages, as many as `rate` leaves of those before it was sampled.
    fn resampled(&self, thinned: Thinned, rate: Rate) -> Option<ComparedDrive> {
        let times = thinned.rate.pages() / rate.pages();
        let logical_pages = thinned.logical_pages.div_ceil(u64::from(rate.pages()));
        let config = Config {
            logical_pages: u32::try_from(logical_pages).ok()?,
            page_bytes: self.config.page_bytes / times,
            pages_per_unit: self.config.pages_per_unit.checked_mul(times)?,
            ..self.config.clone()
        };
        Some(ComparedDrive {
            config,
            ..self.clone()
        })
    }

    /// The drive's clock, where time is to be simulated.
    pub fn clock(&self, options: &TimeOptions) -> Result<Option<Clock>> {
        let Some(kind) = options.issue else {
            return Ok(None);
        };
        let timing = self.timing.ok_or_else(|| {
            CompareError::wrong_use(format!(
                "device profile {} has no [timing]: --time needs to know how long its flash takes",
                self.profile
            ))
        })?;
        let queue_depth = options.queue_depth();
        let issue = match kind {
            IssueKind::Closed => Issue::Closed { queue_depth },
            IssueKind::Open => Issue::Open {
                time_scale: options.time_scale(),
                queue_depth,
                collect_after_idle_ns: options
                    .collect_after_idle
                    .map(|ms| ms.saturating_mul(1_000_000)),
            },
        };
        Ok(Some(Clock {
            timing,
            layout: self.layout,
            issue,
        }))
    }
}
