//! The file that keeps the models of a drive from a clean end of steering to the next start.
//!
//! A line of JSON that says what is modelled. Then, for each sample, the drive in one stream and the steered one: the
//! length (u64, little-endian), and the drive as `anabranch_ssd` saves it. Last, where the host collects, in the same way the
//! model by which it does.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    path::{Path, PathBuf},
};

use anabranch_ssd::Config;
use anabranch_trace::{Rate, WholeFile};
use serde::{Deserialize, Serialize};

use super::shadow::{Model, ModelledDrive, Pair, one_stream};
use crate::{
    error::{CommandError, Result},
    say,
};

/// Version of the form.
const VERSION: u32 = 1;
/// Longest first line (our choice).
const MOST_HEADER_BYTES: u64 = 1 << 16;

/// The drive and its models, in a line.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Header {
    /// Version of the form, under a name that no other file's JSON has.
    anabranch_models: u32,
    /// The drive's title.
    drive: String,
    relocation: String,
    rate: Rate,
    samples: usize,
    /// The model of a host that collects.
    #[serde(default)]
    host: Option<HostHeader>,
}

/// The model by which a host collects, in a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostHeader {
    pub scheme: String,
    /// Bytes that hosts had written to the drive by its own log: more mean that others wrote since.
    pub drive_host_bytes: u64,
}

/// The model by which a host collects, as it is kept.
pub type KeptHost = (HostHeader, Vec<u8>);

/// The file, if one was named, and the drive that it is of.
pub struct KeptModels {
    path: Option<PathBuf>,
    drive: String,
}

impl KeptModels {
    /// For a drive of this title.
    pub fn new(path: Option<&Path>, drive: String) -> KeptModels {
        let path = path.map(Path::to_owned);
        KeptModels { path, drive }
    }

    /// Reads the models of the file; `None` where there are none, or of a drive with another spare, unit or number of
    /// handles. The file stays until [`KeptModels::forget`], for a start may still be refused.
    ///
    /// # Errors
    ///
    /// A file that is something else, damaged, or of another drive.
    pub fn take(&self, model: &Model, samples: usize) -> Result<Option<Vec<Pair>>> {
        let Some(path) = &self.path else {
            return Ok(None);
        };
        let refuse = |why: &str| self.refuse(why);
        let Some((mut file, found)) = self.open()? else {
            // One that cannot be written is better known now than at the end.
            WholeFile::create(path)?;
            return Ok(None);
        };
        let host = found.host.clone();
        let pairs = if found == self.header(model, samples, host) {
            read_pairs(&mut file, model, samples).map_err(|error| refuse(&error))?
        } else {
            None
        };
        if pairs.is_none() {
            say::print_note(&format!(
                "--models {}: it is of other handles, spare or samples: the models begin anew",
                path.display()
            ));
        }
        Ok(pairs)
    }

    fn refuse(&self, why: &str) -> CommandError {
        let path = self.path.as_deref().unwrap_or(Path::new(""));
        CommandError::wrong_use(format!("--models {}: {why}", path.display()))
    }

    /// The file behind its first line, and what that says; nothing where there is none.
    fn open(&self) -> Result<Option<(BufReader<File>, Header)>> {
        let Some(path) = &self.path else {
            return Ok(None);
        };
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.refuse(&error.to_string())),
        };
        let mut file = BufReader::new(file);
        let mut line = Vec::new();
        (file.by_ref().take(MOST_HEADER_BYTES))
            .read_until(b'\n', &mut line)
            .map_err(|error| self.refuse(&error.to_string()))?;
        let found: Header = serde_json::from_slice(&line)
            .map_err(|_| self.refuse("it holds no models of a drive: name another file"))?;
        if found.drive != self.drive {
            let other = format!("it is of {}: name another file, or remove it", found.drive);
            return Err(self.refuse(&other));
        }
        Ok(Some((file, found)))
    }

    /// Reads the model by which a host collects; nothing where the file has none.
    ///
    /// # Errors
    ///
    /// As for [`KeptModels::take`].
    pub fn take_host(&self) -> Result<Option<KeptHost>> {
        let Some((mut file, found)) = self.open()? else {
            return Ok(None);
        };
        let Some(host) = found.host else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        for _ in 0..=found.samples.saturating_mul(2) {
            let mut length = [0; 8];
            let cut = |_| self.refuse("it is cut");
            file.read_exact(&mut length).map_err(cut)?;
            bytes.clear();
            let mut block = file.by_ref().take(u64::from_le_bytes(length));
            block.read_to_end(&mut bytes).map_err(cut)?;
        }
        Ok(Some((host, bytes)))
    }

    /// Removes the file, once steering has begun: what a killed server leaves must not pass for the present.
    ///
    /// # Errors
    ///
    /// Those of the file, but that there is none.
    pub fn forget(&self) -> Result {
        match self.path.as_ref().map(fs::remove_file) {
            Some(Err(error)) if error.kind() != ErrorKind::NotFound => {
                Err(CommandError::work(error))
            }
            _ => Ok(()),
        }
    }

    /// Writes the models, whole or not at all.
    ///
    /// # Errors
    ///
    /// Those of the file.
    pub fn keep(&self, model: &Model, pairs: &[Pair], host: Option<&KeptHost>) -> Result {
        let Some(path) = &self.path else {
            return Ok(());
        };
        let mut file = WholeFile::create(path)?;
        let named = host.map(|(header, _)| header.clone());
        let header = serde_json::to_vec(&self.header(model, pairs.len(), named));
        let mut put = |bytes: &[u8]| file.write_all(bytes).map_err(CommandError::work);
        put(&header.map_err(CommandError::work)?)?;
        put(b"\n")?;
        for drive in pairs.iter().flatten() {
            let mut bytes = Vec::new();
            drive.save(&mut bytes).map_err(CommandError::work)?;
            put(&(bytes.len() as u64).to_le_bytes())?;
            put(&bytes)?;
        }
        if let Some((_, bytes)) = host {
            put(&(bytes.len() as u64).to_le_bytes())?;
            put(bytes)?;
        }
        Ok(file.finish()?)
    }

    fn header(&self, model: &Model, samples: usize, host: Option<HostHeader>) -> Header {
        Header {
            anabranch_models: VERSION,
            drive: self.drive.clone(),
            relocation: model.kind.to_string(),
            rate: model.rate,
            samples,
            host,
        }
    }
}

/// The drives of the file; `None` where they are not those of the model.
fn read_pairs(
    file: &mut impl Read,
    model: &Model,
    samples: usize,
) -> Result<Option<Vec<Pair>>, String> {
    let (one, apart) = one_stream(&model.config, model.kind);
    let mut read = |config: &Config, kind| -> Result<Option<ModelledDrive>, String> {
        let mut length = [0; 8];
        file.read_exact(&mut length)
            .map_err(|_| "it is cut".to_owned())?;
        let mut bytes = file.by_ref().take(u64::from_le_bytes(length));
        let drive = ModelledDrive::load(&mut bytes, config, kind)
            .map_err(|error| format!("it is damaged: {error}"))?;
        // A reader may have stopped before the end.
        std::io::copy(&mut bytes, &mut std::io::sink()).map_err(|error| error.to_string())?;
        Ok(drive)
    };
    let mut pairs = Vec::with_capacity(samples);
    for _ in 0..samples {
        let (Some(baseline), Some(steered)) =
            (read(&one, apart)?, read(&model.config, model.kind)?)
        else {
            return Ok(None);
        };
        pairs.push([baseline, steered]);
    }
    Ok(Some(pairs))
}

#[cfg(test)]
mod tests {
    use anabranch_ssd::{PageRange, StreamId, relocate::RelocationKind};

    use super::*;

    fn model() -> Model {
        let config = Config {
            host_streams: 2,
            ..Config::new(1024, 64, 24)
        };
        Model {
            config,
            kind: RelocationKind::Mixed,
            rate: Rate::WHOLE,
            kept_bytes: 0,
        }
    }

    fn pairs(model: &Model) -> Vec<Pair> {
        let (one, apart) = one_stream(&model.config, model.kind);
        let baseline = ModelledDrive::new(&one, apart).unwrap();
        let steered = ModelledDrive::new(&model.config, model.kind).unwrap();
        vec![[baseline, steered]]
    }

    /// Writes at random; a quarter of the pages are hot, and have a stream of their own.
    fn write(pairs: &mut [Pair], from: u32, to: u32) {
        for step in from..to {
            let drawn = step.wrapping_mul(0x9e37_79b1) >> 8;
            let is_hot = step % 4 != 0;
            let page = drawn % if is_hot { 256 } else { 1024 };
            for pair in pairs.iter_mut() {
                let page = PageRange::new(page, 1);
                pair[0].write(page, StreamId::DEFAULT).unwrap();
                pair[1].write(page, StreamId(u16::from(is_hot))).unwrap();
            }
        }
    }

    #[test]
    fn models_that_were_kept_go_on_as_if_they_had_never_ended() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("models");
        let (model, file) = (model(), KeptModels::new(Some(&path), "drive".to_owned()));
        assert!(file.take(&model, 1).unwrap().is_none());
        let mut whole = pairs(&model);
        write(&mut whole, 0, 5000);
        file.keep(&model, &whole, None).unwrap();
        let mut again = file.take(&model, 1).unwrap().unwrap();
        assert!(path.exists(), "a start that is refused loses nothing");
        file.forget().unwrap();
        file.forget().unwrap();
        assert!(
            !path.exists(),
            "a killed server leaves nothing that passes for the present"
        );
        write(&mut whole, 5000, 20_000);
        write(&mut again, 5000, 20_000);
        let counts = |pairs: &[Pair]| [0, 1].map(|at| *pairs[0][at].counters());
        assert_eq!(counts(&whole), counts(&again));
        assert!(counts(&whole)[0].copied_pages > counts(&whole)[1].copied_pages);
    }

    #[test]
    fn what_is_not_of_this_drive_is_refused_or_begun_anew() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("models");
        let (model, file) = (model(), KeptModels::new(Some(&path), "drive".to_owned()));
        let keep = || file.keep(&model, &pairs(&model), None).unwrap();
        keep();
        let other = KeptModels::new(Some(&path), "another".to_owned());
        assert!(other.take(&model, 1).is_err() && path.exists());
        let mut smaller = model.clone();
        smaller.config.physical_units -= 1;
        assert!(file.take(&smaller, 1).unwrap().is_none());
        for (at, cut) in [(100, None), (0, Some(300)), (0, Some(3000))] {
            keep();
            let mut bytes = fs::read(&path).unwrap();
            bytes[at] ^= u8::from(cut.is_none()) << 3;
            bytes.truncate(cut.unwrap_or(bytes.len()));
            fs::write(&path, &bytes).unwrap();
            assert!(file.take(&model, 1).is_err(), "{at} {cut:?}");
            assert!(path.exists());
        }
        fs::write(&path, "a file of somebody's").unwrap();
        assert!(file.take(&model, 1).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "a file of somebody's");
    }
}
