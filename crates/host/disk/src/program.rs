//! The search for a program's file, as a shell does it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The absolute path of `name`: itself if it holds a slash (relative to the working directory), otherwise the first
/// executable of that name in `search_path` (directories with colons between). `None` if there is none.
///
/// `exec` cannot do this, since the program starts in another directory than the one its name was typed in.
pub(crate) fn find_program(name: &OsStr, search_path: &OsString) -> Option<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return absolute(Path::new(name)).filter(|path| path.exists());
    }
    if name.is_empty() {
        return None;
    }
    std::env::split_paths(search_path)
        .filter_map(|directory| absolute(&directory.join(name)))
        .find(|path| is_executable_file(path))
}

fn absolute(path: &Path) -> Option<PathBuf> {
    std::path::absolute(path).ok()
}

fn is_executable_file(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_is_searched_and_a_path_is_not() {
        let path = OsString::from("/nowhere:/bin");
        assert_eq!(
            find_program("sh".as_ref(), &path),
            Some(PathBuf::from("/bin/sh"))
        );
        assert_eq!(
            find_program("/bin/sh".as_ref(), &OsString::new()),
            Some(PathBuf::from("/bin/sh"))
        );
        assert_eq!(find_program("./sh".as_ref(), &path), None);
        assert_eq!(find_program("".as_ref(), &path), None);
    }

    #[test]
    fn what_cannot_be_executed_is_passed_over() {
        assert_eq!(
            find_program("passwd".as_ref(), &OsString::from("/etc")),
            None
        );
    }
}
