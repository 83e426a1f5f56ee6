//! Lifetimes of contexts, kept from one start to the next in a file that others may keep theirs in, too.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anabranch_compare::read_text;
use anabranch_placement::{KnownLifetime, KnownLifetimes};
use anabranch_steer::Server;
use anabranch_trace::WholeFile;

use crate::{
    error::{CommandError, Result},
    say,
};

/// Between two saves (our choice): a killed server loses no more.
const EVERY: Duration = Duration::from_secs(60);

/// The file, and what we know of it.
pub struct Lifetimes {
    path: Option<PathBuf>,
    /// Lifetimes last read from it or written to it.
    mine: KnownLifetimes,
    /// Lifetimes that others wrote to it since.
    others: KnownLifetimes,
    written: Instant,
}

impl Lifetimes {
    /// Reads what is there.
    pub fn read(path: Option<&Path>) -> Result<Lifetimes> {
        Ok(Lifetimes {
            path: path.map(Path::to_owned),
            mine: path.map_or_else(|| Ok(KnownLifetimes::default()), there)?,
            others: KnownLifetimes::default(),
            written: Instant::now(),
        })
    }

    pub fn known(&self) -> &KnownLifetimes {
        &self.mine
    }

    /// Keeps what was learned when it is time to. Nobody who writes is to suffer where it cannot: that is told, and an
    /// error at the end.
    pub fn tend(&mut self, server: &Server) {
        if self.path.is_none() || self.written.elapsed() < EVERY {
            return;
        }
        if let Err(CommandError {
            error: Some(error), ..
        }) = self.keep(server)
        {
            say::print_note(&format!("what was learned is not kept: {error}"));
        }
    }

    /// Keeps what a server's scheme has learned.
    pub fn keep(&mut self, server: &Server) -> Result {
        let learned = server.placer().assign().learned();
        self.join(learned)
    }

    /// Writes what was learned since the start, beside what others wrote there meanwhile: servers of other drives,
    /// replays.
    fn join(&mut self, learned: Option<KnownLifetimes>) -> Result {
        self.written = Instant::now();
        let (Some(path), Some(learned)) = (&self.path, learned) else {
            return Ok(());
        };
        let found = there(path)?;
        let is_news = |one: &&KnownLifetime| self.mine.get(one.signature) != Some(*one);
        let news = found.contexts().iter().filter(is_news).copied().collect();
        self.others = KnownLifetimes::new(news).joined(std::mem::take(&mut self.others));
        let joined = learned.joined(self.others.clone());
        let mut file = WholeFile::create(path)?;
        file.write_all(joined.text().as_bytes())
            .map_err(CommandError::work)?;
        file.finish()?;
        self.mine = joined;
        Ok(())
    }
}

/// Reads the file, if there is one.
fn there(path: &Path) -> Result<KnownLifetimes> {
    if !path.exists() {
        return Ok(KnownLifetimes::default());
    }
    let text = read_text(&path.display().to_string()).map_err(CommandError::wrong_use)?;
    KnownLifetimes::parse(&text).map_err(CommandError::usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(contexts: &[(u64, u64, u32)]) -> KnownLifetimes {
        let known = |&(signature, lifetime_bytes, idle_runs): &(u64, u64, u32)| KnownLifetime {
            signature,
            lifetime_bytes,
            written_bytes: 1,
            idle_runs,
        };
        KnownLifetimes::new(contexts.iter().map(known).collect())
    }

    #[test]
    fn what_is_learned_joins_what_others_kept_and_old_contexts_still_age() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lives.json");
        std::fs::write(&path, profile(&[(1, 10, 0), (2, 20, 3)]).text()).unwrap();
        let mut kept = Lifetimes::read(Some(&path)).unwrap();
        assert_eq!(*kept.known(), profile(&[(1, 10, 0), (2, 20, 3)]));
        // Another drive's server learned of 3 meanwhile; we did of 4 and 1, and 2 was not seen.
        std::fs::write(&path, profile(&[(1, 10, 0), (2, 20, 3), (3, 30, 0)]).text()).unwrap();
        let learned = || Some(profile(&[(1, 11, 0), (2, 20, 4), (4, 40, 0)]));
        kept.join(learned()).unwrap();
        let joined = profile(&[(1, 11, 0), (2, 20, 4), (3, 30, 0), (4, 40, 0)]);
        assert_eq!(there(&path).unwrap(), joined);
        // Kept again: nothing counts twice, and nothing is forgotten.
        kept.join(learned()).unwrap();
        assert_eq!(there(&path).unwrap(), joined);
    }

    #[test]
    fn what_is_no_profile_is_not_written_over() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lives.json");
        let mut kept = Lifetimes::read(Some(&path)).unwrap();
        std::fs::write(&path, "{}").unwrap();
        assert!(kept.join(Some(profile(&[(1, 1, 0)]))).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}");
        assert!(Lifetimes::read(Some(&path)).is_err());
    }
}
