//! Other namespaces that this host sees on a drive. Each tells its own handles.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::NamespaceError;
use crate::namespace::Namespace;

/// Other namespaces that are asked, at most (our choice).
const MOST_NEIGHBOURS: usize = 128;

/// Another namespace of the same endurance group that this host sees.
#[derive(Debug)]
pub struct Neighbour {
    /// Its character device.
    pub path: PathBuf,
    /// The drive's handles that its placement handles stand for, or why it does not tell.
    pub handles: Result<Vec<u16>, NamespaceError>,
}

/// The other namespaces that this host sees on the drive of `own`, of its endurance group, in the order of their names.
pub fn neighbours(own: &Namespace, endurance_group: u16) -> Vec<Neighbour> {
    let asked = siblings(own.path()).into_iter().filter_map(|path| {
        let handles = handles(&path, endurance_group).transpose()?;
        Some(Neighbour { path, handles })
    });
    asked.collect()
}

/// A namespace's handles, if it is of this endurance group.
fn handles(path: &Path, endurance_group: u16) -> Result<Option<Vec<u16>>, NamespaceError> {
    let namespace = Namespace::open(path)?;
    if namespace.endurance_group()? != endurance_group {
        return Ok(None);
    }
    let handles = namespace.handles()?;
    Ok(Some(handles.iter().map(|one| one.handle).collect()))
}

/// The other character devices of the drive that has this one, by their names: `/dev/ng0n2` beside `/dev/ng0n1`.
fn siblings(path: &Path) -> Vec<PathBuf> {
    let Some((drive, number)) = parts(path) else {
        return Vec::new();
    };
    let places = path.parent().map(fs::read_dir);
    let entries = places.into_iter().flatten().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let other = entry.path();
            let (its_drive, its_number) = parts(&other)?;
            (its_drive == drive && its_number != number).then_some((its_number, other))
        })
        .collect();
    found.sort_unstable();
    found.truncate(MOST_NEIGHBOURS);
    found.into_iter().map(|(_, path)| path).collect()
}

/// The drive's number and the namespace's in a name like `ng0n1`.
fn parts(path: &Path) -> Option<(u32, u32)> {
    let name = path.file_name()?.to_str()?;
    let (drive, namespace) = name.strip_prefix("ng")?.split_once('n')?;
    Some((drive.parse().ok()?, namespace.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_namespaces_of_the_same_drive_are_found_by_their_names() {
        let directory = tempfile::tempdir().unwrap();
        for name in [
            "ng0n1", "ng0n10", "ng0n2", "ng00", "ng1n1", "ngn", "nvme0n3", "ng0nx", "ng0",
        ] {
            fs::write(directory.path().join(name), "").unwrap();
        }
        let at = |name: &str| directory.path().join(name);
        assert_eq!(siblings(&at("ng0n1")), [at("ng0n2"), at("ng0n10")]);
        assert_eq!(siblings(&at("ng1n1")), [] as [PathBuf; 0]);
        assert_eq!(siblings(&at("nvme0n3")), [] as [PathBuf; 0]);
        assert_eq!(
            siblings(Path::new("/nonexistent/ng0n1")),
            [] as [PathBuf; 0]
        );
    }
}
