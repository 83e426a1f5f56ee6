//! The name of a block device's link, `/dev/disk/by-id/anabranch-…`: the kernel numbers block devices as they are made,
//! the link names the drive behind one. udev makes it, by `packaging/61-anabranch.rules`, from a file of properties.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;

use nix::libc::O_NOFOLLOW;

use crate::drive::SteeredDrive;
use crate::error::SteerError;
use crate::ledger;

/// The property that udev reads.
const PROPERTY: &str = "ANABRANCH_DRIVE";

/// Writes the properties of a block device; before the kernel announces it.
///
/// # Errors
/// When the file cannot be made.
pub fn write(device: u32, drive: &SteeredDrive) -> Result<(), SteerError> {
    let path = ledger::properties(device);
    let number = drive.namespace().number();
    let words = properties(drive.model(), drive.serial(), number);
    let make = || {
        // Left by a device that had this number and is gone.
        let _ = fs::remove_file(&path);
        let mut options = OpenOptions::new();
        let options = options.write(true).create_new(true).mode(0o600);
        let mut file = options.custom_flags(O_NOFOLLOW).open(&path)?;
        file.write_all(words.as_bytes())
    };
    make().map_err(SteerError::io("write", &path))
}

/// The properties, a line each.
fn properties(model: &str, serial: &str, number: u32) -> String {
    let name = [plain(model), plain(serial), number.to_string()].join("_");
    format!("{PROPERTY}={name}\n")
}

/// A word as udev has it in its own links: blanks become an underscore, and so does what is no plain character.
fn plain(word: &str) -> String {
    let words: Vec<&str> = word.split_whitespace().collect();
    let is_plain = |one: char| one.is_ascii_alphanumeric() || "#+-.:=@_".contains(one);
    let plain = |one: char| if is_plain(one) { one } else { '_' };
    words.join("_").chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = include_str!("../../../../packaging/61-anabranch.rules");

    #[test]
    fn a_drives_words_make_a_name_like_udevs_own_and_nothing_else() {
        let words = properties("A  Fine Drive", "S/N\n1%", 2);
        assert_eq!(words, "ANABRANCH_DRIVE=A_Fine_Drive_S_N_1__2\n");
        // Words are the drive's maker's: no line, path or quote of theirs gets through.
        let words = properties("../x\"\u{1b}\nA=b", "", 1);
        assert_eq!(words, "ANABRANCH_DRIVE=.._x___A=b__1\n");
        assert_eq!(words.lines().count(), 1);
    }

    #[test]
    fn the_rules_read_the_file_and_the_property_that_are_written() {
        let file = ledger::properties(7)
            .display()
            .to_string()
            .replace("ublkb7", "$kernel");
        assert!(
            RULES.contains(&format!("IMPORT{{file}}=\"{file}\"")),
            "{file}"
        );
        let link = format!("SYMLINK+=\"disk/by-id/anabranch-$env{{{PROPERTY}}}\"");
        assert!(RULES.contains(&link), "{link}");
    }
}
