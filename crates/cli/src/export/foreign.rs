//! A trace in another's form: one file, packed as its name says.

use std::{io, path::Path};

use anabranch_report::bytes;
use anabranch_trace::{
    Capture, Tables, WholeFile,
    foreign::{Exported, Exporter, Form, Packed},
};
use serde_json::json;

use super::{ExportArguments, Target, cannot_write};
use crate::{
    comparison::print,
    failure::{Failure, Outcome},
    import::tell::say,
    progress, source,
};

/// Version of the JSON.
const SCHEMA: u32 = 1;

/// The form that is asked for, if one is. It is one file, and alone.
pub fn asked(arguments: &ExportArguments) -> Outcome<Option<Form>> {
    let form = |target: &Target| match target {
        Target::Trace(form) => Some(*form),
        _ => None,
    };
    let Some(form) = arguments.targets.iter().find_map(form) else {
        return Ok(None);
    };
    if arguments.targets.len() > 1 {
        return Err(Failure::say(format!(
            "--to {} writes one file, which -o names: export it by itself",
            form.name()
        )));
    }
    let useless = [
        ("--scheme", arguments.scheme.is_some()),
        ("--trace", arguments.trace.is_some()),
        ("--profile", arguments.profile.is_some()),
    ];
    match useless.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Failure::say(format!(
            "--to {} writes the trace as it is: {option} has no use there",
            form.name()
        ))),
        None => Ok(Some(form)),
    }
}

/// Writes the source in that form, and says what was lost.
pub fn write(arguments: &ExportArguments, form: Form) -> Outcome {
    let (path, output) = (&arguments.source, &arguments.output);
    let trace = source::open(path, None, false)?;
    let tables = trace.tables.clone();
    let tables = tables.unwrap_or_else(|| Tables::new(Capture::default()));
    let failed = |error: io::Error| cannot_write(output, &error);
    let file = WholeFile::create(output)?;
    let packed = Packed::by_name(output, file).map_err(failed)?;
    let mut exporter = Exporter::new(form, &tables, packed);
    let bar = progress::bar(&path.display().to_string());
    trace.each_batch(|ios, share| {
        bar.set_position((share * 1000.0) as u64);
        for io in ios {
            exporter.push(io).map_err(failed)?;
        }
        Ok::<(), Failure>(())
    })?;
    let (packed, done) = exporter.finish().map_err(failed)?;
    bar.finish_and_clear();
    if done.requests == 0 {
        return Err(Failure::say(format!(
            "{} holds no request that {} has a word for; {}",
            path.display(),
            form.name(),
            lost(form, &done)
        )));
    }
    packed.finish().map_err(failed)?.finish()?;
    say(&format!("format {}: {}", form.name(), form.about()));
    say(&format!(
        "{} requests; {}",
        done.requests,
        lost(form, &done)
    ));
    if let Some(read) = how_to_read(form, output) {
        say(&read);
    }
    match arguments.json {
        true => print(&format!(
            "{:#}\n",
            json!({ "schema": SCHEMA, "format": form.name(), "exported": done })
        )),
        false => Ok(()),
    }
}

/// What has to be said to read the file again, where its looks do not tell.
fn how_to_read(form: Form, output: &Path) -> Option<String> {
    (form == Form::Csv).then(|| {
        format!(
            "to read it again: anabranch import {} --format csv --columns '{}' -o FILE",
            output.display(),
            Form::COLUMNS
        )
    })
}

/// In one line what the form could not hold.
fn lost(form: Form, done: &Exported) -> String {
    let holds = form.holds();
    let contexts = match holds.names {
        true => "contexts known by the process's name alone",
        false => "contexts",
    };
    let cut = format!("times cut to {}", unit(holds.time_unit_ns));
    let unaligned = format!(
        "made whole units of {} (discards narrowed, others widened)",
        bytes(holds.offset_unit_bytes)
    );
    let losses = [
        (done.reads_left_out, "reads left out"),
        (done.discards_left_out, "discards left out"),
        (done.flushes_left_out, "flushes left out"),
        (done.times_cut, cut.as_str()),
        (done.unaligned, unaligned.as_str()),
        (done.split, "split"),
        (done.volumes_lost, "volumes"),
        (done.contexts_lost, contexts),
        (done.files_lost, "files"),
        (done.hints_lost, "hints"),
    ];
    let told: Vec<String> = losses
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{what} {count}"))
        .collect();
    match told.as_slice() {
        [] => "nothing is lost".into(),
        told => format!("lost: {}", told.join(", ")),
    }
}

/// A unit of time in words.
fn unit(ns: u64) -> &'static str {
    match ns {
        1_000_000_000 => "seconds",
        1_000 => "microseconds",
        100 => "100 nanoseconds",
        _ => "nanoseconds",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_lost_is_told() {
        let done = Exported {
            requests: 5,
            flushes_left_out: 2,
            times_cut: 3,
            contexts_lost: 4,
            ..Exported::default()
        };
        let words = lost(Form::Alibaba, &done);
        assert_eq!(
            words,
            "lost: flushes left out 2, times cut to microseconds 3, contexts 4"
        );
        assert_eq!(lost(Form::Csv, &Exported::default()), "nothing is lost");
    }

    #[test]
    fn every_unit_of_a_form_has_its_word() {
        for form in Form::ALL {
            let ns = form.holds().time_unit_ns;
            assert!(ns == 1 || unit(ns) != "nanoseconds", "{}", form.name());
        }
    }
}
