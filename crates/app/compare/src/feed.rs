//! The requests that lanes are fed with: all as they come, or samples of them.

use std::{collections::BTreeMap, sync::Arc};

use anabranch_placement::{Future, SchemeSpec};
use anabranch_replay::{Lane, Shown, Start};
use anabranch_trace::{Io, KeptPages, Rate, Sample};

use crate::{
    compared_drive::ComparedDrive,
    error::{CompareError, Result},
};

/// A scheme with its settings in one sample.
#[derive(Debug)]
pub(crate) struct Trial {
    /// The number of the sample.
    pub sample: usize,
    /// The number of the scheme among those asked for.
    pub scheme: usize,
    /// The scheme with its settings.
    pub setting: SchemeSpec,
}

/// A lane, with the number of its feed.
pub(crate) type FedLane = (usize, Lane);

/// The feeds of a comparison: one for each sample, and behind them one of all requests as they come, for schemes that
/// go by requests. Where the drive is not sampled, the latter is the only one.
#[derive(Debug)]
pub(crate) struct Feeds {
    samples: Vec<Sample>,
    kept: KeptPages,
    /// Requests on their way to each sample's feed.
    batches: Vec<Vec<Io>>,
    /// Whether any lane is fed all requests.
    feeds_all: bool,
}

impl Feeds {
    /// Feeds before any lane is made; without samples, the feed of all requests.
    pub fn new(samples: &[Sample]) -> Feeds {
        Feeds {
            samples: samples.to_vec(),
            kept: KeptPages::new(samples),
            batches: vec![Vec::new(); samples.len()],
            feeds_all: samples.is_empty(),
        }
    }

    /// The samples whose pages alone are fed to lanes; empty where any lane is fed all requests.
    pub fn told_samples(&self) -> &[Sample] {
        if self.feeds_all { &[] } else { &self.samples }
    }

    /// Number of comparisons that are fed: one for each sample.
    pub fn comparisons(&self) -> usize {
        self.samples.len().max(1)
    }

    /// Makes a lane for every setting of every scheme in every sample, each with its trial and the number of its feed.
    /// `futures` are the futures of each sample.
    pub fn lanes(
        &mut self,
        specs: &[SchemeSpec],
        drive: &ComparedDrive,
        start: &Start<'_>,
        futures: &[Arc<Future>],
    ) -> Result<(Vec<Trial>, Vec<FedLane>)> {
        if drive.rate() > Rate::WHOLE
            && let Some((spec, why)) = specs
                .iter()
                .find_map(|spec| Some((spec, spec.unsampled()?)))
        {
            return Err(CompareError::wrong_use(format!(
                "{} {why}: leave out the scheme, or --sample",
                spec.name()
            )));
        }
        let (mut trials, mut lanes) = (Vec::new(), Vec::new());
        for sample in 0..self.comparisons() {
            for (scheme, spec) in specs.iter().enumerate() {
                let shown = self.shown(sample, spec, drive)?;
                let start = Start {
                    future: futures.get(sample),
                    shown,
                    ..*start
                };
                let feed = if shown.is_some() {
                    self.samples.len()
                } else {
                    sample
                };
                let settings = Lane::trials(spec, &drive.config).map_err(CompareError::usage)?;
                // Who is shown every request counts as on the whole drive.
                let one_of = if shown.is_some() {
                    1
                } else {
                    drive.rate().pages()
                };
                for setting in settings {
                    let lane = Lane::build(&setting.sampled(one_of), &drive.config, &start);
                    lanes.push((feed, lane.map_err(CompareError::usage)?));
                    trials.push(Trial {
                        sample,
                        scheme,
                        setting,
                    });
                }
                self.feeds_all |= shown.is_some();
            }
        }
        Ok((trials, lanes))
    }

    /// Requests of a sampled drive that a scheme which goes by requests sees.
    fn shown(
        &self,
        number: usize,
        spec: &SchemeSpec,
        drive: &ComparedDrive,
    ) -> Result<Option<Shown>> {
        let sampled = drive.thinned.zip(self.samples.get(number));
        let Some((thinned, sample)) = sampled.filter(|_| spec.goes_by_requests()) else {
            return Ok(None);
        };
        if sample.trace_rate() > Rate::WHOLE {
            return Err(CompareError::wrong_use(format!(
                "{} goes by requests and their neighbourhood, and the trace was recorded with --sample {}, which \
                 leaves most requests out: leave out the scheme (--scheme names those that are compared)",
                spec.name(),
                sample.trace_rate()
            )));
        }
        let logical_pages = u32::try_from(thinned.logical_pages).map_err(|_| {
            CompareError::wrong_use(format!(
                "{} goes by requests and is shown all {} pages of the drive, more than 32 bits number: leave it \
                 out, or give the drive larger pages",
                spec.name(),
                thinned.logical_pages
            ))
        })?;
        Ok(Some(Shown {
            sample: *sample,
            logical_pages,
        }))
    }

    /// Passes each feed's share of some requests to `send`, the feed of the first sample (or the only one) first.
    pub fn feed(&mut self, ios: &[Io], mut send: impl FnMut(usize, &Arc<[Io]>)) {
        let Feeds { kept, batches, .. } = self;
        for io in ios {
            kept.apply(io, |number, io| batches[number].push(io));
        }
        for (number, batch) in batches.iter_mut().enumerate() {
            if !batch.is_empty() {
                send(number, &Arc::from(batch.as_slice()));
                batch.clear();
            }
        }
        if self.feeds_all {
            send(self.samples.len(), &Arc::from(ios));
        }
    }
}

/// The best of each scheme's lanes in a sample: the scheme's name, the parameters it was set to there, and the lane.
pub(crate) fn kept(
    specs: &[SchemeSpec],
    lanes: Vec<(Trial, Lane)>,
) -> Vec<(String, BTreeMap<String, String>, Lane)> {
    let mut tried: Vec<Vec<(SchemeSpec, Lane)>> = specs.iter().map(|_| Vec::new()).collect();
    for (trial, lane) in lanes {
        tried[trial.scheme].push((trial.setting, lane));
    }
    let best = tried.into_iter().filter_map(anabranch_replay::best);
    let kept = specs.iter().zip(best).map(|(spec, (setting, lane))| {
        let parameters = setting.parameters().iter().cloned().collect();
        (spec.name().to_owned(), parameters, lane)
    });
    kept.collect()
}
