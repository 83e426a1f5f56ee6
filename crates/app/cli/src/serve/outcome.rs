//! What a served drive has counted, as a table and as JSON.

use std::io::Write as _;

use anabranch_nvme::{Target, drive::Drive};
use anabranch_report::foreign;
use anabranch_trace::WholeFile;
use comfy_table::{Table, presets};
use serde_json::{Value, json};

use super::{arguments::ServeArguments, shadows::Shadowed};
use crate::{
    failure::{Failure, Result},
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
        writeln!(file, "{value:#}").map_err(Failure::work)?;
        file.finish()?;
    }
    if arguments.json {
        print(&format!("{value:#}\n"))
    } else {
        print(&told(target))?;
        shadowed.map_or(Ok(()), |shadowed| print(&shadows(shadowed)))
    }
}

/// What each scheme made of the same writes.
fn shadows(shadowed: &Shadowed) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["shadow", "host", "copied", "WAF", "±"]);
    for scheme in &shadowed.schemes {
        table.add_row([
            foreign(&scheme.name),
            anabranch_report::bytes(scheme.host_bytes),
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

fn as_json(target: &Target) -> Value {
    let drive = target.drive();
    let (config, counters) = (drive.config(), drive.counters());
    let page_bytes = u64::from(config.page_bytes);
    let streams: Vec<Value> = (0..)
        .zip(drive.stream_counters())
        .map(|(id, stream): (u16, _)| {
            json!({
                "id": id,
                "internal": id >= config.host_streams,
                "host_bytes": stream.host_pages * page_bytes,
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
                "host_bytes": one.host_pages() * page_bytes,
            })
        })
        .collect();
    json!({
        "schema": anabranch_replay::SCHEMA,
        "config": { "verb": "serve", "drive": config },
        "seed": config.seed,
        "commands": target.totals().sums(),
        "device": {
            "logical_bytes": config.logical_bytes(),
            "physical_bytes": config.physical_bytes(),
            "unit_bytes": config.unit_bytes(),
            "mapped_bytes": drive.mapped_pages() * page_bytes,
            "host_bytes": counters.host_pages * page_bytes,
            "media_bytes": counters.media_pages() * page_bytes,
            "copied_bytes": counters.copied_pages * page_bytes,
            "discarded_bytes": counters.discarded_pages * page_bytes,
            "erased_bytes": counters.erased_units * config.unit_bytes(),
            "waf": counters.waf(),
            "streams": streams,
        },
        "namespaces": namespaces,
    })
}

fn told(target: &Target) -> String {
    let drive = target.drive();
    let bytes = |pages: u64| anabranch_report::bytes(pages * u64::from(drive.config().page_bytes));
    let counters = drive.counters();
    format!(
        "written by hosts {}, to the media {}, WAF {}; {} of {} hold data\n{}\n",
        bytes(counters.host_pages),
        bytes(counters.media_pages()),
        anabranch_report::ratio(counters.waf()),
        bytes(drive.mapped_pages()),
        anabranch_report::bytes(drive.config().logical_bytes()),
        streams(&drive),
    )
}

/// The streams that were written, by hosts or by garbage collection.
fn streams(drive: &Drive) -> Table {
    let config = drive.config();
    let bytes = |pages: u64| anabranch_report::bytes(pages * u64::from(config.page_bytes));
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["stream", "host", "copied", "erased units"]);
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
