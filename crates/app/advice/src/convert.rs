//! Conversion of a trace to a foreign form: one file, packed as its name says.

use std::{io, path::Path};

use anabranch_compare::{CompareError, Requests, Result, Watch};
use anabranch_report::bytes;
use anabranch_trace::{
    Capture, Tables, WholeFile,
    foreign::{Exported, Exporter, Form, Packed},
};
use serde::Serialize;

/// Version of the JSON.
const SCHEMA: u32 = 1;

/// The outcome of writing a trace in a foreign form.
#[derive(Debug, Clone, Serialize)]
pub struct Converted {
    /// Version of the JSON.
    pub schema: u32,
    /// The name of the form.
    pub format: &'static str,
    /// Counts of what was written, and of what the form could not hold.
    pub exported: Exported,
    #[serde(skip)]
    form: Form,
}

impl Converted {
    /// Lines for people on what was written and lost; `output` is the file's path.
    pub fn report_lines(&self, output: &Path) -> Vec<String> {
        let form = self.form;
        let mut told = vec![
            format!("format {}: {}", form.name(), form.about()),
            format!(
                "{} requests; {}",
                self.exported.requests,
                lost(form, &self.exported)
            ),
        ];
        told.extend(how_to_read(form, output));
        told
    }
}

/// Writes a trace in a foreign form, to a file that appears whole or not at all.
///
/// # Errors
/// When the trace cannot be read, or holds nothing that the form can express; when the file cannot be written; or when
/// the watch ends the work.
pub fn convert(
    source: &dyn Requests,
    form: Form,
    output: &Path,
    watch: &mut dyn Watch,
) -> Result<Converted> {
    let tables = source.tables().cloned();
    let tables = tables.unwrap_or_else(|| Tables::new(Capture::default()));
    let failed = |error: io::Error| cannot_write(output, &error);
    let file = WholeFile::create(output)?;
    let packed = Packed::by_name(output, file).map_err(failed)?;
    let mut exporter = Exporter::new(form, &tables, packed);
    watch.begin(&source.name());
    source.each_batch(&mut |ios, share| {
        watch.done(share)?;
        ios.iter()
            .try_for_each(|io| exporter.push(io))
            .map_err(failed)
    })?;
    let (packed, done) = exporter.finish().map_err(failed)?;
    watch.end();
    if done.requests == 0 {
        return Err(CompareError::wrong_use(format!(
            "{} holds no request that {} has a word for; {}",
            source.name(),
            form.name(),
            lost(form, &done)
        )));
    }
    packed.finish().map_err(failed)?.finish()?;
    Ok(Converted {
        schema: SCHEMA,
        format: form.name(),
        exported: done,
        form,
    })
}

/// The fault for a file that cannot be written.
pub fn cannot_write(path: &Path, error: &io::Error) -> CompareError {
    CompareError::failed(format!("cannot write {}: {error}", path.display()))
}

/// The options needed to read the file again, where its content does not tell the format.
fn how_to_read(form: Form, output: &Path) -> Option<String> {
    (form == Form::Csv).then(|| {
        format!(
            "to read it again: anabranch import {} --format csv --columns '{}' -o FILE",
            output.display(),
            Form::COLUMNS
        )
    })
}

/// One line on what the form could not hold.
fn lost(form: Form, done: &Exported) -> String {
    let holds = form.holds();
    let contexts = if holds.names {
        "contexts known by the process's name alone"
    } else {
        "contexts"
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
        (done.times_held, "times that went back"),
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

/// The name of a unit of time.
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
        for form in Form::ALL.iter().copied() {
            let ns = form.holds().time_unit_ns;
            assert!(ns == 1 || unit(ns) != "nanoseconds", "{}", form.name());
        }
    }
}
