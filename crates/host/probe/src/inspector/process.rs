//! The inspector's own process: it answers one question after another until nobody asks any more.

use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::{env, io, process};

use nix::unistd::alarm;

use super::call_frames::CallFrames;
use super::code_file::mapped;
use super::confinement::confine;
use super::maps::mappings;
use super::message::{Answer, CodeFile, CodePlace, MARK, Program, Question, WORD, receive, send};
use super::perf_map::PerfMaps;
use super::symbol_files::SymbolFiles;
use crate::build_id::build_id_of;
use crate::image::image_of;
use crate::unwinding::Rule;

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
        Question::Rules(files, places) => Answer::Rules(rules(files, places)),
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

/// The rules of places in files. A file that cannot be read has none.
fn rules(files: &[CodeFile], places: &[CodePlace]) -> Vec<Rule> {
    let files: Vec<_> = files.iter().map(mapped).collect();
    let mut frames: Vec<_> = files
        .iter()
        .map(|file| file.as_deref().map(CallFrames::of))
        .collect();
    let rules = places.iter().map(|place| {
        let frames = frames.get_mut(place.file).and_then(Option::as_mut);
        frames.map_or(Rule::UNKNOWN, |frames| {
            frames.rule(place.offset, place.is_return)
        })
    });
    rules.collect()
}
