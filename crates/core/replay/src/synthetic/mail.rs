//! Filebench's Varmail, as MiDAS' and DOGI's authors ran it on a full drive of 128 GiB.
//!
//! Published (`workloads/varmail.f`): files of 16 KiB in the mean; each turn of a thread deletes one, writes another and
//! syncs it, reads one, appends 16 KiB to it and syncs it. Which file is drawn at random. Not told: the file system and its
//! settings; that the host discards. Our choice: ext4 without discards, so that a page lives until another file takes its
//! place; a journal of 1 GiB in 128 that goes round (mke2fs' default there), inode tables and maps of a 64th of the drive
//! (256 bytes of inode for each file of 16 KiB), written at random; of the bytes half are files', and of five blocks of a
//! turn's metadata four go to the journal (each is journalled, and written back once for several commits). Hints tell the journal from the rest.

use anabranch_trace::{ContextKind, Tables, WriteHint};

use super::{
    LoadKind, Make, PAGE_BYTES, Plan, Tag,
    jobs::{Job, Order},
    tables,
};

/// Filebench's Varmail on ext4.
pub(super) const VARMAIL: LoadKind = LoadKind {
    name: "varmail",
    summary: "Filebench's Varmail on a full drive: files drawn at random, inodes, a journal that goes round",
    least_bytes: 64 << 20,
    settings: &[],
    tables: varmail_tables,
    make: Make::Jobs(varmail),
};

/// Shares of the drive, as divisors.
const JOURNAL: u64 = 128;
const INODES: u64 = 64;
/// Pages of a file, and of what is appended to one.
const FILE: u64 = (16 << 10) / PAGE_BYTES;

fn varmail_tables() -> Tables {
    use ContextKind::{Application, Journal};
    tables(&[
        (Journal, "jbd2", ""),
        (Application, "kworker", ""),
        (Application, "filebench", "00000001"),
    ])
}

fn varmail(plan: &Plan) -> Vec<(f64, Job)> {
    let journal = (plan.pages() / JOURNAL).max(1);
    let inodes = (plan.pages() / INODES).max(1);
    let hint = |row| match row {
        1 => WriteHint::Short,
        _ => WriteHint::Medium,
    };
    let job = |row, first, pages, block, order| Job {
        tag: Tag::new(row, hint(row)),
        first,
        pages,
        block,
        order,
    };
    let files = journal + inodes;
    vec![
        (0.4, job(1, 0, journal, 1, Order::sequence())),
        (0.1, job(2, journal, inodes, 1, Order::Drawn)),
        (0.5, job(3, files, plan.pages() - files, FILE, Order::Drawn)),
    ]
}
