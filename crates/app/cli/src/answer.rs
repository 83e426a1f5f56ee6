//! The answer of a verb that has one table, and where it goes.

use std::path::PathBuf;

use anabranch_report::Look;
use clap::Args;
use serde_json::Value;

use crate::{error::Result, output::give, table_layout::TableArguments};

/// Outputs of a verb that has one table.
#[derive(Debug, Args)]
pub struct AnswerArguments {
    /// Print as JSON, with all rows
    #[arg(long)]
    pub json: bool,
    /// Write the same as JSON to FILE as well
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub tables: TableArguments,
}

impl AnswerArguments {
    /// Gives a finding as [`give`] does, where the text is made for a look.
    pub fn give(&self, json: &Value, told: impl FnOnce(&Look) -> String) -> Result {
        give(json, self.output.as_deref(), self.json, || {
            told(&self.tables.layout())
        })
    }
}
