//! `anabranch top`: what a steered drive does, as it does it.

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

use anabranch_report::Steered;
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::{
    duration::duration,
    error::{CommandError, Result},
    metrics::ask_report,
    output::give,
};

/// Time between checks for the end of the view (our choice).
const TICK: Duration = Duration::from_millis(50);

pub const EXAMPLE: &str = "\
Examples, beside `anabranch steer --device DRIVE --metrics 127.0.0.1:9470`:
  anabranch top
  anabranch top 127.0.0.1:9471 --every 10s
  anabranch top --json | jq .drive.waf
Ctrl-C ends the view; the drive is steered on. Without a terminal one screen is printed, without rates.";

#[derive(Debug, Args)]
pub struct TopArguments {
    /// Address at which `anabranch steer` answers: its --metrics
    #[arg(default_value = "127.0.0.1:9470")]
    pub address: SocketAddr,
    /// Time between two screens: rates are of that time
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration)]
    pub every: Duration,
    /// Print the report of this moment as JSON, that of `steer --json`, and end
    #[arg(long)]
    pub json: bool,
    /// Write the report of this moment to FILE, as JSON, and end
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Draws what a steered drive does until it is interrupted; once, where nobody watches.
pub fn top(arguments: &TopArguments) -> Result {
    let address = arguments.address;
    let asked = |error: String| {
        CommandError::work(anyhow::anyhow!(
            "{address}: {error}; `anabranch steer --metrics {address}` answers there"
        ))
    };
    let told = ask(address).map_err(asked)?;
    let first = read(told.clone()).map_err(asked)?;
    let output = arguments.output.as_deref();
    if arguments.json || output.is_some() || !std::io::stdout().is_terminal() {
        let screen = || format!("{}\n", first.screen(None));
        return give(&told, output, arguments.json, screen);
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
        match ask(address).and_then(read) {
            // The same report once more: the server makes one a second.
            Ok(now) if now == before => {}
            Ok(now) => {
                view.set_message(now.screen(Some(&before)));
                before = now;
            }
            // A server that is replaced is silent for a moment.
            Err(error) => view.set_message(format!("{address}: {error}; it is asked again")),
        }
    }
    // What was seen last stays.
    view.abandon();
    Ok(())
}

/// Sleeps for a time; answers whether it was slept to its end, and not stopped.
pub fn slept(time: Duration, stop: &AtomicBool) -> bool {
    let began = Instant::now();
    while began.elapsed() < time && !stop.load(Ordering::Relaxed) {
        thread::sleep(TICK.min(time));
    }
    !stop.load(Ordering::Relaxed)
}

fn ask(address: SocketAddr) -> Result<serde_json::Value, String> {
    let text = ask_report(address).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| format!("it answers with no JSON: {error}"))
}

fn read(told: serde_json::Value) -> Result<Steered, String> {
    Steered::read(told).map_err(|error| error.to_string())
}
