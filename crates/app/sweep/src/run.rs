//! The work on a batch: its comparison, and the file of its rows.

use std::{num::NonZeroUsize, path::Path};

use anabranch_compare::{
    Case, ComparisonOptions, Filled, Question, ReplayOptions, Result, Sampling, TraceFile, Watch,
    learn, schemes,
};

use crate::{
    batch::{Batch, parse_format},
    rows,
};

/// Performs a batch; the trace is read from `path` (its own, or that of a copy). Answers with the
/// Parquet file of its rows, which depends on nothing but the batch and the trace.
///
/// # Errors
/// When the trace cannot be read, or a scheme and the drive do not go together.
pub fn run(batch: &Batch, path: &Path, watch: &mut dyn Watch) -> Result<Vec<u8>> {
    let common = &batch.common;
    let format = parse_format(common.format.as_deref())?;
    let mut file = TraceFile::open(path, format, common.quick)?;
    file.name.clone_from(&common.trace);
    let filled = match common.fill {
        None => None,
        Some(fill) => {
            let page_bytes = common.drive.page_bytes();
            let learned = learn(&file, page_bytes, common.pack, watch)?;
            let numbers = learned.numbers;
            Some(Filled { fill, numbers })
        }
    };
    let cell = Case {
        drive: common.drive.clone(),
        filled,
        options: Vec::new(),
    };
    let options = ReplayOptions {
        comparison: ComparisonOptions {
            schemes: batch.schemes.clone(),
            seed: common.seed,
            sample: common
                .drive
                .thinned
                .map(|thinned| Sampling::Rate(thinned.rate)),
            samples: common.samples,
            // Batches run beside each other: one thread each.
            threads: Some(NonZeroUsize::MIN),
            ..ComparisonOptions::default()
        },
        time: common.time.clone(),
        pack: common.pack,
        no_discards: common.no_discards,
        quick: common.quick,
        ..ReplayOptions::default()
    };
    let specs = schemes(&options.comparison, true, &|name| common.text(name))?;
    let question = Question {
        options: &options,
        specs: &specs,
        source: &file,
        aged: None,
    };
    let outcome = cell.run(&question, watch)?;
    rows::file(batch, &outcome)
}
