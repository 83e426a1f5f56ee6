use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::*;

/// Tells the test that is run again as a child which file to write before it dies.
const VICTIM: &str = "ANABRANCH_TEST_VICTIM";

fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<_> = entries
        .map(|entry| name(entry).into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The same file, begun as if the file system had no unnamed files.
fn create_hidden(target: &Path) -> WholeFile {
    let (file, hidden) = hidden(target).unwrap();
    WholeFile {
        file: BufWriter::new(file),
        target: target.into(),
        place: Place::Hidden(hidden),
    }
}

/// Both ways in which a file is begun.
const WAYS: [fn(&Path) -> WholeFile; 2] = [|path| WholeFile::create(path).unwrap(), create_hidden];

#[test]
fn a_finished_file_appears_whole_and_alone() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("out");
    for create in WAYS {
        let mut file = create(&target);
        file.write_all(b"all of it").unwrap();
        assert!(!target.exists());
        file.finish().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"all of it");
        assert_eq!(names_in(directory.path()), ["out"]);
        fs::remove_file(&target).unwrap();
    }
}

#[test]
fn an_unfinished_file_has_no_name_where_the_file_system_allows_that() {
    let directory = tempfile::tempdir().unwrap();
    let file = WholeFile::create(directory.path().join("out")).unwrap();
    let hidden = names_in(directory.path());
    match file.place {
        Place::Unnamed => assert!(hidden.is_empty()),
        _ => assert!(hidden.len() == 1 && hidden[0].ends_with(".partial")),
    }
}

#[test]
fn an_existing_file_is_replaced_at_the_end_and_not_before() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("out");
    for create in WAYS {
        fs::write(&target, "old, and longer").unwrap();
        let mut file = create(&target);
        file.write_all(b"new").unwrap();
        file.flush().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"old, and longer");
        file.finish().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"new");
        assert_eq!(names_in(directory.path()), ["out"]);
    }
}

#[test]
fn a_dropped_file_leaves_nothing_and_replaces_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("out");
    for create in WAYS {
        let mut file = create(&target);
        file.write_all(b"half of").unwrap();
        file.flush().unwrap();
        drop(file);
        assert!(names_in(directory.path()).is_empty());
    }
}

#[test]
fn a_killed_process_leaves_nothing_and_replaces_nothing() {
    if let Some(target) = std::env::var_os(VICTIM) {
        let mut file = WholeFile::create(target).unwrap();
        file.write_all(&vec![1; 1 << 20]).unwrap();
        std::process::abort();
    }
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("out");
    fs::write(&target, "old").unwrap();
    let victim = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "whole_file::tests::a_killed_process_leaves_nothing_and_replaces_nothing",
        ])
        .env(VICTIM, &target)
        .output()
        .unwrap();
    assert!(!victim.status.success());
    assert_eq!(fs::read(&target).unwrap(), b"old");
    let unnamed = unnamed(directory.path()).unwrap().is_some();
    assert_eq!(
        names_in(directory.path()).len(),
        if unnamed { 1 } else { 2 }
    );
}

#[test]
fn both_ways_give_the_permissions_of_a_new_file() {
    let directory = tempfile::tempdir().unwrap();
    let plain = directory.path().join("plain");
    fs::write(&plain, "").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    for create in WAYS {
        let target = directory.path().join("out");
        create(&target).finish().unwrap();
        assert_eq!(mode(&target), mode(&plain));
    }
}

#[test]
fn a_symbolic_link_stays_and_its_file_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let (target, link) = (directory.path().join("out"), directory.path().join("link"));
    fs::write(&target, "old").unwrap();
    std::os::unix::fs::symlink("out", &link).unwrap();
    let mut file = WholeFile::create(&link).unwrap();
    file.write_all(b"new").unwrap();
    file.finish().unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&target).unwrap(), b"new");
}

#[test]
fn a_device_is_written_through_and_not_replaced() {
    let mut file = WholeFile::create("/dev/null").unwrap();
    file.write_all(b"gone").unwrap();
    file.finish().unwrap();
    assert!(
        fs::metadata("/dev/null")
            .unwrap()
            .file_type()
            .is_char_device()
    );
}

#[test]
fn a_missing_directory_and_a_directory_as_target_are_errors() {
    let directory = tempfile::tempdir().unwrap();
    for target in [
        directory.path().join("no/out"),
        directory.path().to_path_buf(),
    ] {
        let error = WholeFile::create(&target).unwrap_err();
        assert!(matches!(error, TraceError::Create { .. }));
        assert!(error.to_string().contains(&*target.to_string_lossy()));
    }
    assert!(names_in(directory.path()).is_empty());
}

#[test]
fn where_nothing_may_be_made_the_error_names_the_target_alone() {
    let error = WholeFile::create(Path::new("/proc/x.json")).unwrap_err();
    let words = error.to_string();
    assert!(
        words.starts_with("cannot create /proc/x.json: No such file"),
        "{words}"
    );
    assert!(!words.contains(".partial"), "{words}");
    let error = WholeFile::create(Path::new("/proc")).unwrap_err();
    let words = error.to_string();
    assert!(
        words.ends_with("not a regular file; name another file"),
        "{words}"
    );
}

#[test]
fn a_full_disk_is_an_error_that_names_the_file() {
    let mut file = WholeFile::create("/dev/full").unwrap();
    file.write_all(b"no room").unwrap();
    let error = file.finish().unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("cannot write /dev/full: No space left")
    );
}
