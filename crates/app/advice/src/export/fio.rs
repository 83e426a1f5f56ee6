//! Advice as fio jobs: each replays one stream's writes of the trace with a placement identifier.
//!
//! fio's I/O log of version 3 (HOWTO, "Trace file format v3"; microseconds); `dataplacement`,
//! `plids`, `plid_select` and `dp_scheme` are of fio 3.38 and later.

use std::{fmt::Write as _, io::Cursor, path::Path};

use anabranch_compare::{CompareError, Result, Watch};
use anabranch_ssd::StreamId;
use anabranch_trace::{
    Io, Operation,
    foreign::{Format, Importer, Input, Options},
};

use super::{
    advice::{Advice, Checked},
    check::{measure_these, under_rules},
    plan::Plan,
    ranges::by_address,
    rules::{Line, document},
    survey::WriterSurvey,
};

const HEADING: &str = "fio version 3 iolog\n";
/// The time at which a log opens its file, in microseconds, and that of a request at 0. fio does not wait behind a time
/// of 0, which means "none yet" to it (`iolog.c`, `delay_since_ttime`): a stream's first request would come at once.
const FIRST_US: u64 = 1;
/// The path of the user's drive in the jobs; `--filename` on fio's command line overrules it.
const DEVICE: &str = "/dev/ng0n1";

/// The logs of a trace: one of all requests, and one of each stream's.
struct Logs {
    all: String,
    of_stream: Vec<String>,
}

impl Logs {
    fn new(streams: u16) -> Logs {
        Logs {
            all: HEADING.to_owned(),
            of_stream: (0..streams)
                .map(|stream| opened(&name(StreamId(stream))))
                .collect(),
        }
    }

    /// Adds a request to the logs. Discards and reads go with the default stream, since they carry
    /// no placement.
    fn put(&mut self, io: &Io, offset_bytes: u64, length_bytes: u64, stream: StreamId) {
        let action = match io.operation {
            Operation::Write => "write",
            Operation::Discard => "trim",
            Operation::Read => "read",
            Operation::Flush => return,
        };
        let Some(own) = self.of_stream.get_mut(usize::from(stream.0)) else {
            return;
        };
        let line = format!(
            "{} {} {action} {offset_bytes} {length_bytes}\n",
            io.time_ns / 1000 + FIRST_US,
            name(stream)
        );
        own.push_str(&line);
        self.all.push_str(&line);
    }
}

fn name(stream: StreamId) -> String {
    format!("stream-{}", stream.0)
}

fn opened(name: &str) -> String {
    format!("{HEADING}{FIRST_US} {name} add\n{FIRST_US} {name} open\n")
}

/// Makes a `dp_scheme` of address ranges, a log and a job for each stream that is used, and a job
/// for the `dp_scheme`.
pub fn jobs(
    plan: &Plan,
    survey: &WriterSurvey,
    advice: &mut Advice,
    watch: &mut dyn Watch,
) -> Result {
    by_address(plan, survey, advice, watch)?;
    let logs = logs(plan, watch)?;
    let used = |text: &String| text.lines().count() > 3;
    let mut job = String::from(GLOBAL);
    for (stream, _) in (0..)
        .zip(logs.of_stream.iter())
        .filter(|(_, text)| used(text))
    {
        let name = name(StreamId(stream));
        let _ = write!(
            job,
            "\n[{name}]\nread_iolog={name}.iolog\nreplay_redirect={DEVICE}\nplids={stream}\n"
        );
    }
    let (rules, ios) = by_tenant(&logs)?;
    let ios = plan.at_the_drive(ios);
    let cost = measure_these(plan, &under_rules(plan, &rules)?, &ios)?;
    for (stream, text) in (0..).zip(logs.of_stream).filter(|(_, text)| used(text)) {
        advice.file(&format!("fio/{}.iolog", name(StreamId(stream))), text);
    }
    advice.file("fio/streams.fio", job);
    advice.file("fio/ranges.fio", format!("{GLOBAL}{RANGES}"));
    advice.checks.push(Checked {
        what: "fio/streams.fio, a job for each stream".to_owned(),
        cost,
        loses: Some("fio knows microseconds: requests of one of them may change places".to_owned()),
    });
    Ok(())
}

const GLOBAL: &str = "\
# Issued by: whoever tests a drive, with `fio streams.fio` or `fio ranges.fio`.
# Plays a recorded trace at its own pace, with its placement, on an NVMe drive with FDP: it OVERWRITES
# that drive. For a drive with the Streams Directive: dataplacement=streams.
# fio 3.38 or newer; the device: replay_redirect.
[global]
ioengine=io_uring_cmd
cmd_type=nvme
dataplacement=fdp
iodepth=32
thread=1
";

const RANGES: &str = "
# Any writes on the drive, placed by their address. Put your own job's options here.
[by-address]
filename=/dev/ng0n1
plid_select=scheme
dp_scheme=dp_scheme
rw=randwrite
bs=4k
";

fn logs(plan: &Plan, watch: &mut dyn Watch) -> Result<Logs> {
    let mut lane = plan.lane(&plan.scheme)?;
    lane.keep_placements();
    let mut logs = Logs::new(plan.drive.host_streams);
    let page_bytes = u64::from(plan.drive.page_bytes);
    plan.each_batch("fio's logs: ", watch, &mut |ios, _| {
        for io in ios {
            lane.apply(io).map_err(CompareError::usage)?;
            if io.operation != Operation::Write {
                let offset = plan.original_bytes(io.offset_bytes);
                logs.put(io, offset, io.length_bytes, StreamId::DEFAULT);
                continue;
            }
            for &(pages, stream) in lane.placements() {
                let offset = plan.original_bytes(u64::from(pages.first) * page_bytes);
                logs.put(io, offset, u64::from(pages.count) * page_bytes, stream);
            }
        }
        Ok(())
    })?;
    Ok(logs)
}

/// Reads the logs again: the requests, each stream's as a tenant of its own, and the rules that
/// place each tenant in its stream.
fn by_tenant(logs: &Logs) -> Result<(String, Vec<Io>)> {
    let text = Cursor::new(logs.all.clone().into_bytes());
    let input = Input::new(Path::new("fio/streams.fio"), text)?;
    let mut importer = Importer::new(vec![input], Format::FioIolog, &Options::default())?;
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while importer.read_batch(&mut batch)? {
        all.append(&mut batch);
    }
    let line = |(tenant, volume): (u32, &String)| Line {
        asks: vec![("tenant", tenant.to_string())],
        stream: volume
            .rsplit('-')
            .next()
            .and_then(|number| number.parse().ok())
            .unwrap_or(0),
        hint: None,
        comments: Vec::new(),
    };
    let lines: Vec<Line> = (0..).zip(importer.volumes()).map(line).collect();
    Ok((document("streams by job", &lines), all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_begins_late_waits_for_its_first_request_from_the_opening_of_its_log() {
        let mut logs = Logs::new(2);
        let late = Io {
            time_ns: 2_000_000_000,
            ..Io::write(0, 4096)
        };
        logs.put(&Io::write(8192, 4096), 8192, 4096, StreamId(0));
        logs.put(&late, 0, 4096, StreamId(1));
        assert_eq!(
            logs.of_stream[1],
            "fio version 3 iolog\n1 stream-1 add\n1 stream-1 open\n2000001 stream-1 write 0 4096\n"
        );
        assert!(logs.of_stream[0].ends_with("\n1 stream-0 write 8192 4096\n"));
    }
}
