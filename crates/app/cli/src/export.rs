//! `anabranch export`: advice for other programs, and traces in foreign forms.

mod summary;

use std::path::PathBuf;

use anabranch_advice::{ExportOptions, Source, advise, convert};
use clap::Args;

use crate::{
    error::Result,
    output::{json, print},
    progress::Bar,
    say, source,
};

pub const EXAMPLE: &str = "\
Examples:
  anabranch export rocksdb.parquet --to rules,fdp -o advice      # what pcstream found, as rules
  anabranch export result.json --to fio -o advice                # the best scheme of a result, for fio
  anabranch export rocksdb.parquet --scheme hints --to rocksdb -o advice
  anabranch replay rocksdb.parquet --scheme manual:rules=advice/rules.toml
  anabranch export rocksdb.parquet --to msr -o rocksdb.csv.gz    # the trace itself, for other tools
Each piece is fed back before it is written: the same writes, placed as it says, on the same drive.
What it costs beside the scheme it was made from is told, and what it cannot say.";

#[derive(Debug, Args)]
pub struct ExportArguments {
    /// A trace, a result of `run` or `replay`, or lifetimes that `replay --lifetimes` kept
    #[arg(value_name = "SOURCE")]
    pub source: PathBuf,
    #[command(flatten)]
    pub options: ExportOptions,
    /// Print what was written, and what it is worth, as JSON
    #[arg(long)]
    pub json: bool,
    /// The directory to write advice to, files of the same names being replaced; of a trace the file,
    /// packed if its name ends with .gz or .zst
    #[arg(short = 'o', long = "output", value_name = "DIR|FILE")]
    pub output: PathBuf,
}

/// Writes advice into a directory, with what each piece is worth, or a trace into a file.
pub fn export(arguments: &ExportArguments) -> Result {
    let (options, output) = (&arguments.options, &arguments.output);
    let watch = &mut Bar::default();
    let Some(form) = options.form()? else {
        let advice = advise(Source::File(arguments.source.clone()), options, watch)?;
        advice.write(output)?;
        return if arguments.json {
            print(&format!("{:#}\n", advice.as_json()))
        } else {
            print(&summary::advice(&advice, output))
        };
    };
    let trace = source::open(&arguments.source, None, false)?;
    let done = convert(&trace, form, output, watch)?;
    source::note_remarks(&trace);
    done.report_lines(output)
        .iter()
        .for_each(|line| say::print_note(line));
    if arguments.json {
        print(&format!("{:#}\n", json(&done)?))
    } else {
        Ok(())
    }
}
