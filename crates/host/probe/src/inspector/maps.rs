//! The executable lines of `/proc/PID/maps`.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use super::message::MappedCode;
use crate::writer::ANONYMOUS;

/// The most executable mappings of a process that are looked at. Our choice: a Java program with a hundred libraries
/// has some hundred.
pub(crate) const MAX_MAPPINGS: usize = 16_384;
/// The most bytes of `/proc/PID/maps` that are read. Our choice: of 65,530 mappings, the kernel's default limit
/// (`vm.max_map_count`), with usual paths.
const MAX_BYTES: u64 = 16 << 20;

/// The executable mappings of a process, in the order of their addresses.
pub(super) fn mappings(tgid: u32) -> io::Result<Vec<MappedCode>> {
    let file = File::open(format!("/proc/{tgid}/maps"))?.take(MAX_BYTES);
    let mut found = Vec::new();
    for line in BufReader::new(file).split(b'\n') {
        if found.len() == MAX_MAPPINGS {
            break;
        }
        found.extend(parse(&String::from_utf8_lossy(&line?)));
    }
    Ok(found)
}

/// The device and inode of the file that is mapped at an address of this process.
pub(super) fn mapping_at(address: u64) -> Option<(u32, u64)> {
    let lines = BufReader::new(File::open("/proc/self/maps").ok()?).split(b'\n');
    let mut found = lines.map_while(Result::ok).filter_map(|line| {
        let (mapping, _) = split(&String::from_utf8_lossy(&line))?;
        let is_there = mapping.start <= address && address < mapping.end;
        is_there.then_some((mapping.device, mapping.inode))
    });
    found.next()
}

/// Parses a line; `None` unless it is well-formed and its mapping executable.
fn parse(line: &str) -> Option<MappedCode> {
    let (mapping, executable) = split(line)?;
    executable.then_some(mapping)
}

/// Parses a line. Answers with the mapping, and whether it is executable.
fn split(line: &str) -> Option<(MappedCode, bool)> {
    let mut rest = line;
    let mut field = || {
        let (field, tail) = rest.split_once(' ').unwrap_or((rest, ""));
        rest = tail;
        field
    };
    let (start, end) = field().split_once('-')?;
    let executable = field().as_bytes().get(2) == Some(&b'x');
    let file_offset = u64::from_str_radix(field(), 16).ok()?;
    let (major, minor) = field().split_once(':')?;
    let number = |digits| u32::from_str_radix(digits, 16).ok();
    let device = number(major)? << 20 | number(minor)?;
    let inode = field().parse().ok()?;
    let mapping = MappedCode {
        start: u64::from_str_radix(start, 16).ok()?,
        end: u64::from_str_radix(end, 16).ok()?,
        file_offset,
        device,
        inode,
        path: object_path(rest.trim_start()).to_owned(),
    };
    Some((mapping, executable))
}

/// The path of the file with the code; a name in brackets for code that lies in no file.
/// Memory that only looks like a file (memfd, /dev/zero) is a compiler's too.
fn object_path(path: &str) -> &str {
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    match path {
        "[vdso]" => path,
        _ if !path.starts_with('/') => ANONYMOUS,
        _ if path.starts_with("/memfd:") || path == "/dev/zero" => ANONYMOUS,
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_is_parsed_and_its_path_may_hold_spaces() {
        let line = "7f0000001000-7f0000002000 r-xp 00003000 08:01 42                         /opt/a b/lib.so (deleted)";
        assert_eq!(
            parse(line).unwrap(),
            MappedCode {
                start: 0x7f00_0000_1000,
                end: 0x7f00_0000_2000,
                file_offset: 0x3000,
                device: 8 << 20 | 1,
                inode: 42,
                path: "/opt/a b/lib.so".into(),
            }
        );
    }

    #[test]
    fn data_is_no_code() {
        assert_eq!(
            parse("7f0000001000-7f0000002000 rw-p 00000000 00:00 0 "),
            None
        );
    }

    #[test]
    fn code_of_compilers_lies_in_no_file() {
        for path in [
            "",
            "[heap]",
            "/memfd:jit (deleted)",
            "/dev/zero (deleted)",
            "[anon:code]",
        ] {
            let line = format!("1000-2000 rwxp 00000000 00:00 0 {path}");
            assert_eq!(parse(&line).unwrap().path, "[anon]", "{path}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "[0-9a-f]{0,17}-?[0-9a-f]{0,17} ?[rwxp-]{0,5}( ?[0-9a-f:/()]{0,20}){0,5}") {
            let _ = parse(&text);
        }
    }
}
