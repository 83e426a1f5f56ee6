//! The file that what is known is kept in over a restart.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use anabranch_trace::{Rate, WholeFile};
use anabranch_watch::{DeviceState, State, Track};

use super::model::ShadowPlan;
use crate::{
    block::Block,
    error::{CommandError, Result},
    say,
};

/// The file, if there is one, and what it held that was not taken up yet.
pub struct StateFile {
    path: Option<PathBuf>,
    found: Vec<DeviceState>,
    /// Last reason for not writing it; reported once.
    refused: Option<String>,
}

impl StateFile {
    /// Reads the file; one that is not there yet holds nothing. What it holds must be watched, and be what it was.
    pub fn open(path: Option<&Path>, blocks: &[Block]) -> Result<StateFile> {
        let mut file = StateFile {
            path: path.map(Path::to_owned),
            found: Vec::new(),
            refused: None,
        };
        let Some(path) = path else {
            return Ok(file);
        };
        let refuse =
            |why: String| CommandError::wrong_use(format!("--state {}: {why}", path.display()));
        file.found = match fs::read(path) {
            Ok(bytes) => {
                let state = State::read(&bytes);
                state.map_err(|error| refuse(error.to_string()))?.devices
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(refuse(error.to_string())),
        };
        for device in &file.found {
            let own = blocks
                .iter()
                .find(|block| block.identity == device.identity);
            let Some(block) = own else {
                return Err(refuse(format!(
                    "it holds {} ({}), which is not watched: name that device as well, remove the file, or name another file",
                    device.path, device.identity
                )));
            };
            if block.bytes != device.bytes {
                return Err(refuse(format!(
                    "{} had {} bytes and has {}: remove the file to begin anew, or name another",
                    device.path, device.bytes, block.bytes
                )));
            }
        }
        // One that cannot be written is better known now than in five minutes.
        WholeFile::create(path)?;
        Ok(file)
    }

    /// Saved state of a device. For other drives, schemes or rates it reports which parts cannot be resumed.
    pub fn take(
        &mut self,
        block: &Block,
        plan: &ShadowPlan,
        asked: Option<Rate>,
    ) -> Option<DeviceState> {
        let mut found = self.found.iter();
        let at = found.position(|device| device.identity == block.identity)?;
        let mut state = self.found.swap_remove(at);
        let path = block.path.display();
        if state.drive != plan.drive_options() {
            say::print_note(&format!(
                "{path}: the shadow drives are others than those of --state: their counts begin anew"
            ));
            state.schemes.clear();
        }
        // What a drive that was not sampled counted, samples of it go on with.
        let count = plan.samples(asked.unwrap_or(state.rate)) as usize;
        let is_other = |(_, tracks): &(String, Vec<Track>)| tracks.len() != count;
        if state.rate != Rate::WHOLE && state.schemes.iter().any(is_other) {
            say::print_note(&format!(
                "{path}: --state has another number of samples: the counts of schemes begin anew"
            ));
            state.schemes.clear();
        }
        let is_known = |name: &str| state.schemes.iter().any(|(known, _)| known == name);
        for name in plan.schemes().filter(|name| !is_known(name)) {
            say::print_note(&format!(
                "{path}: {name} begins with what lives, and counts from now on"
            ));
        }
        if asked.is_some_and(|asked| asked != state.rate) || plan.seed() != state.seed {
            say::print_note(&format!(
                "{path}: what --state holds was sampled otherwise, at {}: a page of it stands for its neighbours",
                state.rate
            ));
        }
        Some(state)
    }

    /// Writes the file, whole or not at all.
    pub fn keep(&mut self, devices: impl FnOnce() -> Vec<DeviceState>) {
        let Some(path) = &self.path else {
            return;
        };
        let refused = write(path, State::new(devices())).err();
        if refused != self.refused
            && let Some(why) = &refused
        {
            say::print_note(&format!("{why}; watching goes on"));
        }
        self.refused = refused;
    }
}

fn write(path: &Path, state: State) -> Result<(), String> {
    let told = |error: &dyn std::fmt::Display| format!("--state {}: {error}", path.display());
    let mut file = WholeFile::create(path).map_err(|error| told(&error))?;
    state.write(&mut file).map_err(|error| told(&error))?;
    file.finish().map_err(|error| told(&error))
}
