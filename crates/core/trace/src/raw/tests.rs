use proptest::prelude::*;

use super::RawReader;
use crate::{Io, TraceError};

fn file_of(bytes: &[u8]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, bytes).unwrap();
    file
}

fn bytes_of(pages: &[u32]) -> Vec<u8> {
    pages.iter().flat_map(|page| page.to_le_bytes()).collect()
}

fn all_writes(mut reader: RawReader) -> Result<Vec<Io>, TraceError> {
    let (mut all, mut some) = (Vec::new(), Vec::new());
    while reader.read_batch(&mut some)? {
        all.extend_from_slice(&some);
    }
    assert!(some.is_empty());
    assert!(!reader.read_batch(&mut some)?, "the end is the end");
    Ok(all)
}

fn writes_of(pages: &[u32]) -> Vec<Io> {
    let write = |page: &u32| Io::write(u64::from(*page) * 4096, 4096);
    pages.iter().map(write).collect()
}

proptest! {
    #[test]
    fn pages_come_back_as_they_are(pages in prop::collection::vec(any::<u32>(), 1..500)) {
        let file = file_of(&bytes_of(&pages));
        let read = all_writes(RawReader::open(file.path()).unwrap());
        prop_assert_eq!(read.unwrap(), writes_of(&pages));
    }
}

#[test]
fn a_file_longer_than_a_chunk_is_read_to_its_end() {
    let pages: Vec<u32> = (0..100_003).map(|page| page ^ 0xabcd_0000).collect();
    let file = file_of(&bytes_of(&pages));
    let reader = RawReader::open(file.path()).unwrap();
    assert_eq!(reader.pages(), Some(100_003));
    assert_eq!(all_writes(reader).unwrap(), writes_of(&pages));
}

#[test]
fn a_length_that_is_no_multiple_of_four_is_an_error() {
    let file = file_of(&[0; 4099]);
    let error = RawReader::open(file.path()).unwrap_err();
    assert!(matches!(
        error,
        TraceError::RawLength {
            length_bytes: 4099,
            ..
        }
    ));
    assert!(error.to_string().contains("copy it again"));
}

#[test]
fn an_empty_file_a_directory_and_a_missing_file_are_errors() {
    let empty = RawReader::open(file_of(&[]).path()).unwrap_err();
    assert!(matches!(empty, TraceError::Empty { .. }));
    let directory = RawReader::open(std::env::temp_dir()).unwrap_err();
    assert!(matches!(directory, TraceError::NotAFile { .. }));
    let missing = RawReader::open("/no/such/file.u32").unwrap_err();
    assert!(matches!(missing, TraceError::Open { .. }));
}

#[test]
fn a_pipe_is_read_and_one_that_ends_within_a_number_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    for (bytes, whole) in [(bytes_of(&[1, 2, 3]), true), (vec![0; 6], false)] {
        let path = pipe.clone();
        let feeder = std::thread::spawn(move || std::fs::write(path, bytes).unwrap());
        let reader = RawReader::open(&pipe).unwrap();
        assert_eq!(reader.pages(), None);
        let read = all_writes(reader);
        feeder.join().unwrap();
        match read {
            Ok(ios) => assert!(whole && ios.len() == 3),
            Err(error) => assert!(!whole && matches!(error, TraceError::RawLength { .. })),
        }
    }
}
