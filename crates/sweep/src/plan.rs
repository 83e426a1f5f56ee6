//! From a grid to batches.

use std::{cell::RefCell, collections::BTreeMap};

use anabranch_compare::{
    ComparisonOptions, Fault, NamedDrive, Outcome, Size, drives, load, read_text, schemes, share,
};
use anabranch_placement::SchemeSpec;
use serde::Serialize;

use crate::{
    batch::{Batch, Common},
    finished::Finished,
    grid::Grid,
    look::{Look, Seen},
    memory::Needs,
};

/// What is to be done.
#[derive(Debug, Clone, Serialize)]
pub struct Plan {
    /// Batches to do, in the order of the grid.
    pub batches: Vec<Batch>,
    /// Cells there are.
    pub cells: usize,
    /// Cells that were done before.
    pub finished: usize,
}

impl Grid {
    /// What must be known of each trace before there can be a plan. `traces` are names and lengths.
    ///
    /// # Errors
    /// When a scheme or a profile is wrong.
    pub fn looks(&self, traces: &[(String, u64)]) -> Outcome<Vec<Look>> {
        let (specs, _) = self.specs()?;
        let page_bytes = match self.fill.is_empty() {
            true => Vec::new(),
            false => self.page_bytes()?,
        };
        let look = |(trace, trace_bytes): &(String, u64)| Look {
            trace: trace.clone(),
            trace_bytes: *trace_bytes,
            format: self.format.clone(),
            quick: self.quick,
            pack: self.pack,
            page_bytes: page_bytes.clone(),
            counts_writes: specs.iter().any(SchemeSpec::needs_future),
        };
        Ok(traces.iter().map(look).collect())
    }

    /// The page sizes of its profiles, each once.
    fn page_bytes(&self) -> Outcome<Vec<u32>> {
        let mut sizes = Vec::new();
        for profile in &self.drive.profiles {
            sizes.push(load(profile)?.geometry.page_bytes);
        }
        sizes.sort_unstable();
        sizes.dedup();
        Ok(sizes)
    }

    /// The schemes, and the texts of files that their parameters name.
    fn specs(&self) -> Outcome<(Vec<SchemeSpec>, BTreeMap<String, String>)> {
        let texts = RefCell::new(BTreeMap::new());
        let options = ComparisonOptions {
            schemes: self.schemes.clone(),
            relocation: self.relocation.clone(),
            ..ComparisonOptions::default()
        };
        let specs = schemes(&options, true, &|name| {
            let text = read_text(name)?;
            texts.borrow_mut().insert(name.to_owned(), text.clone());
            Ok(text)
        })?;
        Ok((specs, texts.into_inner()))
    }

    /// Every cell that is not finished, in batches of at most `most_cells`, none of which takes
    /// more than `most_bytes` of memory.
    ///
    /// # Errors
    /// When a drive cannot be, or a single cell takes more.
    pub fn plan(
        &self,
        seen: &[Seen],
        finished: &Finished,
        most_cells: usize,
        most_bytes: u64,
    ) -> Outcome<Plan> {
        let (specs, texts) = self.specs()?;
        let mut plan = Plan {
            batches: Vec::new(),
            cells: 0,
            finished: 0,
        };
        for seen in seen {
            for (drive, fill) in self.drives(seen)? {
                for &seed in &self.seeds {
                    let common = self.common(seen, &drive, fill, seed, &texts);
                    plan.cells += specs.len();
                    let left = specs
                        .iter()
                        .filter(|spec| !finished.has(&common.cell(spec.name())));
                    let left: Vec<SchemeSpec> = left.cloned().collect();
                    plan.finished += specs.len() - left.len();
                    let needs = Needs {
                        drive: &drive,
                        seen,
                        fills: fill.is_some(),
                        packs: self.pack,
                    };
                    for some in left.chunks(most_cells.max(1)) {
                        plan.add(&common, some, needs, most_bytes)?;
                    }
                }
            }
        }
        Ok(plan)
    }

    /// The drives for a trace, each with the share of it that the trace fills.
    fn drives(&self, seen: &Seen) -> Outcome<Vec<(NamedDrive, Option<f64>)>> {
        if self.fill.is_empty() {
            let size = match seen.device_bytes {
                0 => Size::Unknown,
                bytes => Size::Captured(bytes),
            };
            let grid = drives(&self.drive, size)?;
            return Ok(grid.into_iter().map(|drive| (drive, None)).collect());
        }
        let mut all = Vec::new();
        for text in &self.fill {
            let fill = share(text)?;
            for profile in &self.drive.profiles {
                let page_bytes = load(profile)?.geometry.page_bytes;
                let pages = seen.pages.get(&page_bytes).copied().unwrap_or(0);
                if fill == 0.0 || pages == 0 {
                    return Err(Fault::say(format!(
                        "{}: it writes {pages} pages, and they cannot fill {text} of a drive",
                        seen.trace
                    )));
                }
                let pages = (pages as f64 / fill).ceil() as u64;
                let mut options = self.drive.clone();
                options.profiles = vec![profile.clone()];
                let size = Size::Fixed(pages.saturating_mul(u64::from(page_bytes)));
                let grid = drives(&options, size)?;
                all.extend(grid.into_iter().map(|drive| (drive, Some(fill))));
            }
        }
        Ok(all)
    }

    fn common(
        &self,
        seen: &Seen,
        drive: &NamedDrive,
        fill: Option<f64>,
        seed: u64,
        texts: &BTreeMap<String, String>,
    ) -> Common {
        let mut drive = drive.clone();
        drive.config.seed = seed;
        Common {
            version: Common::version(),
            trace: seen.trace.clone(),
            trace_bytes: seen.trace_bytes,
            format: self.format.clone(),
            quick: self.quick,
            fill,
            pack: self.pack,
            no_discards: self.no_discards,
            drive,
            time: self.time.clone(),
            seed,
            texts: texts.clone(),
        }
    }
}

impl Plan {
    /// Adds some cells: together if their memory allows it, else in halves.
    fn add(
        &mut self,
        common: &Common,
        specs: &[SchemeSpec],
        needs: Needs<'_>,
        most_bytes: u64,
    ) -> Outcome {
        let memory_bytes = needs.bytes(specs)?;
        if memory_bytes <= most_bytes {
            let schemes = specs.iter().map(|spec| spec.name().to_owned()).collect();
            self.batches.push(Batch {
                common: common.clone(),
                schemes,
                memory_bytes,
            });
            return Ok(());
        }
        let [one] = specs else {
            let (some, others) = specs.split_at(specs.len() / 2);
            self.add(common, some, needs, most_bytes)?;
            return self.add(common, others, needs, most_bytes);
        };
        Err(Fault::say(format!(
            "{} on {} with {} takes up to {} bytes of memory, and a worker may have {most_bytes}: \
             allow more (--memory), or leave it out",
            common.trace,
            common.drive.profile,
            one.name(),
            memory_bytes
        )))
    }

    /// What the largest batch takes, in bytes.
    pub fn most_memory_bytes(&self) -> u64 {
        let bytes = self.batches.iter().map(|batch| batch.memory_bytes);
        bytes.max().unwrap_or(0)
    }
}
