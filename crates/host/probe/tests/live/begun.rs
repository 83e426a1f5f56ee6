//! Captures of files that are begun after others were read.

use anabranch_probe::ProbeOptions;
use anabranch_trace::{Rate, Sampled};

use crate::{
    drive::Drive,
    generations, python,
    watch::{watch, watch_sampled},
};

fn files_are_of_one_generation_more_than_what_was_read_for_them(file_system: &str) {
    let drive = Drive::with(file_system, 320);
    let watched = watch(&ProbeOptions::new(&drive.device), || {
        python(generations::PROGRAM, drive.path());
    });
    generations::judge(
        watched
            .writes()
            .map(|io| (watched.file_name(io), watched.context(io))),
    );
}

#[test]
fn a_file_on_ext4_is_of_one_generation_more_than_what_was_read_for_it() {
    files_are_of_one_generation_more_than_what_was_read_for_them("ext4");
}

#[test]
fn a_file_on_xfs_is_of_one_generation_more_than_what_was_read_for_it() {
    files_are_of_one_generation_more_than_what_was_read_for_them("xfs");
}

#[test]
fn without_generations_a_writer_is_one_context_whatever_it_read() {
    let drive = Drive::with("ext4", 320);
    let options = ProbeOptions {
        generations: false,
        ..ProbeOptions::new(&drive.device)
    };
    let watched = watch(&options, || python(generations::PROGRAM, drive.path()));
    let mut written = watched.writes();
    assert!(written.all(|io| watched.context(io).generation == 0));
    assert_eq!(watched.writes_to("3-direct").count(), 1);
}

/// A file written in pieces that pass by the page cache, after another was read.
const PIECES: &str = "
import mmap, os, sys
at = sys.argv[1] + '/'
file = os.open(at + '0-first', os.O_RDWR | os.O_CREAT)
os.write(file, bytes(1 << 18))
os.pread(file, 1 << 18, 0)
file, memory = os.open(at + '1-pieces', os.O_WRONLY | os.O_CREAT | os.O_DIRECT), mmap.mmap(-1, 16384)
for piece in range(512):
    os.writev(file, [memory])
";

#[test]
fn of_a_sample_a_file_is_begun_by_a_write_that_is_not_told() {
    let drive = Drive::with("ext4", 320);
    let samples = [Sampled {
        rate: Rate::one_of(64).unwrap(),
        hash: 5,
        page_bytes: 4096,
    }];
    let watched = watch_sampled(&ProbeOptions::new(&drive.device), &samples, || {
        python(PIECES, drive.path());
    });
    let told: Vec<u8> = watched
        .writes_to("1-pieces")
        .map(|io| watched.context(io).generation)
        .collect();
    assert!((1..256).contains(&told.len()), "{}", told.len());
    assert!(told.iter().all(|generation| *generation == 1), "{told:?}");
}
