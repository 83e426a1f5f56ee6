//! `anabranch record`: a block device watched, with no change to the data path.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Child, Command},
};

use anabranch_compare::{bytes, check_endurance, of_recording};
use anabranch_disk::InterruptSource;
use anabranch_probe::{CaptureFilter, LeftOut};
use anabranch_replay::Comparison;
use anabranch_report::line;
use anabranch_trace::{Capture, Rate, Sampled};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::json;

use super::{capture::Capturing, interrupt::Interrupt, meter::Meter};
use crate::{
    arguments::RecordArguments,
    block::Block,
    error::{CommandError, Result, all},
    output::is_standard_output,
    output::print,
    progress::Bar,
    readiness, say,
    source::open,
    table_layout::TableArguments,
    tenants,
};

/// Bytes of the pages that are sampled: pages of memory, which is what file systems write.
const PAGE_BYTES: u32 = 4096;
/// More than this is not replayed as soon as it is recorded (our choice: a few minutes at 500 MiB a second, 10 lanes).
const MOST_REPLAYED_BYTES: u64 = 64 << 30;

/// Records a device while a program runs, or until interrupted.
pub fn record(arguments: &RecordArguments) -> Result {
    check_endurance(&arguments.endurance, None)?;
    anabranch_probe::check().map_err(CommandError::work)?;
    if arguments.wait_ready && !readiness::is_awaited() {
        return readiness::wait();
    }
    let mut interrupt = Interrupt::watch()?;
    let block = Block::find(&arguments.device)?;
    let only = only(arguments)?;
    let is_filtered = !only.is_empty();
    let mut capturing = begin(arguments, only, &mut interrupt)?;
    let mut program = Program::start(&arguments.command)?;
    let most_bytes = arguments.max.as_deref().map(bytes).transpose()?;
    let mut meter = Meter::new(arguments.lasts, most_bytes);
    let mut was_full = false;
    let status = loop {
        capturing.poll(|_, ios| meter.count(ios))?;
        meter.draw(capturing.lost_events());
        if capturing.is_refused() {
            break None;
        }
        let is_full = meter.is_full() && !std::mem::replace(&mut was_full, meter.is_full());
        let came = interrupt
            .came()
            .or(is_full.then_some(InterruptSource::Process));
        match (&mut program, came) {
            (None, Some(_)) => break None,
            (Some(program), Some(source)) => program.interrupt(source)?,
            (_, None) => {}
        }
        if let Some(program) = &mut program
            && let Some(status) = program.child.try_wait().map_err(CommandError::work)?
        {
            break Some(status).filter(|_| !was_full);
        }
    };
    capturing.drain(|_, ios| meter.count(ios))?;
    meter.clear();
    let left_out = is_filtered.then(|| capturing.left_out());
    if !block.is_there() {
        say::line(&is_gone(&arguments.device));
    }
    let recorded = capturing.finish(block.bytes, "", &arguments.command, None, &mut interrupt);
    let capture = recorded.tables.capture.clone();
    let (kept, failed) = match recorded.keep(&arguments.output) {
        Ok(older) => (Some(older), Ok(())),
        Err(failure) => (None, Err(failure)),
    };
    let answer = kept.as_ref().and_then(|_| answer(arguments, &meter));
    let printed = report(arguments, &meter, &capture, left_out, kept, answer.as_ref());
    let ended = match status.map(anabranch_disk::status_code) {
        None | Some(0) => Ok(()),
        Some(status) => Err(CommandError {
            status,
            error: None,
        }),
    };
    all([printed, failed, ended])
}

/// Begins the capture, and tells from when on writes are seen.
fn begin(
    arguments: &RecordArguments,
    only: Vec<CaptureFilter>,
    interrupt: &mut Interrupt,
) -> Result<Capturing> {
    let mut capturing = Capturing::start(
        &arguments.device,
        &arguments.capture,
        only,
        Some(&arguments.output),
        interrupt,
    )?;
    if let Some(rate) = arguments.sample.filter(|rate| *rate > Rate::WHOLE) {
        capturing.sample(Sampled {
            rate,
            hash: arguments.seed,
            page_bytes: PAGE_BYTES,
        });
    }
    say::print_note("recording from now");
    readiness::announce()?;
    Ok(capturing)
}

/// The note on a device that was taken away meanwhile.
fn is_gone(device: &Path) -> String {
    format!(
        "{} is gone, or another than before: the trace holds what was seen until then",
        line(&device.to_string_lossy())
    )
}

/// The processes whose writes are recorded; everybody's if empty.
fn only(arguments: &RecordArguments) -> Result<Vec<CaptureFilter>> {
    let processes = arguments.pid.iter().map(|id| CaptureFilter::Process(*id));
    let groups = arguments
        .cgroup
        .iter()
        .cloned()
        .map(CaptureFilter::ControlGroup);
    let only: Vec<CaptureFilter> = processes.chain(groups).collect();
    match only.iter().find(|whose| !whose.exists()) {
        Some(CaptureFilter::Process(id)) => Err(CommandError::wrong_use(format!(
            "--pid {id}: there is no such process; `pgrep NAME` tells the id of one that runs"
        ))),
        Some(CaptureFilter::ControlGroup(path)) => Err(CommandError::wrong_use(format!(
            "--cgroup {}: there is no such control group, and no process in it; `cat /proc/PID/cgroup` \
             tells that of a process",
            path.display()
        ))),
        None => Ok(only),
    }
}

/// The answer for what was recorded, on a drive that it fills; `None` where the recording is too large to replay at
/// once, writes nothing, is on standard output, or gives none, which is noted.
fn answer(arguments: &RecordArguments, meter: &Meter) -> Option<Comparison> {
    let is_there = !is_standard_output(&arguments.output) && meter.written_bytes() > 0;
    if !is_there || meter.written_bytes() > MOST_REPLAYED_BYTES {
        return None;
    }
    let found = open(&arguments.output, None, false).and_then(|trace| {
        Ok(of_recording(
            &arguments.endurance,
            &trace,
            &mut Bar::default(),
        )?)
    });
    match found {
        Ok(answer) => answer,
        Err(failure) => {
            if let Some(error) = failure.error {
                say::print_note(&format!("no answer from the recording: {error:#}"));
            }
            None
        }
    }
}

/// Prints a report on the recording, unless the trace itself is on standard output. `kept` is `None` if the trace could
/// not be written, else it holds the name that the older trace has now.
fn report(
    arguments: &RecordArguments,
    meter: &Meter,
    capture: &Capture,
    left_out: Option<LeftOut>,
    kept: Option<Option<PathBuf>>,
    answer: Option<&Comparison>,
) -> Result {
    let trace = line(&arguments.output.to_string_lossy());
    if is_standard_output(&arguments.output) {
        return Ok(());
    }
    if arguments.json {
        return print(&format!(
            "{:#}\n",
            json!({
                "schema": 1,
                "trace": kept.as_ref().map(|_| &arguments.output),
                "older_trace": kept.flatten(),
                "requests": meter.requests(),
                "written_bytes": meter.written_bytes(),
                "left_out": left_out.map(|left_out| json!({
                    "writes": left_out.writes,
                    "written_bytes": left_out.written_bytes,
                    "kernel_bytes": left_out.kernel_bytes,
                    "reads": left_out.reads,
                })),
                "capture": capture,
                "verdict": answer.and_then(|answer| answer.verdict.as_ref()),
            })
        ));
    }
    let older = match kept {
        None => " (NOT written)".to_owned(),
        Some(None) => String::new(),
        Some(Some(older)) => format!(" (the older one is now {})", older.display()),
    };
    print(&format!(
        "{trace}{older}: {} requests, {} events lost\n",
        meter.requests(),
        capture.lost_events
    ))?;
    let mut lines = tenants::report_lines(&capture.tenants, &capture.limitations, "note: ");
    lines.try_for_each(|line| print(&(line + "\n")))?;
    match answer {
        Some(answer) => print(&format!(
            "\n{}\n",
            anabranch_report::answer(answer, &TableArguments::default().layout())
        )),
        None => Ok(()),
    }
}

/// The program that runs while the device is recorded.
struct Program {
    child: Child,
    was_interrupted: bool,
}

impl Program {
    fn start(command: &[OsString]) -> Result<Option<Program>> {
        let Some((name, arguments)) = command.split_first() else {
            return Ok(None);
        };
        let child = Command::new(name).args(arguments).spawn();
        let child = child.map_err(|error| {
            CommandError::wrong_use(format!(
                "{}: cannot be started ({error}): is it installed, and on the PATH that sudo leaves?",
                name.to_string_lossy()
            ))
        })?;
        Ok(Some(Program {
            child,
            was_interrupted: false,
        }))
    }

    /// Passes an interruption on to the program: the first asks it to end, unless the terminal has
    /// done so, the second kills it. The program is waited for either way.
    fn interrupt(&mut self, source: InterruptSource) -> Result {
        if self.was_interrupted {
            self.child.kill().map_err(CommandError::work)?;
        } else if let (InterruptSource::Process, Ok(pid)) = (source, i32::try_from(self.child.id()))
        {
            // It may have ended since: nothing to do then.
            let _ = kill(Pid::from_raw(pid), Signal::SIGINT);
        }
        self.was_interrupted = true;
        Ok(())
    }
}
