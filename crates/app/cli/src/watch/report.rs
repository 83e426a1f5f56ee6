//! Destinations of snapshots: the screen, standard output, a file.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anabranch_trace::WholeFile;
use anabranch_watch::{ContextLabels, Snapshot, line, metrics, screen};
use indicatif::{ProgressBar, ProgressStyle};

use super::{arguments::WatchArguments, device::Watched};
use crate::{
    error::Result,
    metrics::Metrics,
    output::{is_read, json, print, write_json},
    say,
    table_layout::{TableArguments, drawn},
};

/// Looks that are left out in a row before devices count as not watched, and the least time (our choice: a busy machine
/// may be late with one).
const LATE: u32 = 3;
const LEAST_LATE: Duration = Duration::from_secs(5);

/// Their destinations.
pub struct WatchReport {
    screen: Option<ProgressBar>,
    prints: bool,
    output: Option<PathBuf>,
    metrics: Option<Metrics>,
    /// Age up to which its figures are those of a watched device.
    lasts: Duration,
    /// Traces or the state are kept, which need no reader.
    keeps: bool,
    /// Last reason for not writing the file; reported once.
    refused: Option<String>,
}

impl WatchReport {
    /// As the options have it.
    pub fn begin(arguments: &WatchArguments) -> Result<WatchReport> {
        let screen = say::draws().then(|| {
            let style = ProgressStyle::with_template("{msg}");
            ProgressBar::new_spinner()
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        say::above(screen.clone());
        let metrics = arguments.metrics;
        let metrics =
            metrics.map(|address| Metrics::start(address, Some(arguments.metrics_public)));
        let metrics = metrics.transpose()?;
        if let Some(metrics) = &metrics {
            say::print_note(&format!("metrics at http://{}/metrics", metrics.address()));
        }
        let is_standard = |path: &PathBuf| path == Path::new(WholeFile::STANDARD_OUTPUT);
        let output = arguments.output.clone();
        Ok(WatchReport {
            screen,
            prints: arguments.json || output.as_ref().is_some_and(is_standard),
            output: output.filter(|path| !is_standard(path)),
            metrics,
            lasts: (arguments.every * LATE).max(LEAST_LATE),
            keeps: arguments.traces.is_some() || arguments.state.is_some(),
            refused: None,
        })
    }

    /// A moment's snapshot. Answers whether anybody can still be told: nobody where all that was asked for is standard
    /// output, and its reader has gone.
    pub fn report(&mut self, snapshot: &Snapshot, devices: &[Watched]) -> Result<bool> {
        match &self.screen {
            Some(bar) => {
                let screen = screen(snapshot, &drawn());
                bar.set_message(format!("{screen}; Ctrl-C ends it"));
            }
            // Whoever reads the file or the metrics needs no lines.
            None if self.output.is_some() || self.metrics.is_some() => {}
            None => snapshot
                .devices
                .iter()
                .for_each(|device| say::print_note(&line(device))),
        }
        let is_read = self.publish(snapshot, devices)?;
        Ok(is_read || self.keeps || self.output.is_some() || self.metrics.is_some())
    }

    /// The last one.
    pub fn end(&mut self, snapshot: &Snapshot, devices: &[Watched]) -> Result {
        if let Some(screen) = &self.screen {
            screen.finish_and_clear();
            say::above(None);
        }
        self.publish(snapshot, devices)?;
        if self.prints {
            Ok(())
        } else {
            let look = TableArguments::default().layout();
            print(&format!("{}\n", screen(snapshot, &look)))
        }
    }

    /// A file that cannot be written is told of once, and watching goes on. Answers whether standard output is read,
    /// where that is asked for.
    fn publish(&mut self, snapshot: &Snapshot, devices: &[Watched]) -> Result<bool> {
        if let Some(shown) = &self.metrics {
            let labels = devices.iter().map(|device| device.labels.clone());
            let labels: Vec<ContextLabels> = labels.collect();
            let mut late = snapshot.clone();
            late.devices
                .iter_mut()
                .for_each(|one| one.is_watched = false);
            let (now, late) = (metrics(snapshot, &labels), metrics(&late, &labels));
            shown.show_for(now, self.lasts, late);
        }
        if self.output.is_none() && !self.prints {
            return Ok(true);
        }
        let snapshot = json(snapshot)?;
        if let Some(path) = &self.output {
            let refused = write_json(path, &snapshot).err();
            let refused = refused.and_then(|failure| Some(failure.error?.to_string()));
            if refused != self.refused
                && let Some(words) = &refused
            {
                say::print_note(&format!("{words}; watching goes on"));
            }
            self.refused = refused;
        }
        if self.prints {
            is_read(&format!("{snapshot}\n"))
        } else {
            Ok(true)
        }
    }
}
