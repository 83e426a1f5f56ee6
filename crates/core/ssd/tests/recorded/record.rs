//! A record: sums over what was asked, as lines of a file.

use std::{
    fmt::{Debug, Write},
    fs,
    hash::Hasher,
    path::Path,
};

/// A sum over what was asked, as text.
#[derive(Default)]
pub struct Sum(twox_hash::XxHash3_64);

impl Sum {
    pub fn take(&mut self, told: impl Debug) {
        write!(self, "{told:?};").unwrap();
    }

    pub fn text(&self) -> String {
        format!("{:016x}", self.0.finish())
    }
}

impl Debug for Sum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text())
    }
}

impl Write for Sum {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        Hasher::write(&mut self.0, text.as_bytes());
        Ok(())
    }
}

/// Compares lines with the record of that name, or writes it.
pub fn hold(name: &str, lines: &[String]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/recorded/{name}.txt"));
    if std::env::var_os("ANABRANCH_RECORD").is_some() {
        return fs::write(path, lines.join("\n") + "\n").unwrap();
    }
    let record = fs::read_to_string(&path).unwrap();
    for (is, was) in lines.iter().zip(record.lines()) {
        assert_eq!(is, was, "{name}: it is, and it was recorded");
    }
    assert_eq!(lines.len(), record.lines().count(), "{name}");
}
