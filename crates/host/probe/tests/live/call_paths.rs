//! Call paths of C programs with frame pointers and without.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anabranch_probe::ProbeOptions;
use anabranch_trace::ContextKind;

use super::drive::{Drive, run};
use super::watch::{Watched, watch};

const WRITER_SOURCE: &str = r#"
#include <fcntl.h>
#include <unistd.h>
static char block[65536];
__attribute__((noinline)) int put(int fd) { int done = write(fd, block, sizeof block) > 0; fsync(fd); return done; }
__attribute__((noinline)) int append_log(int fd) { int done = put(fd); return done + 1; }
__attribute__((noinline)) int write_table(int fd) { int done = put(fd); return done + 2; }
int main(int count, char **names) {
    int log = open(names[1], O_WRONLY | O_CREAT, 0644), table = open(names[2], O_WRONLY | O_CREAT, 0644);
    /* Until the probe knows this process, then in earnest. */
    put(log);
    usleep(800000);
    int done = 0;
    for (int i = 0; i < 16; i++) done += append_log(log) + write_table(table);
    return done != 16 * 5;
}
"#;

/// A C program.
fn built(directory: &tempfile::TempDir, source: &str, flags: &[&str]) -> PathBuf {
    let program = directory.path().join("writer");
    let file = program.with_extension("c");
    std::fs::write(&file, source).unwrap();
    run(Command::new("gcc")
        .args(flags)
        .arg("-o")
        .arg(&program)
        .arg(file));
    program
}

/// One run of a C program that writes two files.
fn watched(program: &Path) -> Watched {
    let drive = Drive::with("ext4", 64);
    let root = drive.path();
    watch(&ProbeOptions::new(&drive.device), || {
        run(Command::new(program)
            .arg(root.join("log"))
            .arg(root.join("table")));
    })
}

/// The signatures of the application's contexts in one run of the C program, by file.
fn signatures(program: &Path) -> [BTreeSet<u64>; 2] {
    let watched = watched(program);
    ["log", "table"].map(|name| {
        let ios = watched.writes_to(name);
        ios.map(|io| watched.context(io))
            .filter(|context| context.kind == ContextKind::Application && context.frames.len() > 2)
            .map(|context| context.signature)
            .collect()
    })
}

fn contexts_survive_a_restart(flags: &[&str]) {
    let directory = tempfile::TempDir::new().unwrap();
    let program = built(&directory, WRITER_SOURCE, flags);
    let [log, table] = signatures(&program);
    assert!(!log.is_empty() && !table.is_empty());
    assert!(log.is_disjoint(&table), "call paths are told apart");
    assert_eq!(signatures(&program), [log, table], "and found again");
}

#[test]
fn contexts_survive_a_restart_with_frame_pointers() {
    contexts_survive_a_restart(&[
        "-O1",
        "-fno-omit-frame-pointer",
        "-fno-optimize-sibling-calls",
        "-pie",
    ]);
}

#[test]
fn contexts_survive_a_restart_without_frame_pointers() {
    contexts_survive_a_restart(&[
        "-O1",
        "-fomit-frame-pointer",
        "-fno-optimize-sibling-calls",
        "-pie",
    ]);
}

const POOR_STACK_SOURCE: &str = r#"
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
static char block[65536];
/* Addresses of calls that have returned, left where later frames lie. */
__attribute__((noinline)) int leave(int depth) { return depth ? leave(depth - 1) + leave(depth / 2) : (int)getppid(); }
__attribute__((noinline)) void use(char *room) { __asm__ volatile("" : : "r"(room) : "memory"); }
__attribute__((noinline)) int put(int fd) { char room[1800]; use(room); int done = write(fd, block, sizeof block) > 0; fsync(fd); return done; }
static int (*volatile how)(int) = put;
__attribute__((noinline)) int append_log(int fd) { char room[1800]; use(room); return how(fd) + 1; }
__attribute__((noinline)) int write_table(int fd) { char room[900 + fd % 2]; use(room); return how(fd) + 2; }
int main(int count, char **names) {
    int log = open(names[1], O_WRONLY | O_CREAT, 0644), table = open(names[2], O_WRONLY | O_CREAT, 0644);
    put(log);
    usleep(800000);
    int done = 0;
    for (int i = 0; i < 16; i++) {
        leave(i);
        done += append_log(log);
        leave(16 - i);
        done += write_table(table);
    }
    return done != 16 * 5;
}
"#;

#[test]
fn without_frame_pointers_a_path_is_the_whole_truth_whatever_lies_on_the_stack() {
    let directory = tempfile::TempDir::new().unwrap();
    let program = built(
        &directory,
        POOR_STACK_SOURCE,
        &[
            "-O1",
            "-fomit-frame-pointer",
            "-fno-optimize-sibling-calls",
            "-fno-inline",
        ],
    );
    let watched = watched(&program);
    for (file, caller) in [("log", "append_log"), ("table", "write_table")] {
        let contexts = watched
            .writes_to(file)
            .map(|io| watched.context(io))
            .filter(|context| context.kind == ContextKind::Application);
        let paths: Vec<Vec<&str>> = contexts
            .map(|context| {
                let symbols = context.frames.iter().map(|frame| frame.symbol.as_deref());
                symbols.map(|symbol| symbol.unwrap_or("?")).collect()
            })
            .collect();
        let calls = ["put", caller, "main"];
        // The first write of all, and one of which fewer words are sent: before it is known where the program has code.
        let first = ["put", "main"];
        let leads = |path: &[&str], calls: &[&str]| path.iter().zip(calls).all(|(a, b)| a == b);
        let paths: Vec<&[&str]> = paths.iter().map(|path| &path[1..]).collect();
        let is_true = |path: &&[&str]| leads(path, &calls) || leads(path, &first);
        assert!(paths.iter().all(is_true), "{file}: {paths:?}");
        let whole = paths.iter().filter(|path| path.starts_with(&calls));
        assert!(whole.count() >= 15, "{file}: {paths:?}");
    }
}
