//! `anabranch top`: what steered drives do, as they do it.

use std::{
    io::IsTerminal as _,
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anabranch_report::{Steered, SteeredSet};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::{
    duration::duration,
    error::{CommandError, Result},
    metrics::ask_report,
    output::give,
    steer::verdict_of_set,
};

/// Time between checks for the end of the view (our choice).
const TICK: Duration = Duration::from_millis(50);

pub const EXAMPLE: &str = "\
Examples, beside `anabranch steer --device DRIVE --metrics 127.0.0.1:9470`:
  anabranch top
  anabranch top 127.0.0.1:9471 --every 10s
  anabranch top 127.0.0.1:9470 127.0.0.1:9471          # all drives of an array, and their sum
  anabranch top --json | jq .drive.waf
Ctrl-C ends the view; the drive is steered on. Without a terminal one screen is printed, without rates.";

#[derive(Debug, Args)]
pub struct TopArguments {
    /// Address at which `anabranch steer` answers: its --metrics; of several drives, several
    #[arg(value_name = "ADDRESS", default_value = "127.0.0.1:9470")]
    pub addresses: Vec<SocketAddr>,
    /// Time between two screens: rates are of that time
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration)]
    pub every: Duration,
    /// Print the report of this moment as JSON, that of `steer --json`, and end; of several drives with their sums
    #[arg(long)]
    pub json: bool,
    /// Write the report of this moment to FILE, as JSON, and end
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Draws what steered drives do until it is interrupted; once, where nobody watches.
pub fn top(arguments: &TopArguments) -> Result {
    let first = Moment::ask(&arguments.addresses).map_err(|(address, error)| {
        CommandError::work(anyhow::anyhow!(
            "{address}: {error}; `anabranch steer --metrics {address}` answers there"
        ))
    })?;
    let output = arguments.output.as_deref();
    if arguments.json || output.is_some() || !std::io::stdout().is_terminal() {
        let screen = || format!("{}\n", first.screen(None));
        return give(&first.json(), output, arguments.json, screen);
    }
    let style = ProgressStyle::with_template("{msg}");
    let view = ProgressBar::with_draw_target(None, ProgressDrawTarget::stdout())
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    view.set_message(first.screen(None));
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(CommandError::work)?;
    }
    let mut before = first;
    while slept(arguments.every, &stop) {
        match Moment::ask(&arguments.addresses) {
            // The same reports once more: a server makes one a second.
            Ok(now) if now.drives == before.drives => {}
            Ok(now) => {
                view.set_message(now.screen(Some(&before)));
                before = now;
            }
            // A server that is replaced is silent for a moment.
            Err((address, error)) => {
                view.set_message(format!("{address}: {error}; it is asked again"));
            }
        }
    }
    // What was seen last stays.
    view.abandon();
    Ok(())
}

/// Reports of all servers, of one moment.
struct Moment {
    told: Vec<Value>,
    drives: Vec<Steered>,
}

impl Moment {
    /// Asks each server; fails with the first that gives no report, and the reason.
    fn ask(addresses: &[SocketAddr]) -> Result<Moment, (SocketAddr, String)> {
        let told = addresses.iter().map(|&address| {
            let told = ask(address).map_err(|error| (address, error))?;
            let drive = Steered::read(told.clone());
            Ok((told, drive.map_err(|error| (address, error.to_string()))?))
        });
        let both: Result<Vec<(Value, Steered)>, (SocketAddr, String)> = told.collect();
        let (told, drives) = both?.into_iter().unzip();
        Ok(Moment { told, drives })
    }

    fn screen(&self, before: Option<&Moment>) -> String {
        if let [drive] = &*self.drives {
            return drive.screen(before.and_then(|before| before.drives.first()));
        }
        let before = before.map(|before| SteeredSet::new(&before.drives));
        let set = SteeredSet::new(&self.drives);
        let verdict = verdict_of_set(&set.totals());
        format!("{}\n{verdict}", set.screen(before))
    }

    /// The report of one drive, or those of several with their sums.
    fn json(&self) -> Value {
        if let [told] = &*self.told {
            return told.clone();
        }
        let totals = SteeredSet::new(&self.drives).totals();
        json!({
            "schema": 1, "totals": totals, "verdict": verdict_of_set(&totals), "drives": self.told,
        })
    }
}

/// Sleeps for a time; answers whether it was slept to its end, and not stopped.
pub fn slept(time: Duration, stop: &AtomicBool) -> bool {
    let began = Instant::now();
    while began.elapsed() < time && !stop.load(Ordering::Relaxed) {
        thread::sleep(TICK.min(time));
    }
    !stop.load(Ordering::Relaxed)
}

fn ask(address: SocketAddr) -> Result<Value, String> {
    let text = ask_report(address).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| format!("it answers with no JSON: {error}"))
}
