//! Files that are read whole, up to a limit, whatever they turn out to be.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// The most bytes of a profile, of rules, of a grid or of lifetimes (our choice: a thousand times the largest of ours).
const MOST_SETTINGS_BYTES: u64 = 16 << 20;
/// The most bytes of results in one file (our choice: a grid of some hundred drives with all details).
const MOST_RESULT_BYTES: u64 = 1 << 30;

/// Reads a file that people write.
///
/// # Errors
/// When the file cannot be read, is not text, or is larger than the limit (such as a device that never ends).
pub fn settings(path: &Path) -> io::Result<String> {
    opened(&File::open(path)?)
}

/// Reads a file of results.
///
/// # Errors
/// As for [`settings`].
pub fn results(path: &Path) -> io::Result<String> {
    text(&File::open(path)?, MOST_RESULT_BYTES)
}

/// Reads an open file that people write.
///
/// # Errors
/// As for [`settings`].
pub fn opened(file: &File) -> io::Result<String> {
    text(file, MOST_SETTINGS_BYTES)
}

fn text(file: &File, most_bytes: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(most_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most_bytes {
        let words = format!(
            "it has more than the {} MiB that are read of such a file",
            most_bytes >> 20
        );
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, words));
    }
    // The decoder's own words tell nothing about where.
    String::from_utf8(bytes).map_err(|wrong| {
        let at = wrong.utf8_error().valid_up_to();
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("it is no text (UTF-8) from byte {at} on"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_refused_with_the_limit() {
        let error = settings(Path::new("/dev/zero")).unwrap_err();
        assert!(
            error.to_string().contains("more than the 16 MiB"),
            "{error}"
        );
    }

    #[test]
    fn a_file_at_its_limit_is_read_and_what_is_no_text_is_told() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "four").unwrap();
        assert_eq!(text(&File::open(file.path()).unwrap(), 4).unwrap(), "four");
        assert!(text(&File::open(file.path()).unwrap(), 3).is_err());
        std::fs::write(&file, b"ab\xff").unwrap();
        let error = text(&File::open(file.path()).unwrap(), 4)
            .unwrap_err()
            .to_string();
        assert!(error.contains("from byte 2 on"), "{error}");
    }
}
