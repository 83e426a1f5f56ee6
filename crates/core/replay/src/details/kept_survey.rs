//! A survey kept in a file: it goes on after a restart, or with pages of another size.

use anabranch_ssd::Config;
use anabranch_trace::{ContextId, Io, Sample};
use serde::{Deserialize, Serialize};

use super::survey::{Profile, Survey};

/// A survey as it is kept. All sizes are in bytes, since the next run may have pages of another size.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptSurvey {
    /// Bytes the host had written, in whole pages.
    pub now_bytes: u64,
    /// The totals of each context.
    pub contexts: Vec<KeptContext>,
    /// Data that is still alive, the oldest first; whoever keeps the survey decides on the form.
    #[serde(skip)]
    pub alive: Vec<Alive>,
}

impl KeptSurvey {
    /// Forgets what lives beyond a device's end, in bytes.
    pub fn cut(&mut self, end_bytes: u64) {
        self.alive.retain_mut(|run| {
            let left = end_bytes.saturating_sub(run.offset_bytes);
            run.length_bytes = run.length_bytes.min(left);
            left > 0
        });
    }
}

/// The totals of one context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptContext {
    /// The context's number.
    pub id: u32,
    /// Write requests.
    pub writes: u64,
    /// Bytes written, in whole pages.
    pub written_bytes: u64,
    /// Lifetimes of data that ended, and the bytes that lived each; both in bytes.
    pub lives: Vec<(u64, u64)>,
}

/// A range of data that is still alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alive {
    /// First byte of the range.
    pub offset_bytes: u64,
    /// Length of the range.
    pub length_bytes: u64,
    /// The context that wrote it.
    pub context: u32,
    /// Bytes the host had written before this write.
    pub written_at_bytes: u64,
}

impl Alive {
    /// The write request that made the data.
    pub fn write(&self) -> Io {
        Io {
            context: ContextId(self.context),
            ..Io::write(self.offset_bytes, self.length_bytes)
        }
    }
}

impl Survey {
    /// The survey in the form that is kept. Names of files are not in it.
    pub fn kept(&self) -> KeptSurvey {
        let page_bytes = u64::from(self.pages.page_bytes());
        let profiles = (0_u32..).zip(&self.profiles);
        let contexts = profiles.filter(|(_, profile)| profile.writes > 0);
        let contexts = contexts.map(|(id, profile)| KeptContext {
            id,
            writes: profile.writes,
            written_bytes: profile.pages * page_bytes,
            lives: profile
                .lives
                .recorded()
                .map(|(life, pages)| (life * page_bytes, pages * page_bytes))
                .collect(),
        });
        let alive = self.owners.alive(self.now_pages).map(|run| Alive {
            offset_bytes: u64::from(run.first) * page_bytes,
            length_bytes: u64::from(run.pages) * page_bytes,
            context: run.owner,
            written_at_bytes: self.now_pages.saturating_sub(run.life_pages) * page_bytes,
        });
        let mut alive: Vec<Alive> = alive.collect();
        alive.sort_by_key(|run| (run.written_at_bytes, run.offset_bytes));
        KeptSurvey {
            now_bytes: self.now_pages * page_bytes,
            contexts: contexts.collect(),
            alive,
        }
    }

    /// A survey that continues a kept one, on a drive that may be a sample of the one surveyed. Bytes and lifetimes are
    /// rounded to its pages.
    pub fn resume(drive: &Config, kept: &KeptSurvey, sample: &Sample) -> Survey {
        let mut survey = Survey::new(drive);
        let page_bytes = u64::from(drive.page_bytes);
        let pages = |bytes: u64| (bytes + page_bytes / 2) / page_bytes;
        survey.now_pages = pages(kept.now_bytes);
        for context in &kept.contexts {
            let row = context.id as usize;
            if survey.profiles.len() <= row {
                survey.profiles.resize(row + 1, Profile::default());
            }
            let profile = &mut survey.profiles[row];
            profile.writes = context.writes;
            profile.pages = pages(context.written_bytes);
            for (life, bytes) in &context.lives {
                profile.lives.record(pages(*life), pages(*bytes));
            }
        }
        for run in &kept.alive {
            let io = sample.apply(&run.write());
            let Some(Ok(range)) = io.map(|io| survey.pages.written(&io)) else {
                continue;
            };
            let at = pages(run.written_at_bytes);
            survey
                .owners
                .write(range.indices(), run.context, at, |_| {});
        }
        survey
    }
}

#[cfg(test)]
mod tests;
