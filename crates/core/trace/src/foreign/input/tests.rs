use std::io::{Cursor, Write};

use flate2::write::GzEncoder;

use super::*;

/// Gives one byte at a time: every window is as short as can be.
struct Drops(Cursor<Vec<u8>>);

impl Read for Drops {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let one = buffer.len().min(1);
        self.0.read(&mut buffer[..one])
    }
}

fn input(bytes: impl Into<Vec<u8>>) -> Input {
    Input::new("a trace", Drops(Cursor::new(bytes.into()))).unwrap()
}

fn lines(mut input: Input) -> Vec<String> {
    let mut lines = Vec::new();
    while let Some(line) = input.next_line().unwrap() {
        lines.push(match line {
            Line::Whole(line) => String::from_utf8_lossy(line).into_owned(),
            Line::TooLong(beginning) => format!("too long: {}", beginning.len()),
        });
    }
    lines
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn lines_end_with_either_end_of_line_or_the_input() {
    assert_eq!(lines(input("a\r\nb\n\nc")), ["a", "b", "", "c"]);
}

#[test]
fn a_line_without_end_costs_no_memory_and_the_next_is_read() {
    let mut text = vec![b'x'; 3 * WINDOW_BYTES];
    text.extend_from_slice(b"\nb\n");
    let from_one_read = Input::new("a trace", Cursor::new(text)).unwrap();
    assert_eq!(lines(from_one_read), ["too long: 100", "b"]);
    let mut text = vec![b'x'; LINE_BYTES + 1];
    text.extend_from_slice(b"\nb\n");
    let from_one_read = Input::new("a trace", Cursor::new(text)).unwrap();
    assert_eq!(lines(from_one_read), ["too long: 100", "b"]);
}

#[test]
fn packed_inputs_are_unpacked_member_after_member() {
    let members = [gzip(b"a\n"), gzip(b"b\n")].concat();
    assert_eq!(lines(input(members)), ["a", "b"]);
    let frame = |bytes: &[u8]| zstd::encode_all(bytes, 1).unwrap();
    let frames = [frame(b"a\n"), frame(b"b\n")].concat();
    assert_eq!(lines(input(frames)), ["a", "b"]);
}

#[test]
fn a_packed_input_that_is_cut_off_is_an_error_that_names_it() {
    let mut packed = gzip(&[b'a'; 1000]);
    packed.truncate(packed.len() - 9);
    let error = Input::new("a trace", Cursor::new(packed)).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("a trace is damaged: what is packed in it is cut off"),
        "{error}"
    );
}

#[test]
fn what_is_not_unpacked_here_says_how_to() {
    let mut tar = vec![0; 512];
    tar[257..262].copy_from_slice(b"ustar");
    for (bytes, command) in [
        (b"\xfd7zXZ\0\0".to_vec(), "`xz -dc t |"),
        (b"BZh91AY".to_vec(), "`bzip2 -dc t |"),
        (tar.clone(), "`tar -xOf t |"),
        (gzip(&tar), "`tar -xOf t |"),
    ] {
        let error = Input::new("t", Cursor::new(bytes)).unwrap_err();
        assert!(error.to_string().contains(command), "{error}");
    }
}

#[test]
fn nothing_is_an_error_packed_or_not() {
    for bytes in [Vec::new(), gzip(b"")] {
        let error = Input::new("t", Cursor::new(bytes)).unwrap_err();
        assert!(error.to_string().starts_with("t is empty"), "{error}");
    }
}

#[test]
fn a_text_in_utf_16_is_known_without_a_digit_and_page_numbers_are_none() {
    let wide = |text: &str, is_big: bool| -> Vec<u8> {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        let bytes = |unit: u16| {
            if is_big {
                unit.to_be_bytes()
            } else {
                unit.to_le_bytes()
            }
        };
        units.flat_map(bytes).collect()
    };
    for text in [
        "# tracer: nop\n#\n#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n",
        "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n",
        "R,ü\n",
    ] {
        for is_big in [false, true] {
            assert!(is_utf_16(&wide(text, is_big)), "{text}");
        }
    }
    let pages: Vec<u8> = [65_279_u32, 48, 49, 50]
        .iter()
        .flat_map(|page| page.to_le_bytes())
        .collect();
    assert!(!is_utf_16(&pages));
    assert!(!is_utf_16(b"\xff\xfe"));
    assert!(!is_utf_16(b"8,0 1 1"));
}
