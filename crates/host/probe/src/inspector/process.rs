//! The inspector's own process: it answers one question after another until nobody asks any more.

use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::{env, io, process};

use nix::unistd::alarm;

use super::code_file::mapped;
use super::confinement::confine;
use super::maps::mappings;
use super::message::{Answer, CodeFile, MARK, Program, Question, WORD, receive, send};
use super::perf_map::PerfMaps;
use super::symbol_files::SymbolFiles;
use crate::build_id::build_id_of;
use crate::image::image_of;
use crate::return_address::{CodePlace, Verdict, Within, judge, leads_on};

/// Becomes an inspector, and never returns, in a process that a probe started as one; else does nothing. IMPORTANT: a
/// program that attaches a probe calls this first in `main`, since inspectors are this program, run again.
pub fn inspect_if_asked() {
    let is_asked = env::args_os().nth(1).is_some_and(|word| word == WORD);
    if is_asked && env::var_os(MARK).is_some() {
        process::exit(i32::from(serve().is_err()));
    }
}

/// Answers what is asked on standard input.
fn serve() -> io::Result<()> {
    let mut stream = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let Question::Begin(limits) = receive(&mut stream)? else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    confine(&limits)?;
    send(&mut stream, &Answer::Ready)?;
    let (mut files, mut maps) = (SymbolFiles::default(), PerfMaps::default());
    loop {
        let question = receive(&mut stream)?;
        // Should nobody be there to end this process, the signal does: its default action.
        alarm::set(limits.seconds.saturating_add(1));
        let answer = answer(&question, &mut files, &mut maps);
        alarm::cancel();
        send(&mut stream, &answer)?;
    }
}

fn answer(question: &Question, files: &mut SymbolFiles, maps: &mut PerfMaps) -> Answer {
    match question {
        Question::Begin(_) => Answer::Ready,
        Question::Program(tgid) => Answer::Program(program(*tgid)),
        Question::BuildId(file) => Answer::Text(mapped(file).and_then(|bytes| build_id_of(&bytes))),
        Question::Calls(files, words, most) => Answer::Calls(calls(files, words, *most)),
        Question::Symbol(call) => Answer::Text(files.symbol(call)),
        Question::Functions(tgid, addresses) => Answer::Functions(maps.functions(*tgid, addresses)),
    }
}

fn program(tgid: u32) -> Program {
    let mappings = mappings(tgid).unwrap_or_default();
    // Only now is it certain whose mappings these were: the process may have called execve.
    Program {
        image: image_of(tgid),
        mappings,
    }
}

/// Judges the words of a stack. A file that cannot be read tells nothing against a word.
fn calls(files: &[CodeFile], words: &[Option<CodePlace>], most: usize) -> Vec<Verdict> {
    let files: Vec<_> = files.iter().map(mapped).collect();
    let bytes = |place: CodePlace| files.get(place.file)?.as_deref();
    let leads = |_, place: CodePlace, inner: Option<CodePlace>| {
        let within = inner.and_then(|inner| {
            if inner.file == place.file {
                return Some(Within::Here(inner.offset));
            }
            Some(Within::There(bytes(inner)?, inner.offset))
        });
        Some(bytes(place).is_none_or(|bytes| leads_on(bytes, place.offset, within)))
    };
    judge(words, most, leads).unwrap_or_default()
}
