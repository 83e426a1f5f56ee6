//! Where the program's own output goes: a file, or standard error above the live view.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, PipeReader, Write as _, pipe},
    path::Path,
    thread::{self, JoinHandle},
};

use anabranch_disk::Output;
use indicatif::MultiProgress;

use crate::failure::{Failure, Outcome};

/// The program's two output streams as one: into a file, whatever was in it before, or, by a
/// thread that passes them on, to standard error above the view.
pub fn output(
    log: Option<&Path>,
    terminal: MultiProgress,
) -> Outcome<(Output, Option<JoinHandle<()>>)> {
    let fail = |error| Failure::work(anyhow::Error::new(error).context("the program's output"));
    if let Some(path) = log {
        let file = File::create(path).map_err(|error| {
            Failure::work(anyhow::anyhow!("cannot create {}: {error}", path.display()))
        })?;
        let stdout = file.try_clone().map_err(fail)?.into();
        return Ok((
            Output {
                stdout,
                stderr: file.into(),
            },
            None,
        ));
    }
    let (reader, writer) = pipe().map_err(fail)?;
    let stdout = writer.try_clone().map_err(fail)?.into();
    let passing = thread::spawn(move || pass_on(reader, &terminal));
    Ok((
        Output {
            stdout,
            stderr: writer.into(),
        },
        Some(passing),
    ))
}

/// A progress meter that rewrites its line with carriage returns shows as its last state.
fn pass_on(reader: PipeReader, terminal: &MultiProgress) {
    let mut lines = BufReader::new(reader);
    let mut line = Vec::new();
    while lines
        .read_until(b'\n', &mut line)
        .is_ok_and(|read| read > 0)
    {
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\n', '\r']);
        say(terminal, text.rsplit('\r').next().unwrap_or(text));
        line.clear();
    }
}

/// A line on standard error, above the view.
pub fn say(terminal: &MultiProgress, line: &str) {
    terminal.suspend(|| {
        let _ = writeln!(std::io::stderr(), "{line}");
    });
}
