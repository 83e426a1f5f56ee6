//! An output file that appears whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{AT_FDCWD, AtFlags, OFlag};
use nix::unistd::linkat;
use tempfile::TempPath;

use crate::error::TraceError;

/// The mode of a new file: read and write for everyone, less what the umask takes away.
const MODE: u32 = 0o666;

/// A file that nobody sees before [`WholeFile::finish`]: dropped or killed before that, it leaves
/// nothing behind, and what was at its path is untouched.
///
/// The bytes go to a file without a name (`O_TMPFILE`) in the target's directory, which gets its
/// name at the end. Where the file system has no such thing they go to a hidden file
/// `.anabranch-….partial` beside the target; that one does stay if the process is killed.
/// A pipe, a character device (`/dev/null`) or standard output ([`WholeFile::STANDARD_OUTPUT`]) is
/// written straight through.
/// Writing is buffered.
#[derive(Debug)]
pub struct WholeFile {
    file: BufWriter<File>,
    target: PathBuf,
    place: Place,
}

/// The place of the bytes until the end.
#[derive(Debug)]
enum Place {
    /// In a file without a name.
    Unnamed,
    /// In a hidden file beside the target.
    Hidden(TempPath),
    /// In the target itself, which cannot be replaced at the end.
    Through,
}

impl WholeFile {
    /// The path that stands for standard output; a file of that name is `./-`.
    pub const STANDARD_OUTPUT: &str = "-";

    /// Begins a file that will appear at `path`.
    ///
    /// # Errors
    /// [`TraceError::Create`] when the directory is missing or may not be written, or when a
    /// directory, a block device or a socket is at `path`.
    pub fn create(path: impl AsRef<Path>) -> Result<WholeFile, TraceError> {
        let path = path.as_ref();
        begin(path).map_err(|source| TraceError::Create {
            path: path.into(),
            source,
        })
    }

    /// Makes the bytes durable and gives them the name, in place of what had it before.
    ///
    /// The data is on the disk before the name is there, so that a crash of the machine cannot
    /// leave half a trace (our choice).
    ///
    /// # Errors
    /// [`TraceError::Write`] when the disk is full or the name cannot be given.
    pub fn finish(self) -> Result<(), TraceError> {
        let target = self.target.clone();
        self.complete().map_err(|source| TraceError::Write {
            path: target,
            source,
        })
    }

    fn complete(self) -> io::Result<()> {
        let file = self
            .file
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        match self.place {
            Place::Through => Ok(()),
            Place::Hidden(hidden) => {
                file.sync_all()?;
                Ok(hidden.persist(&self.target)?)
            }
            Place::Unnamed => {
                file.sync_all()?;
                give_name(&file, &self.target)
            }
        }
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn begin(path: &Path) -> io::Result<WholeFile> {
    if path == Path::new(WholeFile::STANDARD_OUTPUT) {
        let own = io::stdout().as_fd().try_clone_to_owned()?;
        return Ok(WholeFile {
            file: BufWriter::new(own.into()),
            target: path.into(),
            place: Place::Through,
        });
    }
    let kind = match fs::metadata(path) {
        Ok(metadata) => Some(metadata.file_type()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let (file, target, place) = match kind {
        Some(kind) if kind.is_fifo() || kind.is_char_device() => {
            let file = OpenOptions::new().write(true).open(path)?;
            (file, path.into(), Place::Through)
        }
        Some(kind) if !kind.is_file() => {
            return Err(io::Error::other("it is there, and not a regular file"));
        }
        Some(_) => beside(fs::canonicalize(path)?)?,
        None => beside(absolute(path)?)?,
    };
    let file = BufWriter::new(file);
    Ok(WholeFile {
        file,
        target,
        place,
    })
}

/// The path with its directory resolved, so that it holds when the process changes directory.
fn absolute(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
    Ok(fs::canonicalize(directory_of(path))?.join(name))
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn beside(target: PathBuf) -> io::Result<(File, PathBuf, Place)> {
    if let Some(file) = unnamed(directory_of(&target))? {
        return Ok((file, target, Place::Unnamed));
    }
    let (file, hidden) = hidden(&target)?;
    Ok((file, target, Place::Hidden(hidden)))
}

/// Makes a file without a name; `None` where the file system has none, or it could not be named
/// later.
fn unnamed(directory: &Path) -> io::Result<Option<File>> {
    if !Path::new("/proc/self/fd").exists() {
        return Ok(None);
    }
    let opened = OpenOptions::new()
        .write(true)
        .mode(MODE)
        .custom_flags(OFlag::O_TMPFILE.bits())
        .open(directory);
    match opened {
        Ok(file) => Ok(Some(file)),
        // A kernel that does not know the flag tries to open the directory itself for writing.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => Ok(None),
        Err(error) => Err(error),
    }
}

fn hidden(target: &Path) -> io::Result<(File, TempPath)> {
    let permissions = fs::Permissions::from_mode(MODE);
    let named = hidden_names()
        .permissions(permissions)
        .tempfile_in(directory_of(target))
        .map_err(without_path)?;
    Ok(named.into_parts())
}

/// The system's error without the hidden name: the caller knows the target only.
fn without_path(error: io::Error) -> io::Error {
    let words = error.to_string();
    match words.split_once(" at path ") {
        Some((said, _)) => io::Error::new(error.kind(), said),
        None => error,
    }
}

fn hidden_names() -> tempfile::Builder<'static, 'static> {
    let mut names = tempfile::Builder::new();
    names.prefix(".anabranch-").suffix(".partial");
    names
}

/// Gives an unnamed file its name. A link cannot replace a file: in that case the file takes a
/// hidden name and is renamed, and only a kill between these two calls can leave the hidden name
/// behind.
fn give_name(file: &File, target: &Path) -> io::Result<()> {
    match link(file, target) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        done => return done,
    }
    let linked = hidden_names().make_in(directory_of(target), |name| link(file, name))?;
    Ok(linked.into_temp_path().persist(target)?)
}

fn link(file: &File, name: &Path) -> io::Result<()> {
    let open = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    let follow = AtFlags::AT_SYMLINK_FOLLOW;
    Ok(linkat(AT_FDCWD, &open, AT_FDCWD, name, follow)?)
}

#[cfg(test)]
mod tests;
