//! A comparison at work on a drive, and the file that keeps its measured pairs over restarts.

use std::{
    io::Write as _,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use anabranch_compare::read_text;
use anabranch_nvme_host::Written;
use anabranch_report::{ComparedPeriod, ComparedWay};
use anabranch_steer::{Server, SteeredDrive};
use anabranch_trace::WholeFile;
use serde::{Deserialize, Serialize};

use super::{ComparePlan, LogComparison, LogReading};
use crate::{
    error::{CommandError, Result},
    say,
    steer::arguments::SteerArguments,
};

/// Version of the form.
const VERSION: u32 = 1;

/// The content of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Content {
    /// Version of the form, under a name that no other file's JSON has.
    anabranch_comparison: u32,
    compared: Subject,
    periods: Vec<ComparedPeriod>,
    dropped_pairs: u64,
}

/// The drive and the ways that are compared: pairs of another one do not go with these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Subject {
    /// Its model, serial number and namespace.
    drive: String,
    drive_bytes: u64,
    scheme: String,
    handles: Vec<u16>,
    period_s: f64,
}

/// A comparison, and its file if one was named.
pub struct KeptComparison {
    pub log: LogComparison,
    path: Option<PathBuf>,
    subject: Subject,
    kept_pairs: usize,
}

impl KeptComparison {
    /// The comparison that was asked for, if one was, behind the pairs of its file.
    ///
    /// # Errors
    ///
    /// A file that is something else, or of another comparison.
    pub fn asked(
        arguments: &SteerArguments,
        drive: &SteeredDrive,
        scheme: &str,
        handles: &[u16],
    ) -> Result<Option<KeptComparison>> {
        let Some(period) = arguments.compare_every else {
            return Ok(None);
        };
        let subject = Subject {
            // Paths of drives move.
            drive: format!(
                "{}, serial number {}, namespace {}",
                drive.model(),
                drive.serial(),
                drive.namespace().number()
            ),
            drive_bytes: drive.abilities().bytes,
            scheme: scheme.to_owned(),
            handles: handles.to_vec(),
            period_s: period.as_secs_f64(),
        };
        let path = arguments.compare_file.clone();
        KeptComparison::of(subject, arguments.compare_pairs, path).map(Some)
    }

    /// The comparison of so many pairs. The clock draws its order.
    fn of(subject: Subject, pairs: usize, path: Option<PathBuf>) -> Result<KeptComparison> {
        let plan = ComparePlan {
            period: Duration::try_from_secs_f64(subject.period_s).unwrap_or(Duration::MAX),
            pairs,
            capacity_bytes: subject.drive_bytes,
        };
        let seed = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let mut kept = KeptComparison {
            log: LogComparison::new(plan, seed.as_nanos() as u64),
            path,
            subject,
            kept_pairs: 0,
        };
        kept.take()?;
        Ok(kept)
    }

    /// Reads the file, if there is one.
    fn take(&mut self) -> Result {
        let Some(path) = self.path.as_ref().filter(|path| path.exists()) else {
            // One that cannot be written is better known now.
            return self.keep();
        };
        let name = path.display();
        let refuse = |why: &str| CommandError::wrong_use(format!("--compare-file {name}: {why}"));
        let text = read_text(&name.to_string()).map_err(CommandError::wrong_use)?;
        let content: Content = serde_json::from_str(&text)
            .map_err(|_| refuse("it holds no comparison: name another file"))?;
        if content.anabranch_comparison != VERSION || content.compared != self.subject {
            let words = "it is of another drive, scheme, handles or period: name another file";
            return Err(refuse(words));
        }
        if !self.log.restore(content.periods, content.dropped_pairs) {
            return Err(refuse(
                "it is damaged: remove it, and the comparison begins anew",
            ));
        }
        self.kept_pairs = self.log.whole_pairs().len() / 2;
        Ok(())
    }

    /// Writes the measured pairs, whole or not at all.
    ///
    /// # Errors
    ///
    /// Those of the file.
    pub fn keep(&mut self) -> Result {
        let Some(path) = &self.path else {
            return Ok(());
        };
        let periods = self.log.whole_pairs().to_vec();
        self.kept_pairs = periods.len() / 2;
        let content = Content {
            anabranch_comparison: VERSION,
            compared: self.subject.clone(),
            periods,
            dropped_pairs: self.log.dropped_pairs,
        };
        let text = serde_json::to_string(&content).map_err(CommandError::work)?;
        let mut file = WholeFile::create(path)?;
        file.write_all(text.as_bytes())
            .map_err(CommandError::work)?;
        Ok(file.finish()?)
    }

    /// Takes the drive's log of this moment, has the server place as the comparison says, and keeps a new pair. Where that
    /// fails nobody who writes suffers: it is told, and an error at the end.
    pub fn serve(&mut self, server: &Server, now: Duration, written: Option<Written>) {
        self.log.tend(LogReading {
            now,
            written,
            sent_bytes: server.counters().host_bytes(),
        });
        let is_in_one = self.log.way() == ComparedWay::OneHandle;
        server.placer().put_in_one(is_in_one);
        if self.log.whole_pairs().len() / 2 == self.kept_pairs {
            return;
        }
        if let Err(CommandError {
            error: Some(error), ..
        }) = self.keep()
        {
            say::print_note(&format!("the compared pairs are not kept: {error}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn asked(path: &Path, pairs: usize, scheme: &str) -> Result<KeptComparison> {
        let subject = Subject {
            drive: "a drive".to_owned(),
            drive_bytes: 100,
            scheme: scheme.to_owned(),
            handles: vec![0, 1],
            period_s: 3600.0,
        };
        KeptComparison::of(subject, pairs, Some(path.to_owned()))
    }

    fn measured(pairs: usize) -> Vec<ComparedPeriod> {
        let period = |at: usize| ComparedPeriod {
            pair: at / 2 + 1,
            way: [ComparedWay::Steered, ComparedWay::OneHandle][at % 2],
            settling_bytes: 100,
            host_bytes: 1000,
            media_bytes: 1100 + 100 * (at as u64 % 2),
            waf: 1.1 + 0.1 * (at % 2) as f64,
            foreign_bytes: 0,
        };
        (0..2 * pairs).map(period).collect()
    }

    #[test]
    fn measured_pairs_outlive_a_killed_server_and_half_a_pair_does_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pairs");
        let mut kept = asked(&path, 6, "dac").unwrap();
        assert!(path.exists() && kept.log.periods.is_empty());
        kept.log.periods = measured(3);
        kept.log.periods.pop();
        kept.keep().unwrap();
        let again = asked(&path, 6, "dac").unwrap();
        assert_eq!((again.log.periods.len(), again.kept_pairs), (4, 2));
        assert!(again.log.difference.is_none());
        // The last pair was measured: the verdict is there from the start.
        kept.log.periods = measured(6);
        kept.keep().unwrap();
        let done = asked(&path, 6, "dac").unwrap();
        assert!(done.log.verdict().words.contains("more than chance"));
        // More pairs may be asked for later.
        assert!(asked(&path, 8, "dac").unwrap().log.difference.is_none());
    }

    #[test]
    fn a_file_of_something_else_is_refused_and_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pairs");
        let mut kept = asked(&path, 6, "dac").unwrap();
        kept.log.periods = measured(1);
        kept.keep().unwrap();
        assert!(asked(&path, 6, "sepbit").is_err());
        let text = std::fs::read_to_string(&path).unwrap();
        for wrong in [
            "{}".to_owned(),
            "somebody's".to_owned(),
            text[..text.len() / 2].to_owned(),
            text.replace("one handle", "steered"),
            text.replace("1.1,", "-1.1,"),
            text.replace("\"anabranch_comparison\":1", "\"anabranch_comparison\":2"),
        ] {
            std::fs::write(&path, &wrong).unwrap();
            assert!(asked(&path, 6, "dac").is_err(), "{wrong}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), wrong);
        }
        assert!(asked(Path::new("/nowhere/pairs"), 6, "dac").is_err());
    }
}
