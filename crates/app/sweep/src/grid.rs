//! The grid that a sweep is asked for, as a TOML file.

use anabranch_compare::{
    CompareError, ComparisonOptions, DriveOptions, ReplayOptions, Result, Sampling, TimeOptions,
    number, parsed_list, text_list,
};
use anabranch_ssd::relocate::RelocationKind;
use serde::Deserialize;

/// A grid: every trace with every drive and every scheme. Lists multiply.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Traces: paths, patterns, `synthetic:` loads; from Python any fsspec address.
    #[serde(deserialize_with = "text_list")]
    pub traces: Vec<String>,
    /// The form of the traces; without one, it is found by their content.
    #[serde(default)]
    pub format: Option<String>,
    /// Schemes by name.
    #[serde(deserialize_with = "text_list")]
    pub schemes: Vec<String>,
    /// Relocations that each scheme's host half is combined with, instead of its own.
    #[serde(default, deserialize_with = "parsed_list")]
    pub relocation: Vec<RelocationKind>,
    /// Seeds of everything random.
    #[serde(default = "one_seed", deserialize_with = "parsed_list")]
    pub seeds: Vec<u64>,
    /// The rate at which drives are sampled, `1/64`.
    #[serde(default, deserialize_with = "number")]
    pub sample: Option<Sampling>,
    /// Number of samples of each drive.
    #[serde(default, deserialize_with = "number")]
    pub samples: Option<u32>,
    /// Shares of the drive that the trace's written pages fill.
    #[serde(default, deserialize_with = "text_list")]
    pub fill: Vec<String>,
    /// With a fill: whether to count the pages that held data at one time, instead of all pages
    /// ever written.
    #[serde(default)]
    pub pack: bool,
    /// Whether the drive gets no discards.
    #[serde(default)]
    pub no_discards: bool,
    /// Whether only the first GiB of a trace's writes is replayed.
    #[serde(default)]
    pub quick: bool,
    /// The drives.
    #[serde(default)]
    pub drive: DriveOptions,
    /// Settings of simulated time.
    #[serde(default)]
    pub time: TimeOptions,
}

fn one_seed() -> Vec<u64> {
    vec![0]
}

impl Grid {
    /// Parses a grid; errors call the text `name`.
    ///
    /// # Errors
    /// When the text is not a grid, or the grid is empty.
    pub fn parse(name: &str, text: &str) -> Result<Grid> {
        let grid: Grid = toml::from_str(text).map_err(|error| {
            let words = error.to_string();
            CompareError::wrong_use(format!("grid {name}: {}", words.trim_end()))
        })?;
        for (what, count) in [
            ("traces", grid.traces.len()),
            ("schemes", grid.schemes.len()),
            ("seeds", grid.seeds.len()),
        ] {
            if count == 0 {
                return Err(CompareError::wrong_use(format!(
                    "grid {name}: {what} is an empty list"
                )));
            }
        }
        grid.question().validate(grid.traces.len())?;
        if grid.sample == Some(Sampling::Auto) {
            return Err(CompareError::wrong_use(format!(
                "grid {name}: sample = \"auto\" finds out by trial what a cell costs, and a sweep must know before: \
                 give a rate, as in sample = \"1/64\""
            )));
        }
        Ok(grid)
    }

    /// The options of the replay that each trace gets.
    pub(crate) fn question(&self) -> ReplayOptions {
        ReplayOptions {
            drive: self.drive.clone(),
            comparison: ComparisonOptions {
                schemes: self.schemes.clone(),
                relocation: self.relocation.clone(),
                sample: self.sample,
                samples: self.samples,
                ..ComparisonOptions::default()
            },
            time: self.time.clone(),
            fill: self.fill.clone(),
            pack: self.pack,
            no_discards: self.no_discards,
            quick: self.quick,
            ..ReplayOptions::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_words_and_lists_of_them_read_alike() {
        let text = "traces = 'a.parquet'\nschemes = ['baseline', 'sepbit']\nfill = [0.8, '90%']\n\
                    [drive]\ndevice = 'demo'\nstreams = [2, '4']\nunit = '1MiB'\n";
        let grid = Grid::parse("g.toml", text).unwrap();
        assert_eq!(grid.traces, ["a.parquet"]);
        assert_eq!(grid.fill, ["0.8", "90%"]);
        assert_eq!(grid.drive.streams, [2, 4]);
        assert_eq!(grid.seeds, [0]);
    }

    #[test]
    fn what_is_misspelt_or_empty_is_named() {
        let words = |text: &str| Grid::parse("g.toml", text).unwrap_err().to_string();
        assert!(words("traces = []\nschemes = 'all'").contains("g.toml: traces is an empty list"));
        assert!(words("traces = 'a'\nscheme = 'all'").contains("scheme"));
        let typo = "traces = 'a'\nschemes = 'all'\n[drive]\nstrems = 3";
        assert!(words(typo).contains("strems"));
    }
}
