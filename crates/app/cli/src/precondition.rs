//! `anabranch precondition`: a drive is filled and overwritten, and saved in a file.

use std::path::Path;

use anabranch_compare::{TraceOrigin, one_drive, share};
use anabranch_replay::{Aged, Pattern, Precondition, Steady};
use anabranch_ssd::{Config, Device};
use anabranch_trace::WholeFile;
use serde_json::{Value, json};

use crate::{
    arguments::PreconditionArguments,
    error::{CommandError, Result},
    output::is_standard_output,
    output::print,
    progress::Progress,
};

/// The default exponent of `zipf`: the golden workload's.
const ZIPF: f64 = 0.9;
/// The largest exponent (our choice: at 10 the first page has all but a thousandth).
const MOST_ZIPF: f64 = 10.0;

/// Preconditions a drive and writes it to a file that appears whole or not at all.
pub fn precondition(arguments: &PreconditionArguments) -> Result {
    let one = "a file holds one drive: give each option one value";
    let (drive, _) = one_drive(&arguments.drive, &TraceOrigin::default(), one)?;
    let mut config = drive.config;
    config.seed = arguments.seed;
    let plan = plan(arguments, &config)?;
    let mut file = WholeFile::create(&arguments.output)?;
    let mut device = Device::new(config, &()).map_err(CommandError::usage)?;
    let mut progress = Progress::begin("preconditioning");
    let aged = plan.apply(&mut device, |share| progress.show(share));
    progress.end();
    let aged = aged.map_err(CommandError::work)?;
    device.save(&(), &mut file).map_err(|error| {
        CommandError::work(anyhow::anyhow!("{}: {error}", arguments.output.display()))
    })?;
    file.finish()?;
    if is_standard_output(&arguments.output) {
        return Ok(());
    }
    if arguments.json {
        print(&format!(
            "{:#}\n",
            as_json(&plan, &device, &aged, &arguments.output)
        ))
    } else {
        print(&render(&device, &aged, &arguments.output))
    }
}

fn plan(arguments: &PreconditionArguments, config: &Config) -> Result<Precondition> {
    Ok(Precondition {
        fill_pages: (f64::from(config.logical_pages) * share(&arguments.fill)?).round() as u32,
        pattern: pattern(&arguments.pattern)?,
        most_capacities: arguments.capacities,
        seed: arguments.seed,
    })
}

fn pattern(text: &str) -> Result<Pattern> {
    let exponent = match text {
        "sequential" => return Ok(Pattern::Sequential),
        "random" => return Ok(Pattern::Random),
        "zipf" => Some(ZIPF),
        _ => text.strip_prefix("zipf=").and_then(|it| it.parse().ok()),
    };
    exponent
        .filter(|exponent| (0.0..=MOST_ZIPF).contains(exponent))
        .map(Pattern::Zipf)
        .ok_or_else(|| {
            CommandError::wrong_use(format!(
                "--pattern {text}: write sequential, random, zipf, or zipf=EXPONENT from 0 to \
                 {MOST_ZIPF}"
            ))
        })
}

fn render(device: &Device, aged: &Aged, path: &Path) -> String {
    let (config, counters, wear) = (device.config(), device.counters(), device.wear());
    let bytes = |pages: u64| anabranch_report::bytes(pages * u64::from(config.page_bytes));
    let verdict = match &aged.steady {
        Steady::Yes(band) => format!("yes ({band}, within 10 % of their mean and without a trend)"),
        Steady::No(words) => format!("NO - {words}"),
    };
    format!(
        "{}: a drive of {} that holds {}\nwritten: {} = {:.2} capacities, WAF {}, in the last capacity \
         {}\nerases: {} to {} a unit, {:.1} on average\nsteady state: {verdict}\n",
        anabranch_report::line(&path.to_string_lossy()),
        bytes(u64::from(config.logical_pages)),
        bytes(device.mapped_pages()),
        bytes(counters.host_pages),
        capacities(device),
        anabranch_report::ratio(counters.waf()),
        anabranch_report::ratio(aged.waf_window),
        wear.least_erases,
        wear.most_erases,
        wear.mean_erases,
    )
}

fn capacities(device: &Device) -> f64 {
    device.counters().host_pages as f64 / f64::from(device.config().logical_pages)
}

fn as_json(plan: &Precondition, device: &Device, aged: &Aged, path: &Path) -> Value {
    let (config, counters) = (device.config(), device.counters());
    let page_bytes = u64::from(config.page_bytes);
    let (band, reason) = match &aged.steady {
        Steady::Yes(band) => (Some(band), ""),
        Steady::No(words) => (None, words.as_str()),
    };
    json!({
        "schema": anabranch_replay::SCHEMA,
        "config": { "verb": "precondition", "drive": config, "plan": plan },
        "seed": plan.seed,
        "drive_file": path,
        "host_page_bytes": counters.host_pages * page_bytes,
        "media_bytes": counters.media_pages() * page_bytes,
        "mapped_bytes": device.mapped_pages() * page_bytes,
        "capacities_written": capacities(device),
        "waf": counters.waf(),
        "waf_window": aged.waf_window,
        "steady": band.is_some(),
        "steady_reason": reason,
        "steady_band": band,
        "wear": device.wear(),
    })
}
