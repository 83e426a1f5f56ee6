//! Counters of a served drive, as a table and as JSON.

use std::io::Write as _;

use anabranch_nvme::{Target, drive::ServedDrive};
use anabranch_report::foreign;
use anabranch_trace::WholeFile;
use comfy_table::{Table, presets};
use serde_json::{Value, json};

use super::{arguments::ServeArguments, shadows::Shadowed};
use crate::{
    error::{CommandError, Result},
    output::print,
};

/// Prints the counters, and writes them where that was asked for.
pub fn publish(
    arguments: &ServeArguments,
    target: &Target,
    shadowed: Option<&Shadowed>,
    file: Option<WholeFile>,
) -> Result {
    let mut value = as_json(target);
    if let Some(shadowed) = shadowed {
        value["shadows"] = json!(shadowed);
    }
    if let Some(mut file) = file {
        writeln!(file, "{value:#}").map_err(CommandError::work)?;
        file.finish()?;
    }
    if arguments.json {
        print(&format!("{value:#}\n"))
    } else {
        print(&render(target))?;
        shadowed.map_or(Ok(()), |shadowed| print(&shadows(shadowed)))
    }
}

/// Renders the counters of each scheme's shadow drive.
fn shadows(shadowed: &Shadowed) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["shadow", "host", "copied", "WAF", "±"]);
    for scheme in &shadowed.schemes {
        table.add_row([
            foreign(&scheme.name),
            anabranch_report::bytes(scheme.host_page_bytes),
            anabranch_report::bytes(scheme.copied_bytes),
            anabranch_report::ratio(scheme.waf),
            anabranch_report::ratio(scheme.error),
        ]);
    }
    format!(
        "shadow drives at {}, {} pages a unit\n{table}\n",
        shadowed.rate, shadowed.unit_pages
    )
}

/// Renders the counters. `host_bytes` are bytes as hosts wrote them, `host_page_bytes` the same in whole pages of the
/// mapping.
fn as_json(target: &Target) -> Value {
    let tally = target.totals().sums();
    let drive = target.drive();
    let (config, counters) = (drive.config(), drive.counters());
    let page_bytes = u64::from(config.page_bytes);
    let media_bytes = counters.media_pages() * page_bytes;
    let streams: Vec<Value> = (0..)
        .zip(drive.stream_counters())
        .map(|(id, stream): (u16, _)| {
            json!({
                "id": id,
                "internal": id >= config.host_streams,
                "host_page_bytes": stream.host_pages * page_bytes,
                "copied_bytes": stream.copied_pages * page_bytes,
                "erased_units": stream.erased_units,
            })
        })
        .collect();
    let namespaces: Vec<Value> = drive
        .namespaces()
        .iter()
        .map(|one| {
            json!({
                "id": one.id(),
                "block_bytes": one.block_bytes(),
                "logical_bytes": one.bytes(),
                "mapped_bytes": one.mapped_pages() * page_bytes,
                "host_page_bytes": one.host_pages() * page_bytes,
            })
        })
        .collect();
    json!({
        "schema": anabranch_replay::SCHEMA,
        "config": { "verb": "serve", "drive": config },
        "seed": config.seed,
        "commands": tally,
        "device": {
            "logical_bytes": config.logical_bytes(),
            "physical_bytes": config.physical_bytes(),
            "unit_bytes": config.unit_bytes(),
            "mapped_bytes": drive.mapped_pages() * page_bytes,
            "host_bytes": tally.host_bytes(),
            "host_page_bytes": counters.host_pages * page_bytes,
            "media_bytes": media_bytes,
            "copied_bytes": counters.copied_pages * page_bytes,
            "discarded_bytes": counters.discarded_pages * page_bytes,
            "erased_bytes": counters.erased_units * config.unit_bytes(),
            "waf": tally.waf(media_bytes),
            "streams": streams,
        },
        "namespaces": namespaces,
    })
}

/// Renders the counters for people. Bytes in whole pages of the mapping stand beside those that hosts wrote where they
/// differ.
fn render(target: &Target) -> String {
    let tally = target.totals().sums();
    let drive = target.drive();
    let page_bytes = u64::from(drive.config().page_bytes);
    let bytes = |pages: u64| anabranch_report::bytes(pages * page_bytes);
    let counters = drive.counters();
    let rounded = if counters.host_pages * page_bytes == tally.host_bytes() {
        String::new()
    } else {
        format!(" ({} in whole pages)", bytes(counters.host_pages))
    };
    format!(
        "written by hosts {}{rounded}, to the media {}, WAF {}; {} of {} hold data\n{}\n",
        anabranch_report::bytes(tally.host_bytes()),
        bytes(counters.media_pages()),
        anabranch_report::ratio(tally.waf(counters.media_pages() * page_bytes)),
        bytes(drive.mapped_pages()),
        anabranch_report::bytes(drive.config().logical_bytes()),
        streams(&drive),
    )
}

/// Lists the streams that were written, by hosts or by garbage collection.
fn streams(drive: &ServedDrive) -> Table {
    let config = drive.config();
    let bytes = |pages: u64| anabranch_report::bytes(pages * u64::from(config.page_bytes));
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["stream", "host, in whole pages", "copied", "erased units"]);
    for (id, stream) in (0_u16..).zip(drive.stream_counters()) {
        if stream.host_pages + stream.copied_pages > 0 {
            let name = match id.checked_sub(config.host_streams) {
                None => id.to_string(),
                Some(number) => format!("internal {number}"),
            };
            table.add_row([
                name,
                bytes(stream.host_pages),
                bytes(stream.copied_pages),
                stream.erased_units.to_string(),
            ]);
        }
    }
    table
}
