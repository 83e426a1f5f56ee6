//! Files of another kind than the one asked for, known by their first bytes, with the command that makes the right one.

use std::{fs::File, io::Read as _, path::Path};

/// Bytes that are looked at.
const HEAD: u64 = 64;

/// Kinds that are no trace: their first bytes, and a sentence in which `{}` stands for the file. perf's
/// `perf_file_header` begins with PERFILE2, trace-cmd's file with 0x17 0x08 0x44 and "tracing"; xz: its format 1.2.1,
/// section 2.1.1.1.
const NO_TRACES: [(&[u8], &str); 3] = [
    (
        b"PERFILE2",
        "{} is a recording of perf: make text of it with `perf script -i {}`, and `anabranch import` reads that",
    ),
    (
        b"\x17\x08\x44tracing",
        "{} is a recording of trace-cmd: make text of it with `trace-cmd report {}`, and `anabranch import` reads that",
    ),
    (
        b"\xfd7zXZ\0",
        "{} is packed with xz: `xz -dc {} | anabranch import - -o TRACE.parquet` reads it",
    ),
];

/// The reason why a file is no trace; `None` where that is not known by its first bytes.
pub fn no_trace(path: &Path) -> Option<String> {
    of_head(&head(path)?, path)
}

/// Whether a file is a trace in our own form.
pub fn is_trace(path: &Path) -> bool {
    head(path).is_some_and(|head| head.starts_with(b"PAR1"))
}

/// Whether a file is to be read in the form of another tool, whichever that is: it is neither ours, nor named as if it
/// were, nor page numbers, which have no form.
pub fn is_foreign(path: &Path) -> bool {
    let is_named = path
        .extension()
        .is_some_and(|extension| extension == "u32" || extension == "parquet");
    !is_named && head(path).is_some_and(|head| !head.starts_with(b"PAR1"))
}

fn of_head(head: &[u8], path: &Path) -> Option<String> {
    let name = path.display().to_string();
    let known = NO_TRACES.iter().find(|(magic, _)| head.starts_with(magic));
    if let Some((_, words)) = known {
        return Some(words.replace("{}", &name));
    }
    let text = head.trim_ascii_start();
    let is_json = text
        .strip_prefix(b"{")
        .is_some_and(|rest| rest.trim_ascii_start().starts_with(b"\""));
    is_json.then(|| {
        format!(
            "{name} is JSON, as results are, and no trace: name the trace it was made of, or look at the result with \
             `anabranch report {name}`"
        )
    })
}

/// The first bytes of a regular file: a pipe's are read once.
fn head(path: &Path) -> Option<Vec<u8>> {
    let is_file = path.metadata().is_ok_and(|file| file.is_file());
    let mut head = Vec::new();
    let read = |file: File| file.take(HEAD).read_to_end(&mut head);
    is_file.then(|| File::open(path).and_then(read).ok())??;
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(head: &[u8]) -> String {
        of_head(head, Path::new("x")).unwrap_or_default()
    }

    #[test]
    fn a_file_of_another_tool_comes_with_the_command_that_makes_text_of_it() {
        assert!(words(b"PERFILE2...").contains("perf script -i x"));
        assert!(words(b"\x17\x08\x44tracing6").contains("trace-cmd report x"));
        assert!(words(b"\xfd7zXZ\0\0").contains("xz -dc x"));
        assert!(words(b"{\n  \"config\": {").contains("anabranch report x"));
        for trace in [&b"PAR1"[..], b"8,0 1 1 0.0 1 D W 1 + 8", b"{1,2}", b""] {
            assert_eq!(words(trace), "");
        }
    }
}
