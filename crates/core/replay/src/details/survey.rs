//! A survey of writers and lifetimes: one pass over the requests that all schemes are fed with.

use std::collections::HashMap;

use anabranch_lifetime::LifetimeHistogram;
use anabranch_placement::Names;
use anabranch_ssd::Config;
use anabranch_trace::{Context, ContextId, File, Frame, Io, Operation};

use super::{
    ContextLives, Details, LifePoints, Lives,
    owners::{Ended, Owners},
};
use crate::{
    label::{FilesWritten, labels},
    pages::Pages,
};

/// The most contexts that are listed; the others appear as a sum (our choice: probes fold rare
/// stacks, so a run mostly has fewer).
pub(super) const MOST_CONTEXTS: usize = 256;
/// The most points in the sample of lives (our choice: what a scatter plot can show).
const MOST_POINTS: usize = 2000;
/// Calls kept of a call path, the innermost ones (our choice).
const MOST_CALLS: usize = 48;
/// Characters kept of a call's name: C++ names can be pages long (our choice).
const MOST_NAME: usize = 240;

/// Follows a run and collects its [`Details`].
#[derive(Debug)]
pub struct Survey {
    pub(super) pages: Pages,
    pub(super) owners: Owners,
    pub(super) profiles: Vec<Profile>,
    files: FilesWritten,
    sample: Sample,
    pub(super) now_pages: u64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Profile {
    pub(super) writes: u64,
    pub(super) pages: u64,
    pub(super) lives: LifetimeHistogram,
}

impl Survey {
    /// A survey of the writes to `drive`.
    pub fn new(drive: &Config) -> Survey {
        Survey {
            pages: Pages::of(drive),
            owners: Owners::new(drive.logical_pages),
            profiles: Vec::new(),
            files: FilesWritten::default(),
            sample: Sample::default(),
            now_pages: 0,
        }
    }

    /// Learns names of files, which appear in the labels of contexts.
    pub fn learn(&mut self, names: &Names) {
        self.files.learn(names);
    }

    /// Learns by which names files are known, once all are written.
    pub fn learn_next_names(&mut self, files: &[File]) {
        self.files.learn_next_names(files);
    }

    /// Notes one request. A request that does not fit the drive is passed over: the lanes report
    /// it.
    pub fn apply(&mut self, io: &Io) {
        match io.operation {
            Operation::Write => self.write(io),
            Operation::Discard => self.discard(io),
            Operation::Read | Operation::Flush => {}
        }
    }

    fn write(&mut self, io: &Io) {
        let Ok(pages) = self.pages.written(io) else {
            return;
        };
        if pages.count == 0 {
            return;
        }
        let row = io.context.0 as usize;
        if self.profiles.len() <= row {
            self.profiles.resize(row + 1, Profile::default());
        }
        self.files.count(io.context.0, io.file, io.length_bytes);
        let now = self.now_pages;
        let (profiles, sample) = (&mut self.profiles, &mut self.sample);
        profiles[row].writes += 1;
        profiles[row].pages += u64::from(pages.count);
        self.owners
            .write(pages.indices(), io.context.0, now, |ended| {
                end(profiles, sample, &ended, now);
            });
        self.now_pages += u64::from(pages.count);
    }

    fn discard(&mut self, io: &Io) {
        let Ok(pages) = self.pages.discarded(io) else {
            return;
        };
        let now = self.now_pages;
        let (profiles, sample) = (&mut self.profiles, &mut self.sample);
        self.owners.discard(pages.indices(), now, |ended| {
            end(profiles, sample, &ended, now);
        });
    }

    /// The details found so far. `table` describes the contexts; rows may be missing.
    pub fn details(&self, table: &[Context]) -> Details {
        let page_bytes = u64::from(self.pages.page_bytes());
        let mut ranks: Vec<usize> = (0..self.profiles.len())
            .filter(|&row| self.profiles[row].writes > 0)
            .collect();
        ranks.sort_by_key(|&row| (std::cmp::Reverse(self.profiles[row].pages), row));
        let (listed, rest) = ranks.split_at(ranks.len().min(MOST_CONTEXTS));
        let known = listed.iter().filter_map(|&row| table.get(row));
        let ids = known.clone().map(|context| context.id.0);
        let median_life = |id: ContextId| {
            let lives = &self.profiles.get(id.0 as usize)?.lives;
            Some(lives.quantile_pages(0.5)? * page_bytes)
        };
        let labels = labels(known.clone(), &self.files, &median_life);
        let labels: HashMap<u32, String> = ids.zip(labels).collect();
        let listed = listed.iter().map(|&row| {
            let profile = &self.profiles[row];
            let known = table.get(row);
            ContextLives {
                id: row as u32,
                label: labels.get(&(row as u32)).cloned().unwrap_or_default(),
                signature: format!("{:016x}", known.map_or(0, |context| context.signature)),
                kind: known.map(|context| context.kind),
                role: known.map_or_else(String::new, |context| context.role.clone()),
                path: known.map_or_else(Vec::new, |context| path(&context.frames)),
                writes: profile.writes,
                written_bytes: profile.pages * page_bytes,
                lives: Lives::of(&profile.lives, page_bytes),
            }
        });
        Details {
            contexts: listed.collect(),
            unlisted_contexts: rest.len() as u64,
            unlisted_bytes: rest
                .iter()
                .map(|&row| self.profiles[row].pages * page_bytes)
                .sum(),
            points: self.sample.points(page_bytes),
        }
    }
}

fn end(profiles: &mut [Profile], sample: &mut Sample, ended: &Ended, now_pages: u64) {
    if let Some(profile) = profiles.get_mut(ended.owner as usize) {
        let pages = u64::from(ended.pages);
        profile.lives.record(ended.life_pages, pages);
    }
    sample.offer(ended, now_pages);
}

impl Lives {
    /// The lifetimes of a histogram, in bytes.
    pub(super) fn of(histogram: &LifetimeHistogram, page_bytes: u64) -> Lives {
        let quantiles = [0.05, 0.25, 0.5, 0.75, 0.95];
        let quantile = |quantile| Some(histogram.quantile_pages(quantile)? * page_bytes);
        let classes = histogram.half_octaves();
        let first = classes.iter().position(|&pages| pages > 0).unwrap_or(0);
        Lives {
            ended_bytes: histogram.pages() * page_bytes,
            quantiles_bytes: quantiles.into_iter().filter_map(quantile).collect(),
            first_class: first as u32,
            classes_bytes: classes
                .iter()
                .skip(first)
                .map(|pages| pages * page_bytes)
                .collect(),
        }
    }
}

/// The innermost calls of a path.
fn path(frames: &[Frame]) -> Vec<String> {
    frames.iter().take(MOST_CALLS).map(call).collect()
}

/// The text for a frame: its function's name, or the object and the offset in it.
fn call(frame: &Frame) -> String {
    let object = frame.object.rsplit('/').next().unwrap_or(&frame.object);
    let mut name = match &frame.symbol {
        Some(symbol) => symbol.clone(),
        None => format!("{object}+{:#x}", frame.file_offset),
    };
    if let Some((cut, _)) = name.char_indices().nth(MOST_NAME) {
        name.truncate(cut);
        name.push('…');
    }
    name
}

/// A bounded sample in which every page that ends is as likely as any other, and that is the same
/// for the same run: a page is kept while the hash of its number lies below a limit, which is
/// halved whenever the sample is full.
#[derive(Debug)]
struct Sample {
    limit: u64,
    offered: u64,
    kept: Vec<Kept>,
}

#[derive(Debug, Clone, Copy)]
struct Kept {
    hash: u64,
    page: u32,
    context: u32,
    written_at: u64,
    life_pages: u64,
}

impl Default for Sample {
    fn default() -> Sample {
        Sample {
            limit: u64::MAX,
            offered: 0,
            kept: Vec::new(),
        }
    }
}

impl Sample {
    fn offer(&mut self, ended: &Ended, now_pages: u64) {
        for page in ended.first..ended.first + ended.pages {
            self.offered += 1;
            let hash = mixed(self.offered);
            if hash > self.limit {
                continue;
            }
            if self.kept.len() == MOST_POINTS {
                self.limit /= 2;
                let limit = self.limit;
                self.kept.retain(|kept| kept.hash <= limit);
            }
            if hash <= self.limit {
                self.kept.push(Kept {
                    hash,
                    page,
                    context: ended.owner,
                    written_at: now_pages.saturating_sub(ended.life_pages),
                    life_pages: ended.life_pages,
                });
            }
        }
    }

    fn points(&self, page_bytes: u64) -> LifePoints {
        let column = |of: fn(&Kept) -> u64| {
            let values = self.kept.iter().map(|kept| of(kept) * page_bytes);
            values.collect()
        };
        LifePoints {
            of_pages: self.offered,
            written_at_bytes: column(|kept| kept.written_at),
            offset_bytes: column(|kept| u64::from(kept.page)),
            lifetime_bytes: column(|kept| kept.life_pages),
            context: self.kept.iter().map(|kept| kept.context).collect(),
        }
    }
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests;
