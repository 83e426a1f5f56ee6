//! The plan of a sweep: from a grid to batches.

use std::{cell::RefCell, collections::BTreeMap};

use anabranch_compare::{
    CompareError, ComparedDrive, DriveQuery, Result, grid, load, read_text, schemes,
};
use anabranch_placement::SchemeSpec;

use crate::{
    batch::{Batch, Common},
    finished::Finished,
    grid::Grid,
    memory::Needs,
    trace_survey::{Look, Seen},
};

/// The most cells of a sweep (our choice: a week of one core at 16 cells a second).
const MOST_CELLS: u128 = 10_000_000;

/// Work that could not be done, by name, with the reason.
pub type Failures = Vec<(String, CompareError)>;

/// The batches that a sweep must do.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Batches to do, in the order of the grid.
    pub batches: Vec<Batch>,
    /// Number of cells of the grid.
    pub cells: usize,
    /// Number of cells that were done before.
    pub finished: usize,
    /// Cells that are not possible, by name, with the reason.
    pub impossible: Failures,
}

impl Grid {
    /// The looks that are needed before there can be a plan. `traces` are names and lengths in
    /// bytes.
    ///
    /// # Errors
    /// When a scheme or a profile is wrong.
    pub fn looks(&self, traces: &[(String, u64)]) -> Result<Vec<Look>> {
        let (specs, _) = self.specs()?;
        self.check_size(traces.len(), specs.len())?;
        let fills = !self.fill.is_empty();
        let follows = self.drive.profiles.is_empty() && self.drive.size.is_none();
        let page_bytes = if fills {
            self.page_bytes()?
        } else {
            Vec::new()
        };
        let look = |(trace, trace_bytes): &(String, u64)| Look {
            trace: trace.clone(),
            trace_bytes: *trace_bytes,
            format: self.format.clone(),
            quick: self.quick,
            pack: self.pack,
            page_bytes: page_bytes.clone(),
            fills,
            follows,
            counts_writes: specs.iter().any(SchemeSpec::needs_future),
        };
        Ok(traces.iter().map(look).collect())
    }

    /// Refuses a grid that is too large, before anything is read.
    fn check_size(&self, traces: usize, schemes: usize) -> Result {
        let lists = [traces, schemes, self.seeds.len(), self.fill.len().max(1)];
        let cells = lists.iter().fold(self.drive.drives(), |cells, list| {
            cells.saturating_mul(*list as u128)
        });
        if cells <= MOST_CELLS {
            Ok(())
        } else {
            Err(CompareError::wrong_use(format!(
                "the grid has {cells} cells, and a sweep may have {MOST_CELLS}: give fewer values, or several grids"
            )))
        }
    }

    /// The page sizes of the profiles that the grid names, each once.
    fn page_bytes(&self) -> Result<Vec<u32>> {
        let mut sizes = Vec::new();
        for profile in &self.drive.profiles {
            sizes.push(load(profile)?.geometry.page_bytes);
        }
        sizes.sort_unstable();
        sizes.dedup();
        Ok(sizes)
    }

    /// The schemes, and the texts of files that their parameters name.
    fn specs(&self) -> Result<(Vec<SchemeSpec>, BTreeMap<String, String>)> {
        let texts = RefCell::new(BTreeMap::new());
        let specs = schemes(&self.question().comparison, true, &|name| {
            let text = read_text(name)?;
            texts.borrow_mut().insert(name.to_owned(), text.clone());
            Ok(text)
        })?;
        Ok((specs, texts.into_inner()))
    }

    /// The cells that are not finished, in batches of at most `most_cells`, each within
    /// `most_bytes` of memory.
    ///
    /// # Errors
    /// When a drive is not possible, or a single cell takes more memory.
    pub fn plan(
        &self,
        seen: &[Seen],
        finished: &Finished,
        most_cells: usize,
        most_bytes: u64,
    ) -> Result<Plan> {
        let (specs, texts) = self.specs()?;
        let mut plan = Plan::default();
        for seen in seen {
            for asked in self.drives(seen)? {
                for &seed in &self.seeds {
                    plan.cells += specs.len();
                    let drive = match &asked.drive {
                        Ok(drive) => drive,
                        Err(fault) => {
                            plan.cannot(&seen.trace, &asked.label, &specs, fault);
                            continue;
                        }
                    };
                    let common = self.common(seen, drive, asked.fill, seed, &texts);
                    let left = specs
                        .iter()
                        .filter(|spec| !finished.has(&common.cell(spec.name())));
                    let left: Vec<SchemeSpec> = left.cloned().collect();
                    plan.finished += specs.len() - left.len();
                    let needs = Needs {
                        drive,
                        seen,
                        fills: asked.fill.is_some(),
                        packs: self.pack,
                        samples: self.samples,
                        label: &asked.label,
                    };
                    for some in left.chunks(most_cells.max(1)) {
                        plan.add(&common, some, needs, most_bytes)?;
                    }
                }
            }
        }
        Ok(plan)
    }

    /// The drives for a trace, each with the share that the trace fills.
    fn drives(&self, seen: &Seen) -> Result<Vec<DriveQuery>> {
        let origin = seen.origin(&self.drive)?;
        grid(&self.question(), &origin, &mut |page_bytes| {
            Ok(seen.pages.get(&page_bytes).copied().unwrap_or(0))
        })
    }

    fn common(
        &self,
        seen: &Seen,
        drive: &ComparedDrive,
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
            samples: self.samples,
            texts: texts.clone(),
        }
    }
}

impl Plan {
    /// Notes cells that are not possible.
    fn cannot(&mut self, trace: &str, drive: &str, specs: &[SchemeSpec], fault: &CompareError) {
        for spec in specs {
            let name = format!("{trace} on {drive}: {}", spec.name());
            self.impossible.push((name, fault.clone()));
        }
    }

    /// Adds cells as one batch if their memory allows it, otherwise in halves.
    fn add(
        &mut self,
        common: &Common,
        specs: &[SchemeSpec],
        needs: Needs<'_>,
        most_bytes: u64,
    ) -> Result {
        let memory_bytes = match (needs.bytes(specs), specs) {
            (Err(fault), [_]) => {
                self.cannot(&common.trace, needs.label, specs, &fault);
                return Ok(());
            }
            (Err(_), _) => None,
            (Ok(bytes), [one]) if bytes > most_bytes => {
                return Err(CompareError::wrong_use(format!(
                    "{} on {} with {} takes up to {bytes} bytes of memory, and a worker may have \
                     {most_bytes}: allow more (--memory), or leave it out",
                    common.trace,
                    needs.label,
                    one.name(),
                )));
            }
            (Ok(bytes), _) => Some(bytes).filter(|bytes| *bytes <= most_bytes),
        };
        let Some(memory_bytes) = memory_bytes else {
            let (some, others) = specs.split_at(specs.len() / 2);
            self.add(common, some, needs, most_bytes)?;
            return self.add(common, others, needs, most_bytes);
        };
        let schemes = specs.iter().map(|spec| spec.name().to_owned()).collect();
        self.batches.push(Batch {
            common: common.clone(),
            schemes,
            memory_bytes,
        });
        Ok(())
    }

    /// Bytes of memory that the largest batch takes.
    pub fn most_memory_bytes(&self) -> u64 {
        let bytes = self.batches.iter().map(|batch| batch.memory_bytes);
        bytes.max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_that_never_ends_is_refused_before_anything_is_read() {
        let list = |count: u32| {
            (1..=count)
                .map(|n| n.to_string())
                .collect::<Vec<_>>()
                .join(", ")
        };
        let grid = |seeds| {
            let text = format!(
                "traces = [\"nowhere\"]\nschemes = [\"baseline\", \"hints\"]\nseeds = [{}]\n[drive]\nstreams = [{}]\n",
                list(seeds),
                list(1_000)
            );
            Grid::parse("g.toml", &text)
                .unwrap()
                .looks(&[("nowhere".to_owned(), 1)])
        };
        let words = grid(6_000).unwrap_err().to_string();
        assert!(words.contains("the grid has 12000000 cells"), "{words}");
        assert_eq!(grid(5_000).unwrap().len(), 1);
    }
}
