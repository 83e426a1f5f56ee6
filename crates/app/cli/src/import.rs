//! `anabranch import`: foreign traces become traces of Anabranch.

mod dense;
mod files;
pub mod report;

use std::io::Write;

use anabranch_compare::{Format, overlap};
use anabranch_trace::{
    Io, Tables, Writer,
    foreign::{self, ColumnMap, Importer, Input, Options, Survey},
};
use indicatif::ProgressBar;

use crate::{
    arguments::{EventChoice, ImportArguments},
    error::{CommandError, Result},
    progress, source,
};

/// Reads foreign traces and writes them as one trace of Anabranch.
pub fn import(arguments: &ImportArguments) -> Result {
    let files = files::InputFiles::find(&arguments.files)?;
    let options = options(arguments)?;
    let mut inputs = files.open()?;
    let format = format(arguments.format, &mut inputs, &options)?;
    let mut importer = Importer::new(inputs, format, &options)?;
    let bar = progress::bar(&files.name());
    let share = |importer: &Importer| files.share(importer.packed_bytes());
    let output = &arguments.output;
    let (survey, dense) = if arguments.renumber {
        let (survey, dense) = dense::write(&mut importer, output, &bar, share)?;
        (survey, Some(dense))
    } else {
        let writer = Writer::create(output)?;
        let (survey, tables, writer) =
            write(&mut importer, writer, &bar, share, Some(&files.name()))?;
        writer.finish(&tables)?;
        (survey, None)
    };
    bar.finish_and_clear();
    let done = report::ImportReport {
        format,
        importer: &importer,
        survey,
        dense,
    };
    done.print(arguments.json)
}

fn options(arguments: &ImportArguments) -> Result<Options> {
    let columns = arguments.columns.as_deref().map(ColumnMap::parse);
    Ok(Options {
        skip_bad: arguments.skip_bad,
        event: arguments.event.map(|event| match event {
            EventChoice::Queue => foreign::Event::Queue,
            EventChoice::Issue => foreign::Event::Issue,
            EventChoice::Complete => foreign::Event::Complete,
        }),
        volume: arguments.volume.clone(),
        columns: columns.transpose().map_err(CommandError::usage)?,
    })
}

/// The format asked for, or the one that the first input looks like; it is printed in both cases.
fn format(asked: Format, inputs: &mut [Input], options: &Options) -> Result<foreign::Format> {
    let format = match (asked, inputs.first_mut()) {
        (Format::Foreign(format), _) => format,
        (_, Some(first)) => first.sniff_with(options)?,
        (_, None) => return Err(CommandError::wrong_use("no trace to read")),
    };
    source::note_format(asked, format);
    Ok(format)
}

/// Writes all requests of an importer to a trace that is not finished yet. `one_volume` is the
/// trace's name if it may have one volume only.
fn write<F: Write + Send + 'static>(
    importer: &mut Importer,
    mut writer: Writer<F>,
    bar: &ProgressBar,
    share: impl Fn(&Importer) -> f64,
    one_volume: Option<&str>,
) -> Result<(Survey, Tables, Writer<F>)> {
    let (mut ios, mut survey) = (Vec::<Io>::new(), Survey::default());
    let mut volume = None;
    while importer.read_batch(&mut ios)? {
        bar.set_position((share(importer) * 1000.0) as u64);
        for io in &ios {
            let first = *volume.get_or_insert(io.tenant);
            match one_volume {
                Some(name) if first != io.tenant => {
                    let numbers = [first, io.tenant];
                    return Err(overlap(name, importer.volumes(), numbers).into());
                }
                _ => survey.record(io),
            }
        }
        // In a loop of their own, the surveys' look-ups of one request do not wait for those of another.
        writer.push_all(&ios)?;
    }
    if survey.summary().requests() == 0 {
        return Err(report::nothing(importer));
    }
    Ok((survey, importer.tables(), writer))
}
