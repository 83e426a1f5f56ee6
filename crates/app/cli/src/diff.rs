//! `anabranch diff`: the difference of two results.

use std::path::PathBuf;

use clap::Args;

use crate::{
    answer::AnswerArguments,
    error::{CommandError, Result},
    report::read,
};

pub const EXAMPLE: &str = "\
Example: what do twice the streams change?
  anabranch replay rocksdb.parquet --streams 4 -o four.json
  anabranch replay rocksdb.parquet --streams 8 -o eight.json
  anabranch diff four.json eight.json";

#[derive(Debug, Args)]
pub struct DiffArguments {
    /// The result before
    #[arg(value_name = "BEFORE")]
    pub before: PathBuf,
    /// The result after
    #[arg(value_name = "AFTER")]
    pub after: PathBuf,
    #[command(flatten)]
    pub answer: AnswerArguments,
}

/// Prints the settings that changed and the figures that moved.
pub fn diff(arguments: &DiffArguments) -> Result {
    let before = read(&arguments.before)?;
    let after = read(&arguments.after)?;
    if before.len() != after.len() {
        return Err(CommandError::wrong_use(format!(
            "{} holds {} result(s) and {} holds {}: compare grids of the same form",
            arguments.before.display(),
            before.len(),
            arguments.after.display(),
            after.len()
        )));
    }
    let differences: Vec<_> = before
        .iter()
        .zip(&after)
        .map(|(before, after)| anabranch_report::difference(before, after))
        .collect();
    let schema = anabranch_replay::SCHEMA;
    let json = serde_json::json!({ "schema": schema, "differences": differences });
    arguments.answer.give(&json, |look| {
        let tables = differences.iter();
        let tables = tables.map(|one| anabranch_report::difference_table(one, look));
        format!("{}\n", tables.collect::<Vec<_>>().join("\n\n"))
    })
}
