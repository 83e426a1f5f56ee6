//! A file changed after it was written is an error; another program's file is not.

use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use super::super::batch::{Columns, schema};
use super::super::digest::Blocks;
use super::super::metadata;
use super::*;

#[test]
fn no_bit_that_flips_changes_what_is_read() {
    let (_directory, path) = written(500);
    let (whole, expected) = (std::fs::read(&path).unwrap(), read(&path).unwrap());
    assert!(Reader::open(&path).unwrap().has_digest());
    let file = tempfile::NamedTempFile::new().unwrap();
    let bits = whole.len() * 8;
    let step = bits / 1_500;
    assert!(step % 8 != 0 || step > 8, "{bits}");
    let mut refused = 0;
    for bit in (0..bits).step_by(step) {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&file, bytes).unwrap();
        match read(file.path()) {
            Ok(found) => assert!(found == expected, "bit {bit} of {bits}"),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 1_000, "{refused}");
}

/// A file of these records whose digest is that of others, by a program that calls itself so.
fn with_digest_of(ios: &[Io], digested: &[Io], created_by: &str) -> tempfile::NamedTempFile {
    let mut columns = Columns::default();
    columns.extend(ios);
    let mut blocks = Blocks::default();
    blocks.add(digested);
    let mut entries = metadata::entries(Path::new("trace"), &some_tables()).unwrap();
    entries.push(metadata::digest_entry(Path::new("trace"), &entries, blocks).unwrap());
    let properties = WriterProperties::builder().set_created_by(created_by.into());
    let file = tempfile::NamedTempFile::new().unwrap();
    let batch = columns.into_batch(schema()).unwrap();
    let to = file.reopen().unwrap();
    let mut writer = ArrowWriter::try_new(to, schema(), Some(properties.build())).unwrap();
    writer.write(&batch).unwrap();
    entries
        .into_iter()
        .for_each(|entry| writer.append_key_value_metadata(entry));
    writer.close().unwrap();
    file
}

#[test]
fn a_record_that_was_changed_or_left_out_is_noticed_at_the_end_of_its_block() {
    let ios = some_ios(20_000);
    let mut changed = ios.clone();
    changed[7].tenant ^= 1;
    for digested in [&changed[..], &ios[..19_999]] {
        let file = with_digest_of(&ios, digested, "anabranch 0.0.0");
        let error = read(file.path()).unwrap_err();
        assert!(error.to_string().contains("records from 0 on"), "{error}");
        let mut reader = Reader::open(file.path()).unwrap();
        let mut batch = Vec::new();
        assert!(reader.read_batch(&mut batch).unwrap());
        assert!(reader.check_so_far().is_err());
        assert!(!reader.read_batch(&mut batch).unwrap());
    }
    let whole = with_digest_of(&ios, &ios, "anabranch 0.0.0");
    assert_eq!(read(whole.path()).unwrap().0, ios);
}

#[test]
fn a_digest_that_another_program_carried_over_tells_nothing() {
    let ios = some_ios(200);
    let file = with_digest_of(&ios[..100], &ios, "parquet-cpp-arrow version 20.0.0");
    assert!(!Reader::open(file.path()).unwrap().has_digest());
    assert_eq!(read(file.path()).unwrap().0, ios[..100]);
}

#[test]
fn blocks_are_checked_one_by_one() {
    let rows = super::super::ROW_GROUP_ROWS + 5;
    let (_directory, path) = written(rows);
    let mut reader = Reader::open(&path).unwrap();
    let mut batch = Vec::new();
    assert!(reader.read_batch(&mut batch).unwrap());
    reader.check_so_far().unwrap();
    assert_eq!(read(&path).unwrap().0.len(), rows);
}

/// The capture of [`some_tables`] as it was written before control groups could be tenants.
const BEFORE_GROUPS: &str = r#"{"device_bytes":1073741824,"file_system":"ext4","command":["db_bench","--num=1000"],"kernel":"6.18.0","host":"","started_unix_s":1700000000,"lost_events":3,"limitations":["no folio contexts"],"drive":{"device":"demo","share":0.075,"version":1}}"#;

#[test]
fn tenants_by_control_group_are_kept_and_a_trace_without_them_is_what_it_was() {
    let entries = metadata::entries(Path::new("trace"), &some_tables()).unwrap();
    let texts: Vec<&str> = entries
        .iter()
        .filter_map(|one| one.value.as_deref())
        .collect();
    assert!(texts.contains(&BEFORE_GROUPS), "{texts:?}");
    let whole = with_digest_of(&some_ios(50), &some_ios(50), "anabranch 0.0.0");
    assert!(Reader::open(whole.path()).unwrap().has_digest());
    assert_eq!(read(whole.path()).unwrap(), (some_ios(50), some_tables()));

    let mut tables = some_tables();
    tables.capture.tenants = vec![Tenant {
        number: 1,
        control_group: "a.slice/b\u{1b}[31m\u{202e}.service".into(),
    }];
    let file = tempfile::NamedTempFile::new().unwrap();
    write(file.path(), &some_ios(50), &tables);
    assert_eq!(read(file.path()).unwrap(), (some_ios(50), tables));
}
