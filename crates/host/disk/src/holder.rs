//! Holders: what keeps a device or its file system in use.

use std::fmt;
use std::path::PathBuf;

use crate::processes::Process;

/// A user of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Holder {
    /// A process that has the file system mounted in a namespace of its own, or has a file of it open.
    Process(Process),
    /// The kernel, which swaps to this file.
    Swap(PathBuf),
    /// A loop device whose backing file lies on the file system.
    Loop(PathBuf),
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holder::Process(Process { pid, name }) => write!(f, "{name} ({pid})"),
            Holder::Swap(path) => write!(f, "swap on {} (`swapoff`)", path.display()),
            Holder::Loop(path) => write!(f, "{} (`losetup -d`)", path.display()),
        }
    }
}

/// The holders as text; if none was found, what else may hold the device.
pub(crate) fn words(holders: &[Holder]) -> String {
    match holders {
        [] => "this process, or the kernel itself (an export, a mount without a place)".to_owned(),
        holders => {
            let words: Vec<String> = holders.iter().map(Holder::to_string).collect();
            words.join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders_are_told_in_words() {
        let swap = Holder::Swap("/mnt/swap".into());
        let process = Holder::Process(Process {
            pid: 7,
            name: "x".into(),
        });
        assert_eq!(
            words(&[process, swap]),
            "x (7), swap on /mnt/swap (`swapoff`)"
        );
        assert!(words(&[]).contains("kernel"));
    }
}
