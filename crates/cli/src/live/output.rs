//! Where the program's own output goes: a file, or standard error above the live view.

use std::{
    io::{BufRead as _, BufReader, PipeReader, Write as _, pipe},
    path::Path,
    process::Stdio,
    thread::{self, JoinHandle},
};

use indicatif::MultiProgress;

use crate::failure::{Failure, Outcome};

/// The program's two output streams, and the thread that passes them on, if one is needed.
#[derive(Debug)]
pub struct Output {
    pub stdout: Stdio,
    pub stderr: Stdio,
    passing: Option<PipeReader>,
}

impl Output {
    /// Both streams into a file, whatever was in it before, or to standard error.
    pub fn new(log: Option<&Path>) -> Outcome<Output> {
        let fail = |error| Failure::work(anyhow::Error::new(error).context("the program's output"));
        if let Some(path) = log {
            let file = std::fs::File::create(path).map_err(|error| {
                Failure::work(anyhow::anyhow!("cannot create {}: {error}", path.display()))
            })?;
            let second = file.try_clone().map_err(fail)?;
            return Ok(Output {
                stdout: file.into(),
                stderr: second.into(),
                passing: None,
            });
        }
        let (reader, writer) = pipe().map_err(fail)?;
        let second = writer.try_clone().map_err(fail)?;
        Ok(Output {
            stdout: writer.into(),
            stderr: second.into(),
            passing: Some(reader),
        })
    }

    /// The two streams for the program, and the thread that prints what it says above the view.
    pub fn split(self, terminal: MultiProgress) -> (Stdio, Stdio, Option<JoinHandle<()>>) {
        let thread = self
            .passing
            .map(|reader| thread::spawn(move || pass_on(reader, &terminal)));
        (self.stdout, self.stderr, thread)
    }
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
        let last = text.rsplit('\r').next().unwrap_or(text).to_owned();
        terminal.suspend(|| {
            let _ = writeln!(std::io::stderr(), "{last}");
        });
        line.clear();
    }
}
