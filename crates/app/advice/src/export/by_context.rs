//! Advice by program context: placement identifiers, and the write streams of io_uring that stand for them.

use std::collections::BTreeMap;

use anabranch_compare::{Result, Watch};
use anabranch_lifetime::Weighted;
use anabranch_placement::{KnownLifetime, KnownLifetimes};
use anabranch_report::{bytes, line};
use anabranch_trace::Context;

use super::{
    advice::{Advice, Checked, File},
    names::issued,
    plan::Plan,
    rules::{Line, MAX_RULES, Way, best, describe_writer, document, groups, lost, ways},
    survey::{Tally, WriterSurvey},
};
use crate::contexts::call;

const BY_KERNEL: &str = "what sees call paths, `anabranch steer --scheme manual:rules=fdp.toml`; or the application, \
                         which gives each of its writes the identifier";

const BY_PROGRAM: &str = "the program, which names the stream in each write that it submits";

/// The head of the text for programs with io_uring (Linux `include/uapi/linux/io_uring.h`, `struct io_uring_sqe`).
const IO_URING: &str = "\
# On the block device itself, with Linux 6.16 or newer: a file system passes no write stream on, but hints (hints.toml).
# The number goes into the submission of each write:
#   C, liburing      io_uring_prep_write(sqe, device, buffer, bytes, offset); sqe->write_stream = N;
#   Rust, io-uring   opcode::Write::new(device, buffer, bytes).offset(offset).write_stream(N).build()
#   a binding without the field sets it itself: one byte of the submission, beside splice_fd_in
# 0 is no stream, 1 the drive's first handle. `anabranch doctor DEVICE` reports how many the kernel offers.
";

/// The write stream that stands for a placement identifier: 0 is none (Linux `drivers/nvme/host/core.c`,
/// `nvme_setup_rw`: the handle is the stream's number less one).
fn write_stream(placement: u16) -> u32 {
    u32::from(placement) + 1
}

/// Makes placement identifiers by program context: as a table, as rules, and as a text for programs with io_uring.
pub fn by_context(
    plan: &Plan,
    survey: &WriterSurvey,
    advice: &mut Advice,
    watch: &mut dyn Watch,
) -> Result {
    let rows = rows(plan, survey);
    let tallies: Vec<&Tally> = rows.iter().map(|row| row.tally).collect();
    let ways = ways(&tallies, plan.drive.host_streams, survey.written_pages);
    let lines = |way: &Way| {
        let lines = rows.iter().zip(&way.streams);
        let lines = lines.map(|(row, stream)| row.line(*stream, plan, survey));
        (way.told, lines.collect::<Vec<Line>>())
    };
    let told = "placement identifiers by program context";
    let Some((way, text, cost)) = best(plan, told, ways.iter().map(lines).collect(), watch)? else {
        return Ok(());
    };
    advice.file("fdp.toml", issued(BY_KERNEL, &text));
    let chosen = ways.iter().find(|one| one.told == way);
    let streams = chosen.map_or(&[][..], |way| way.streams.as_slice());
    advice.file(
        "fdp.csv",
        table(&rows, streams, u64::from(plan.drive.page_bytes)),
    );
    advice.file(
        "io_uring.txt",
        issued(BY_PROGRAM, &for_io_uring(&rows, streams, plan, survey)),
    );
    let own: Vec<u16> = tallies.iter().map(|tally| tally.stream()).collect();
    advice.checks.push(Checked {
        what: format!("fdp.toml and fdp.csv, {way}"),
        cost,
        loses: lost(&tallies, &own, survey.written_pages, "contexts"),
    });
    Ok(())
}

/// A program context and its writes.
struct Row<'a> {
    context: &'a Context,
    tally: &'a Tally,
}

/// The contexts that wrote most.
fn rows<'a>(plan: &'a Plan, survey: &'a WriterSurvey) -> Vec<Row<'a>> {
    let row = |(row, tally): (&u32, &'a Tally)| {
        let context = plan.tables.contexts.get(*row as usize)?;
        (context.signature != 0).then_some(Row { context, tally })
    };
    let rows = survey.contexts.by_weight();
    rows.into_iter().filter_map(row).take(MAX_RULES).collect()
}

impl Row<'_> {
    fn path(&self) -> String {
        let calls: Vec<String> = self.context.frames.iter().map(call).collect();
        match self.context.generation {
            0 => calls.join(" < "),
            generation => format!("{} (generation {generation})", calls.join(" < ")),
        }
    }

    fn line(&self, stream: u16, plan: &Plan, survey: &WriterSurvey) -> Line {
        let what = describe_writer(
            self.tally,
            u64::from(plan.drive.page_bytes),
            survey.written_pages,
        );
        Line {
            asks: vec![("context", format!("{:016x}", self.context.signature))],
            stream,
            hint: None,
            comments: vec![format!("{} {}", self.context.role, self.path()), what],
        }
    }
}

/// The call paths of each write stream.
fn for_io_uring(rows: &[Row<'_>], streams: &[u16], plan: &Plan, survey: &WriterSurvey) -> String {
    let mut of_stream: BTreeMap<u32, String> = BTreeMap::new();
    for (row, placement) in rows.iter().zip(streams) {
        let what = describe_writer(
            row.tally,
            u64::from(plan.drive.page_bytes),
            survey.written_pages,
        );
        let writer = line(&format!("{} {}", row.context.role, row.path()));
        let text = of_stream.entry(write_stream(*placement)).or_default();
        *text += &format!("  {writer}\n    {what}\n");
    }
    let sections = of_stream.iter();
    let sections = sections.map(|(stream, writers)| format!("\nwrite_stream {stream}\n{writers}"));
    IO_URING.to_owned() + &sections.collect::<String>()
}

fn table(rows: &[Row<'_>], streams: &[u16], page_bytes: u64) -> String {
    let mut table = String::from(
        "context,placement_id,write_stream,written_bytes,lifetime_p50_bytes,role,call_path\n",
    );
    for (row, stream) in rows.iter().zip(streams) {
        let profile = &row.tally.profile;
        let median = profile.lifetimes.quantile_pages(0.5);
        table += &format!(
            "{:016x},{stream},{},{},{},{},{}\n",
            row.context.signature,
            write_stream(*stream),
            profile.written_pages * page_bytes,
            median.map_or_else(String::new, |pages| (pages * page_bytes).to_string()),
            cell(&row.context.role),
            cell(&row.path())
        );
    }
    table
}

/// Quotes a cell for a CSV (RFC 4180: quotes are doubled). Names of programs are foreign text: control characters are
/// escaped.
fn cell(text: &str) -> String {
    format!("\"{}\"", line(text).replace('"', "\"\""))
}

/// Makes placement identifiers of contexts of which only lifetimes are known.
pub fn of_lifetimes(profile: &KnownLifetimes, streams: u16) -> Vec<File> {
    let mut known: Vec<&KnownLifetime> = profile.contexts().iter().collect();
    known.sort_by_key(|one| std::cmp::Reverse(one.written_bytes));
    let points: Vec<Weighted> = known
        .iter()
        .map(|one| Weighted {
            value: (one.lifetime_bytes as f64).log2(),
            weight: one.written_bytes.max(1) as f64,
        })
        .collect();
    let streams = groups(&points, streams, 0.0);
    let mut table = String::from("context,placement_id,write_stream,lifetime_mean_bytes\n");
    let mut lines = Vec::new();
    for (one, &stream) in known.iter().zip(&streams) {
        table += &format!(
            "{:016x},{stream},{},{}\n",
            one.signature,
            write_stream(stream),
            one.lifetime_bytes
        );
        lines.push(Line {
            asks: vec![("context", format!("{:016x}", one.signature))],
            stream,
            hint: None,
            comments: vec![format!("mean lifetime {}", bytes(one.lifetime_bytes))],
        });
    }
    lines.truncate(MAX_RULES);
    let told = "placement identifiers by program context, from lifetimes kept";
    let file = |name: &str, text| File {
        name: name.to_owned(),
        text,
    };
    vec![
        file("fdp.csv", table),
        file("fdp.toml", issued(BY_KERNEL, &document(told, &lines))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_holds_no_raw_control_character() {
        assert_eq!(cell("a\u{1b}[2J\n\"b\""), "\"a\\u001b[2J\\n\"\"b\"\"\"");
        assert_eq!(cell("db < write"), "\"db < write\"");
    }
}
