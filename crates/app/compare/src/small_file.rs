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
    decoded(bytes)
}

/// Decodes UTF-8, and what a byte-order mark announces: PowerShell's `>` writes UTF-16.
fn decoded(mut bytes: Vec<u8>) -> io::Result<String> {
    let wide = match bytes.first_chunk() {
        Some([0xff, 0xfe]) => Some(u16::from_le_bytes as fn([u8; 2]) -> u16),
        Some([0xfe, 0xff]) => Some(u16::from_be_bytes as fn([u8; 2]) -> u16),
        _ => None,
    };
    if let Some(unit) = wide {
        let (units, rest) = bytes[2..].as_chunks();
        let units: Vec<u16> = units.iter().copied().map(unit).collect();
        let text = String::from_utf16(&units).ok();
        return text.filter(|_| rest.is_empty()).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                "it is no text (UTF-16), as which it begins",
            )
        });
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
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

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_text() {
        for (bytes, read) in [
            (&b"\xef\xbb\xbf{}"[..], Some("{}")),
            (b"\xff\xfe{\0}\0", Some("{}")),
            (b"\xfe\xff\0{\0}", Some("{}")),
            (b"\xff\xfe", Some("")),
            (b"", Some("")),
            (b"\xff", None),
            (b"\xff\xfe{", None),
            (b"\xff\xfe\0\xd8", None),
        ] {
            assert_eq!(decoded(bytes.to_vec()).ok().as_deref(), read, "{bytes:?}");
        }
    }
}
