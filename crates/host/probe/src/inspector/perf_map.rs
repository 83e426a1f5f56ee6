//! Functions of just-in-time compilers, by the file that they write for `perf`: `/tmp/perf-PID.map`.
//!
//! The form is the kernel's own interface (tools/perf/Documentation/jit-interface.txt): a function a line, its first
//! address and its bytes in hexadecimal, and its name up to the end of the line. A later line of the same address
//! takes the place of an earlier one.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::libc::O_NOFOLLOW;

use super::code_file::open_regular;

/// Bytes of one map that are read, and of all maps that are kept. Our choice: a Java server has some 5 MiB, and all must
/// fit into an inspector's memory.
const MAX_BYTES: u64 = 16 << 20;
/// Letters of a name that are kept. Our choice.
const MAX_NAME: usize = 512;

/// The maps of processes, each read as far as it has grown.
#[derive(Debug, Default)]
pub(super) struct PerfMaps {
    maps: HashMap<u32, PerfMap>,
}

#[derive(Debug, Default)]
struct PerfMap {
    inode: u64,
    read_bytes: u64,
    /// By the first address: bytes and name.
    functions: BTreeMap<u64, (u64, Box<str>)>,
}

impl PerfMaps {
    /// The functions at addresses of a process; `None` if it has no map.
    pub(super) fn functions(
        &mut self,
        tgid: u32,
        addresses: &[u64],
    ) -> Option<Vec<Option<String>>> {
        let file = open(tgid);
        let Some(file) = file else {
            self.maps.remove(&tgid);
            return None;
        };
        let kept: u64 = self.maps.values().map(|map| map.read_bytes).sum();
        if kept > MAX_BYTES {
            self.maps.retain(|&other, _| other == tgid);
        }
        let map = self.maps.entry(tgid).or_default();
        map.follow(file)?;
        let name = |&address: &u64| map.function(address).map(str::to_owned);
        Some(addresses.iter().map(name).collect())
    }
}

impl PerfMap {
    /// Reads what was added since the last time; all of a file that is another one, or shorter.
    fn follow(&mut self, mut file: File) -> Option<()> {
        let found = file.metadata().ok()?;
        if found.ino() != self.inode || found.len() < self.read_bytes {
            *self = PerfMap {
                inode: found.ino(),
                ..PerfMap::default()
            };
        }
        if found.len() == self.read_bytes || self.read_bytes >= MAX_BYTES {
            return Some(());
        }
        file.seek(SeekFrom::Start(self.read_bytes)).ok()?;
        let mut lines = BufReader::new(file.take(MAX_BYTES - self.read_bytes));
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).ok()? > 0 {
            // The compiler is still writing this line.
            if line.last() != Some(&b'\n') {
                break;
            }
            self.read_bytes += line.len() as u64;
            if let Some((start, bytes, name)) = parse(&String::from_utf8_lossy(&line)) {
                self.functions.insert(start, (bytes, name.into()));
            }
            line.clear();
        }
        Some(())
    }

    fn function(&self, address: u64) -> Option<&str> {
        let (start, (bytes, name)) = self.functions.range(..=address).next_back()?;
        (address - start < *bytes).then_some(&**name)
    }
}

/// Opens the map of a process, in its own mount and process namespaces; `None` if it has none, or another user made it.
fn open(tgid: u32) -> Option<File> {
    let status = fs::read(format!("/proc/{tgid}/status")).ok()?;
    let status = String::from_utf8_lossy(&status);
    let field = |name| status.lines().find_map(|line| line.strip_prefix(name));
    let own: u32 = field("NSpid:")?.split_whitespace().last()?.parse().ok()?;
    let user: u32 = field("Uid:")?.split_whitespace().next()?.parse().ok()?;
    let root = PathBuf::from(format!("/proc/{tgid}/root"));
    opened_of(&root.join("tmp").join(format!("perf-{own}.map")), user)
}

/// A map that a user or root made.
fn opened_of(path: &Path, user: u32) -> Option<File> {
    let file = open_regular(path, O_NOFOLLOW).ok()?;
    let owner = file.metadata().ok()?.uid();
    (owner == user || owner == 0).then_some(file)
}

/// Parses a line: address, bytes and the function's name.
fn parse(line: &str) -> Option<(u64, u64, String)> {
    let (start, rest) = line.trim().split_once(' ')?;
    let (bytes, name) = rest.split_once(' ')?;
    // Java's have the prefix.
    let number = |digits: &str| {
        let digits = digits.strip_prefix("0x").unwrap_or(digits);
        u64::from_str_radix(digits, 16).ok()
    };
    let name: String = name_of(name.trim()).chars().take(MAX_NAME).collect();
    (!name.is_empty()).then_some((number(start)?, number(bytes)?, name))
}

/// The name that a person knows: Python's without `py::`, and Node's without the word and the letter of the tier that
/// compiled it, since a function is recompiled while it runs.
fn name_of(name: &str) -> &str {
    if let Some(python) = name.strip_prefix("py::") {
        return python;
    }
    let kinds = ["JS:", "LazyCompile:", "Function:", "Script:", "Eval:"];
    let script = kinds.iter().find_map(|kind| name.strip_prefix(kind));
    script.map_or(name, |script| {
        script.trim_start_matches(['*', '~', '^', '+'])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write as _;
    use tempfile::TempDir;

    fn map_of(text: &str) -> PerfMap {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let mut map = PerfMap::default();
        map.follow(file).unwrap();
        map
    }

    #[test]
    fn an_address_has_the_function_that_it_lies_in() {
        let map = map_of(
            "7f00 10 py::save:/opt/store.py\n0x0000000000008000 0x20 void org.h2.Store.write(int)\n\
             9000 8 JS:*flush file:///opt/app.js:3:7\n9100 8 LazyCompile:~flush app.js:3\nnonsense\n",
        );
        let cases = [
            (0x7eff, None),
            (0x7f00, Some("save:/opt/store.py")),
            (0x7f0f, Some("save:/opt/store.py")),
            (0x7f10, None),
            (0x8001, Some("void org.h2.Store.write(int)")),
            (0x9007, Some("flush file:///opt/app.js:3:7")),
            (0x9100, Some("flush app.js:3")),
        ];
        for (address, function) in cases {
            assert_eq!(map.function(address), function, "{address:x}");
        }
    }

    #[test]
    fn a_map_is_followed_as_it_grows_and_half_a_line_waits() {
        let place = TempDir::new().unwrap();
        let path = place.path().join("perf-1.map");
        let mut map = PerfMap::default();
        let mut is = |text: &str, address| {
            fs::write(&path, text).unwrap();
            map.follow(File::open(&path).unwrap()).unwrap();
            map.function(address).map(str::to_owned)
        };
        assert_eq!(is("10 8 first\n20 8 sec", 0x20), None);
        assert_eq!(
            is("10 8 first\n20 8 second\n10 8 anew\n", 0x20),
            Some("second".into())
        );
        assert_eq!(
            is("10 8 first\n20 8 second\n10 8 anew\n", 0x10),
            Some("anew".into())
        );
        // Another file, or one begun anew.
        assert_eq!(is("30 8 third\n", 0x10), None);
    }

    #[test]
    fn a_map_that_another_user_made_or_that_is_no_file_is_not_read() {
        let place = TempDir::new().unwrap();
        let path = place.path().join("perf-1.map");
        fs::write(&path, "10 8 first\n").unwrap();
        let own = fs::metadata(&path).unwrap().uid();
        assert!(opened_of(&path, own).is_some());
        if own != 0 {
            assert!(opened_of(&path, own + 1).is_none());
        } else {
            std::os::unix::fs::chown(&path, Some(65_534), None).unwrap();
            assert!(opened_of(&path, 1).is_none());
            assert!(opened_of(&path, 65_534).is_some());
        }
        let pipe = place.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(opened_of(&pipe, own).is_none());
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(opened_of(&link, own).is_none());
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "(0x)?[0-9a-f]{0,17} ?[0-9a-f]{0,17} ?.{0,40}\n?") {
            let map = map_of(&text);
            let _ = map.function(u64::MAX);
        }
    }
}
