//! The target of the program's own output: a file, or standard error above the live view.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, PipeReader, Write as _, pipe},
    os::fd::OwnedFd,
    path::Path,
    thread::{self, JoinHandle},
};

use anabranch_disk::Output;
use indicatif::MultiProgress;

use crate::{
    error::{CommandError, Result},
    say,
};

/// The output of programs: both streams of each as one.
#[derive(Debug)]
pub struct Voice {
    end: OwnedFd,
    passing: Option<JoinHandle<()>>,
}

impl Voice {
    /// Opens the output: a file that is overwritten, or a pipe that a thread passes on to standard
    /// error above the view.
    pub fn open(log: Option<&Path>, terminal: MultiProgress) -> Result<Voice> {
        if let Some(path) = log {
            let file = File::create(path).map_err(|error| {
                CommandError::work(anyhow::anyhow!("cannot create {}: {error}", path.display()))
            })?;
            return Ok(Voice {
                end: file.into(),
                passing: None,
            });
        }
        let (reader, writer) = pipe().map_err(broken)?;
        let passing = thread::spawn(move || pass_on(reader, &terminal));
        Ok(Voice {
            end: writer.into(),
            passing: Some(passing),
        })
    }

    /// The two streams for one more program.
    pub fn output(&self) -> Result<Output> {
        Ok(Output {
            stdout: self.end.try_clone().map_err(broken)?.into(),
            stderr: self.end.try_clone().map_err(broken)?.into(),
        })
    }

    /// Waits until everything printed is passed on. To be called when no program lives that could
    /// print.
    pub fn finish(self) {
        drop(self.end);
        if let Some(passing) = self.passing {
            let _ = passing.join();
        }
    }
}

fn broken(error: std::io::Error) -> CommandError {
    CommandError::work(anyhow::Error::new(error).context("the program's output"))
}

/// Passes output on. Of a progress meter that rewrites its line with carriage returns, the last
/// state is shown.
fn pass_on(reader: PipeReader, terminal: &MultiProgress) {
    let mut lines = BufReader::new(reader);
    let mut line = Vec::new();
    while lines
        .read_until(b'\n', &mut line)
        .is_ok_and(|read| read > 0)
    {
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\n', '\r']);
        repeat(terminal, text.rsplit('\r').next().unwrap_or(text));
        line.clear();
    }
}

/// Prints a program's line on standard error, above the view, as it is.
fn repeat(terminal: &MultiProgress, line: &str) {
    terminal.suspend(|| {
        let _ = writeln!(std::io::stderr(), "{line}");
    });
}

/// Prints a note above the view.
pub fn note_above(terminal: &MultiProgress, words: &str) {
    terminal.suspend(|| say::print_note(words));
}
