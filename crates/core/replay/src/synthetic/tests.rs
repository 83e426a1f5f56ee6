#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;

use super::*;

/// A load on the smallest drive of whole GiB that it takes, which it writes six times.
fn small(kind: &LoadKind) -> Synthetic {
    let gib = kind.least_bytes.div_ceil(1 << 30);
    Synthetic::parse(&format!("{}:size={gib}GiB,write={}GiB", kind.name, 6 * gib)).unwrap()
}

#[test]
fn every_load_writes_as_much_as_it_is_asked_for_and_stays_on_its_drive() {
    for kind in &KINDS {
        let load = small(kind);
        let mut written = 0;
        let mut last_ns = 0;
        for io in load.requests() {
            assert!(
                io.offset_bytes + io.length_bytes <= load.size_bytes(),
                "{}",
                kind.name
            );
            assert!(io.length_bytes > 0 && io.time_ns >= last_ns);
            last_ns = io.time_ns;
            if io.operation == Operation::Write {
                written += io.length_bytes;
            }
        }
        assert!(
            (load.write_bytes()..load.write_bytes() + (2 << 20)).contains(&written),
            "{} {written}",
            kind.name
        );
    }
}

#[test]
fn a_load_is_the_same_again_and_another_with_another_seed() {
    for kind in &KINDS {
        let load = small(kind);
        assert!(load.requests().eq(load.requests()), "{}", kind.name);
    }
    let other = Synthetic::parse("fio-emmc:size=1GiB,write=6GiB,seed=2").unwrap();
    assert!(!small(&fio::EMMC).requests().eq(other.requests()));
}

#[test]
fn every_write_names_rows_of_the_tables() {
    for kind in &KINDS {
        let load = small(kind);
        let tables = load.tables();
        for io in load.requests() {
            assert!((io.context.0 as usize) < tables.contexts.len());
            assert!((io.file.0 as usize) < tables.files.len());
        }
        assert!(tables.contexts.len() <= tables.files.len());
        assert_eq!(tables.capture.device_bytes, load.size_bytes());
    }
}

/// Share of the drive that holds data at most, from the second half on; and bytes by hint.
fn survey(load: &Synthetic) -> (f64, BTreeMap<WriteHint, u64>) {
    let mut mapped = vec![false; (load.size_bytes() / PAGE_BYTES) as usize];
    let (mut live, mut most, mut written) = (0_i64, 0, 0);
    let mut by_hint = BTreeMap::new();
    for io in load.requests() {
        let is_write = io.operation == Operation::Write;
        let first = (io.offset_bytes / PAGE_BYTES) as usize;
        let count = (io.length_bytes / PAGE_BYTES) as usize;
        if io.operation == Operation::Read {
            continue;
        }
        for page in &mut mapped[first..first + count] {
            live += i64::from(is_write) - i64::from(*page);
            *page = is_write;
        }
        if is_write {
            written += io.length_bytes;
            *by_hint.entry(io.hint).or_insert(0) += io.length_bytes;
        }
        if written > load.write_bytes() / 2 {
            most = most.max(live);
        }
    }
    (most as f64 / mapped.len() as f64, by_hint)
}

#[test]
fn the_data_of_every_load_nearly_fill_the_drive() {
    for kind in &KINDS {
        let (most, by_hint) = survey(&small(kind));
        assert!((0.5..=1.0).contains(&most), "{} {most}", kind.name);
        let writers = (kind.tables)().contexts.len() - 1;
        assert!(by_hint.len() >= writers.min(2), "{} {by_hint:?}", kind.name);
    }
}

#[test]
fn the_jobs_of_one_fio_write_at_equal_rates() {
    for kind in [&fio::FMS16, &fio::EMMC] {
        let (_, by_hint) = survey(&small(kind));
        let least = *by_hint.values().min().unwrap() as f64;
        let most = *by_hint.values().max().unwrap() as f64;
        assert!(most / least < 1.001, "{} {by_hint:?}", kind.name);
    }
}

#[test]
fn a_wrong_load_is_told_what_there_is() {
    let complaint = |text: &str| Synthetic::parse(text).unwrap_err().to_string();
    assert!(complaint("mongodb").contains("cassandra"));
    assert!(complaint("cassandra:sise=1GiB").contains("size=BYTES"));
    assert!(complaint("cassandra:size=1MiB").contains("from 1GiB"));
    assert!(complaint("cassandra:seed=x").contains("no seed"));
    assert!(complaint("cassandra:size=4G").contains("not a size"));
    assert!(complaint("cassandra:small=4%").contains("seed=N"));
    assert!(complaint("cachelib:smal=4%").contains("small=4%"));
    assert!(complaint("cachelib:small=400%").contains("from 0% to 100%"));
    assert!(complaint("cachelib:tenants=1.5").contains("from 1 to 6"));
    assert!(complaint("fio-three-streams:zoned=2").contains("from 0 to 1"));
    assert!(complaint("cachelib:smal=4%").contains("held=0%, overwritten=0%"));
    assert!(complaint("cassandra:held=96%").contains("held is from 0% to 95%"));
    assert!(complaint("cassandra:held=nan").contains("held is from 0% to 95%"));
    assert!(complaint("cassandra:overwritten=100%").contains("say held=SHARE too"));
    assert!(complaint("cassandra:held=90%,overwritten=1001%").contains("to 1000%"));
    let narrow = complaint("cassandra:size=8GiB,held=90%");
    assert!(
        narrow.contains("838864KiB of its drive") && narrow.contains("1GiB"),
        "{narrow}"
    );
}

#[test]
fn a_load_without_end_beside_held_data_writes_as_much_as_can_be_counted() {
    let load = format!("fio-emmc:size=4GiB,write={},held=50%", u64::MAX);
    let load = Synthetic::parse(&load).unwrap();
    assert_eq!(load.write_bytes(), u64::MAX);
    assert!(load.requests().next().is_some());
}

#[test]
fn a_load_beside_held_data_is_the_load_of_a_smaller_drive_and_the_data_are_never_given_back() {
    let beside = "fio-emmc:size=4GiB,write=3GiB,held=75%,overwritten=50%";
    let beside = Synthetic::parse(beside).unwrap();
    let alone = Synthetic::parse("fio-emmc:size=1GiB,write=3GiB").unwrap();
    assert_eq!(beside.size_bytes(), 4 << 30);
    assert_eq!(beside.tables().capture.device_bytes, 4 << 30);
    assert_eq!(beside.write_bytes(), (3 << 30) + (3 << 29) + (3 << 30));
    let is_held = |io: &Io| io.offset_bytes >= 1 << 30;
    let before: Vec<Io> = beside.requests().take_while(is_held).collect();
    let mut writes_of_page = vec![0_u32; (3 << 30) / PAGE_BYTES as usize];
    for io in &before {
        assert_eq!(
            (io.operation, io.context.0, io.file.0),
            (Operation::Write, 0, 0)
        );
        let first = ((io.offset_bytes - (1 << 30)) / PAGE_BYTES) as usize;
        for writes in &mut writes_of_page[first..first + (io.length_bytes / PAGE_BYTES) as usize] {
            *writes += 1;
        }
    }
    // Half as many draws as pages leave e^-1/2 of them as they were.
    let once = writes_of_page.iter().filter(|writes| **writes == 1).count();
    assert!(writes_of_page.iter().all(|writes| *writes > 0));
    assert!((once as f64 / writes_of_page.len() as f64 - 0.6065).abs() < 0.002);
    let untimed = |io: Io| Io { time_ns: 0, ..io };
    let after = beside.requests().skip(before.len()).map(untimed);
    assert!(after.eq(alone.requests().map(untimed)));
}

#[test]
fn a_drive_that_is_filled_first_holds_a_page_everywhere_before_the_load_begins() {
    let filled = "fio-emmc:size=1GiB,write=2GiB,held=25%,filled=1";
    let filled = Synthetic::parse(filled).unwrap();
    let beside = Synthetic::parse("fio-emmc:size=1GiB,write=2GiB,held=25%").unwrap();
    assert_eq!(filled.write_bytes(), (1 << 30) + (2 << 30));
    let nobodys = |io: &Io| io.context.0 == 0;
    let before: Vec<Io> = filled.requests().take_while(nobodys).collect();
    let mut next = 0;
    for io in &before {
        assert_eq!((io.operation, io.offset_bytes), (Operation::Write, next));
        next += io.length_bytes;
    }
    assert_eq!(next, 1 << 30);
    let untimed = |io: Io| Io { time_ns: 0, ..io };
    let held = beside.requests().take_while(nobodys).count();
    let loads = filled.requests().skip(before.len()).map(untimed);
    assert!(loads.eq(beside.requests().skip(held).map(untimed)));
}

/// Shares of the pages a load writes that live so many pages at most, of its second half.
fn lives(load: &Synthetic, most: &[u64]) -> Vec<f64> {
    let mut written = vec![None; (load.size_bytes() / PAGE_BYTES) as usize];
    let (mut now, mut counted, mut found) = (0_u64, 0_u64, vec![0_u64; most.len()]);
    for io in load.requests() {
        let first = (io.offset_bytes / PAGE_BYTES) as usize;
        for page in &mut written[first..first + (io.length_bytes / PAGE_BYTES) as usize] {
            if let Some(before) = page.replace(now)
                && now * PAGE_BYTES > load.write_bytes() / 2
            {
                let class = most.iter().position(|most| now - before < *most);
                class.into_iter().for_each(|class| found[class] += 1);
            }
            counted += u64::from(now * PAGE_BYTES > load.write_bytes() / 2);
            now += 1;
        }
    }
    let share = |found: u64| found as f64 / counted as f64;
    found.into_iter().map(share).collect()
}

#[test]
fn the_data_of_ycsb_on_mysql_live_as_long_as_dogis_table_has_them() {
    let load = Synthetic::parse("mysql-ycsb:size=256MiB,write=2GiB,filled=1").unwrap();
    // Thousands of blocks of the 33,554 of 128 GiB; by Table 2 sizes over times: 18 segments of 65,536 blocks over 9 M, …
    let ends = [200, 9_000, 17_000, 27_000, 42_000, 51_000].map(|end| end * 65_536 / 33_554);
    let found = lives(&load, &ends);
    let theirs = [0.131, 0.0347, 0.0364, 0.0359, 0.0193];
    for (ours, theirs) in found[1..].iter().zip(theirs) {
        assert!(
            (ours - theirs).abs() < (0.4 * theirs).min(0.015),
            "{found:?}"
        );
    }
    assert!((0.5..0.65).contains(&found[0]), "{found:?}");
}

/// Bytes by the writer's row.
fn by_writer(text: &str) -> BTreeMap<u32, u64> {
    let mut found = BTreeMap::new();
    for io in Synthetic::parse(text).unwrap().requests() {
        *found.entry(io.context.0).or_insert(0) += io.length_bytes;
    }
    found
}

#[test]
fn a_cache_writes_and_takes_the_shares_it_is_asked_for() {
    let found =
        by_writer("cachelib:size=1GiB,write=4GiB,small=10%,small-writes=75%,used=50%,tenants=2");
    for tenant in [1, 3] {
        let small = found[&tenant] as f64 / (4_u64 << 30) as f64;
        assert!((small - 0.375).abs() < 0.001, "{found:?}");
    }
    let load = Synthetic::parse("cachelib:size=1GiB,write=4GiB,small=10%,used=50%").unwrap();
    let end = load
        .requests()
        .map(|io| io.offset_bytes + io.length_bytes)
        .max();
    assert!(end.unwrap() <= 512 << 20);
    let small = load.requests().filter(|io| io.context.0 == 1);
    assert!(small.map(|io| io.offset_bytes).min().unwrap() >= (512 << 20) / 10 * 9);
}

#[test]
fn three_streams_overwrite_in_zones_or_everywhere_alike() {
    for (zoned, in_first_fifth) in [(1, 0.8), (0, 0.2)] {
        let text = format!("fio-three-streams:size=100MiB,write=1GiB,sequential=60%,zoned={zoned}");
        let load = Synthetic::parse(&text).unwrap();
        let found = by_writer(&text);
        for (writer, expected) in [(1, 0.6), (2, 0.2), (3, 0.2)] {
            let share = found[&writer] as f64 / (1_u64 << 30) as f64;
            assert!((share - expected).abs() < 0.001, "{found:?}");
        }
        let over = load.requests().filter(|io| io.context.0 == 2);
        let (first, all) = over.fold((0, 0), |(first, all), io| {
            assert!(io.offset_bytes < 90 << 20);
            (first + u32::from(io.offset_bytes < 18 << 20), all + 1)
        });
        let share = f64::from(first) / f64::from(all);
        assert!((share - in_first_fifth).abs() < 0.01, "{text}: {share}");
    }
}

#[test]
fn a_language_models_cache_turns_over_faster_where_its_classes_churn() {
    let even = by_writer("kv-cache-llm:size=1GiB,write=5GiB,churn=1");
    let fast = by_writer("kv-cache-llm:size=1GiB,write=5GiB,churn=4");
    // Metadata is 45 of 855 GiB; 495 GiB churn, 360 do not; the first pass is nobody's.
    let share = |found: &BTreeMap<u32, u64>| found[&6] as f64 / (4_u64 << 30) as f64;
    assert!((share(&even) - 45.0 / 855.0).abs() < 0.001, "{even:?}");
    let expected = 4.0 * 45.0 / (4.0 * 495.0 + 360.0);
    assert!((share(&fast) - expected).abs() < 0.001, "{fast:?}");
    assert_eq!(even[&1], 1 << 30);
}

#[test]
fn each_log_and_table_beside_mysql_is_a_file_of_its_own_with_its_kinds_name() {
    let load = Synthetic::parse("rocksdb+mysql:size=2GiB,write=4GiB").unwrap();
    let names = load.tables().files;
    let mut written: BTreeMap<u32, u64> = BTreeMap::new();
    for io in load.requests() {
        let kind = &names[io.file.0 as usize].name;
        match io.context.0 {
            2 => assert_eq!(kind, "000001.log"),
            3 => assert_eq!(kind, "000002.sst"),
            4 => assert_eq!(kind, "000003.sst"),
            _ => assert!(io.file.0 < 8, "{}", io.file.0),
        }
        *written.entry(io.file.0).or_default() += io.length_bytes;
    }
    let tables = written.range(8..).count();
    assert!(tables > 300, "{tables}");
    // Tables are 1/192 of RocksDB's part, and a number comes again after 256 files.
    let most = written.range(8..).map(|(_, bytes)| *bytes).max().unwrap();
    let all: u64 = written.range(8..).map(|(_, bytes)| bytes).sum();
    assert!(most < all / 50, "{most} of {all}");
}
