//! The files that one question reads and writes. No output may destroy an input or another output,
//! and every output must be writable; both are checked before the work begins.

use std::{
    ffi::OsString,
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use anabranch_trace::WholeFile;

use crate::error::{CompareError, Result};

/// The files that are read, and those that are written, with the option that names each.
#[derive(Debug, Default)]
pub struct Files {
    inputs: Vec<PathBuf>,
    outputs: Vec<Output>,
    /// The option whose output is always printed on standard output, if one is given.
    printed: Option<&'static str>,
}

#[derive(Debug)]
struct Output {
    option: &'static str,
    path: PathBuf,
    kind: Kind,
}

/// Kinds of outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A file that appears whole, or standard output.
    Written,
    /// A file that is read first, or written as the work goes on.
    Kept,
    /// A file like [`Kind::Kept`] that is created by whoever opens it.
    Held,
    /// A directory that files are put into.
    Filled,
}

/// The identity of what a path leads to: equal places are one file, under whatever names.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    StandardOutput,
    /// An existing file: device and inode.
    There(u64, u64),
    /// A file that does not exist yet: device and inode of the directory, and the name in it.
    New(u64, u64, OsString),
}

impl Files {
    /// Adds files that are read. A missing one is reported by whoever opens it.
    #[must_use]
    pub fn reads<P: AsRef<Path>>(mut self, paths: impl IntoIterator<Item = P>) -> Files {
        let paths = paths.into_iter().map(|path| path.as_ref().to_owned());
        self.inputs.extend(paths);
        self
    }

    /// Adds a file that appears whole at the end, or standard output.
    #[must_use]
    pub fn writes<P: AsRef<Path>>(
        self,
        option: &'static str,
        path: impl IntoIterator<Item = P>,
    ) -> Files {
        self.output(option, path, Kind::Written)
    }

    /// Adds a file that is read and written again, or written as the work goes on; it is never
    /// standard output.
    #[must_use]
    pub fn keeps<P: AsRef<Path>>(
        self,
        option: &'static str,
        path: impl IntoIterator<Item = P>,
    ) -> Files {
        self.output(option, path, Kind::Kept)
    }

    /// Adds a file that is changed in place, and opened for that before anything else is done.
    #[must_use]
    pub fn holds<P: AsRef<Path>>(
        self,
        option: &'static str,
        path: impl IntoIterator<Item = P>,
    ) -> Files {
        self.output(option, path, Kind::Held)
    }

    /// Adds a directory that files are put into.
    #[must_use]
    pub fn fills<P: AsRef<Path>>(
        self,
        option: &'static str,
        path: impl IntoIterator<Item = P>,
    ) -> Files {
        self.output(option, path, Kind::Filled)
    }

    /// Adds an output that is always printed on standard output, if there is one.
    #[must_use]
    pub fn prints(mut self, what: Option<&'static str>) -> Files {
        self.printed = what;
        self
    }

    fn output<P: AsRef<Path>>(
        mut self,
        option: &'static str,
        paths: impl IntoIterator<Item = P>,
        kind: Kind,
    ) -> Files {
        let named = |path: P| Output {
            option,
            path: path.as_ref().to_owned(),
            kind,
        };
        self.outputs.extend(paths.into_iter().map(named));
        self
    }

    /// Refuses outputs that would destroy an input or another output, and outputs that cannot be
    /// written. Leaves nothing behind, and touches no existing file.
    ///
    /// # Errors
    /// Wrong use when two of the files are one, failed work when an output cannot be written.
    pub fn check(&self) -> Result {
        let mut places: Vec<(&Output, Place)> = Vec::new();
        for output in &self.outputs {
            let Some(place) = output.place()? else {
                continue;
            };
            self.check_inputs(output, &place)?;
            if let Some((other, _)) = places.iter().find(|(_, other)| *other == place) {
                return Err(output.collides(other));
            }
            match self.printed {
                Some(printed) if place == Place::StandardOutput => {
                    return Err(CompareError::wrong_use(format!(
                        "{} - and {printed} would both go to standard output: leave one out, or \
                         name a file",
                        output.option
                    )));
                }
                _ => places.push((output, place)),
            }
        }
        self.outputs.iter().try_for_each(Output::check_writable)
    }

    fn check_inputs(&self, output: &Output, place: &Place) -> Result {
        for input in &self.inputs {
            let destroyed = match output.kind {
                Kind::Filled => holds(&output.path, input),
                // A file that is not there cannot be destroyed: that it is missing is told later.
                _ => matches!(place, Place::There(..)) && find(input).as_ref() == Some(place),
            };
            if !destroyed {
                continue;
            }
            let (option, path) = (output.option, output.path.display());
            let input = input.display();
            return Err(CompareError::wrong_use(match output.kind {
                Kind::Filled => format!(
                    "{option} {path} holds {input}, which is read: files are put into that \
                     directory and may replace it, so name a directory of its own"
                ),
                _ => format!(
                    "{option} {path} would overwrite {input}, which is read: name another file"
                ),
            }));
        }
        Ok(())
    }
}

impl Output {
    /// The place the output leads to; `None` where it cannot be destroyed, such as a pipe.
    fn place(&self) -> Result<Option<Place>> {
        if self.path != Path::new(WholeFile::STANDARD_OUTPUT) {
            return Ok(find(&self.path));
        }
        let option = self.option;
        match self.kind {
            Kind::Written => Ok(Some(Place::StandardOutput)),
            Kind::Filled => Err(CompareError::wrong_use(format!(
                "{option} - is standard output, and {option} names a directory here"
            ))),
            Kind::Kept | Kind::Held => Err(CompareError::wrong_use(format!(
                "{option} - is standard output, and {option} needs a file (one that is called - is \
                 ./-)"
            ))),
        }
    }

    fn collides(&self, other: &Output) -> CompareError {
        let (one, two) = (other.option, self.option);
        CompareError::wrong_use(if self.path == Path::new(WholeFile::STANDARD_OUTPUT) {
            format!("{one} - and {two} - would both go to standard output: name a file")
        } else {
            format!(
                "{one} {} and {two} {} are one file, which can hold one of them: name two",
                other.path.display(),
                self.path.display()
            )
        })
    }

    fn check_writable(&self) -> Result {
        match self.kind {
            Kind::Held => return Ok(()),
            // Whoever reads a pipe would take opening and closing it for the whole output.
            Kind::Written | Kind::Kept if is_stream(&self.path) => return Ok(()),
            Kind::Written | Kind::Kept => WholeFile::create(&self.path)?,
            Kind::Filled => WholeFile::create(nearest(&self.path)?.join("new"))?,
        };
        Ok(())
    }
}

/// Whether a path is a pipe, a terminal or the like, which keeps nothing that could be destroyed.
fn is_stream(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    let kind = fs::metadata(path).map(|metadata| metadata.file_type());
    path == Path::new(WholeFile::STANDARD_OUTPUT)
        || kind.is_ok_and(|kind| kind.is_fifo() || kind.is_char_device() || kind.is_socket())
}

/// The place of a file that exists at a path, or could be made there; `None` for a stream, or where
/// the directory does not exist either.
fn find(path: &Path) -> Option<Place> {
    if is_stream(path) {
        return None;
    }
    match fs::metadata(path) {
        Ok(found) => Some(Place::There(found.dev(), found.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let directory = match path.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => parent,
                _ => Path::new("."),
            };
            let found = fs::metadata(directory).ok()?;
            Some(Place::New(
                found.dev(),
                found.ino(),
                path.file_name()?.to_owned(),
            ))
        }
        Err(_) => None,
    }
}

/// Whether a file lies directly in a directory.
fn holds(directory: &Path, file: &Path) -> bool {
    let resolved = fs::canonicalize(directory)
        .ok()
        .zip(fs::canonicalize(file).ok());
    resolved.is_some_and(|(directory, file)| file.parent() == Some(&directory))
}

/// The directory itself if it exists, otherwise the nearest one above it that does.
fn nearest(directory: &Path) -> Result<PathBuf> {
    let above = std::path::absolute(directory).map_err(CompareError::usage)?;
    let there = above
        .ancestors()
        .find(|path| path.symlink_metadata().is_ok());
    match there {
        Some(path) if path.is_dir() => Ok(path.to_owned()),
        Some(path) => Err(CompareError::failed(format!(
            "cannot make the directory {}: {} is there, and no directory",
            directory.display(),
            path.display()
        ))),
        None => Ok(above),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn words(files: Files) -> String {
        files.check().unwrap_err().to_string()
    }

    #[test]
    fn one_file_is_one_file_whatever_it_is_called() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("a"), "kept").unwrap();
        fs::hard_link(at("a"), at("hard")).unwrap();
        symlink(at("a"), at("soft")).unwrap();
        fs::create_dir(at("below")).unwrap();
        for name in ["a", "hard", "soft", "below/../a"] {
            let files = Files::default().reads([at("a")]).writes("-o", [at(name)]);
            assert!(words(files).contains("would overwrite"), "{name}");
        }
        let files = Files::default().reads([at("a")]).writes("-o", [at("b")]);
        files.check().unwrap();
        // Neither is there yet.
        let files = Files::default()
            .writes("-o", [at("c")])
            .writes("--html", [at("below/../c")]);
        assert!(words(files).contains("one file"));
        assert_eq!(fs::read(at("a")).unwrap(), b"kept");
        assert!(!at("b").exists() && !at("c").exists());
    }

    #[test]
    fn a_directory_that_is_filled_holds_no_input_and_can_be_made() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("a"), "kept").unwrap();
        let fills = |name: &str| Files::default().reads([at("a")]).fills("-o", [at(name)]);
        assert!(words(fills("")).contains("directory of its own"));
        assert!(words(fills("a/b")).contains("no directory"));
        fills("new/below").check().unwrap();
        assert!(!at("new").exists());
    }

    #[test]
    fn standard_output_takes_one_output_and_is_no_file() {
        let two = Files::default().writes("-o", ["-"]).writes("--html", ["-"]);
        assert!(words(two).contains("standard output"));
        let printed = Files::default().writes("-o", ["-"]).prints(Some("--json"));
        assert!(words(printed).contains("--json"));
        assert!(words(Files::default().keeps("--profile", ["-"])).contains("needs a file"));
        assert!(words(Files::default().fills("-o", ["-"])).contains("directory"));
        Files::default().writes("-o", ["-"]).check().unwrap();
        let twice = Files::default()
            .writes("-o", ["/dev/null"])
            .writes("--html", ["/dev/null"]);
        twice.check().unwrap();
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let files = Files::default().writes("-o", ["/nowhere/at/all"]);
        let fault = files.check().unwrap_err();
        assert_eq!(fault.kind, crate::CompareErrorKind::Failed);
        assert!(fault.to_string().contains("/nowhere/at/all"));
    }
}
