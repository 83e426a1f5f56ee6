//! Functions of a just-in-time compiler, which names them in `/tmp/perf-PID.map`.

use std::collections::BTreeMap;
use std::process::Command;

use anabranch_probe::ProbeOptions;
use tempfile::TempDir;

use super::drive::{Drive, run};
use super::watch::{Watched, watch};

/// Makes two functions of the same instructions (`push rbp; mov rbp, rsp; call rdi; pop rbp; ret`), which call one that
/// writes, each to a file of its own. With a third argument it names them as perf wants it.
const COMPILER_SOURCE: &str = r#"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static char block[65536];
static int file;
static void put(void) { if (write(file, block, sizeof block) < 0) _exit(1); fsync(file); }
int main(int count, char **names) {
    static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
    char *memory = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int files[2] = { open(names[1], O_WRONLY | O_CREAT, 0644), open(names[2], O_WRONLY | O_CREAT, 0644) };
    const char *functions[2] = { "py::append:/opt/store.py", "JS:*compact file:///opt/app.js:3:7" };
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
    FILE *map = count > 3 ? fopen(path, "w") : 0;
    for (int i = 0; i < 2; i++) {
        memcpy(memory + 256 * i, code, sizeof code);
        if (map) fprintf(map, "%lx %zx %s\n", (long)(memory + 256 * i), sizeof code, functions[i]);
    }
    if (map) fclose(map);
    /* Until the probe knows this process, then in earnest. */
    file = files[0];
    put();
    usleep(800000);
    for (int i = 0; i < 32; i++) {
        file = files[i % 2];
        ((void (*)(void (*)(void)))(memory + 256 * (i % 2)))(put);
    }
    unlink(path);
    return 0;
}
"#;

/// The functions that no file holds in the call paths of each file's writers, with the writes that have them.
fn functions(watched: &Watched) -> BTreeMap<(String, Option<String>), usize> {
    let mut found = BTreeMap::new();
    for io in watched.writes() {
        let frames = watched.context(io).frames.iter();
        for frame in frames.filter(|frame| frame.object.starts_with('[')) {
            let file = watched.file_name(io).to_owned();
            *found.entry((file, frame.symbol.clone())).or_default() += 1;
        }
    }
    found
}

#[cfg(target_arch = "x86_64")]
#[test]
fn functions_of_a_just_in_time_compiler_are_told_apart_where_it_names_them() {
    let place = TempDir::new().unwrap();
    let [source, program] = ["compiler.c", "compiler"].map(|name| place.path().join(name));
    std::fs::write(&source, COMPILER_SOURCE).unwrap();
    let mut compiler = Command::new("gcc");
    compiler.args([
        "-O1",
        "-fno-omit-frame-pointer",
        "-fno-optimize-sibling-calls",
    ]);
    run(compiler.arg("-o").arg(&program).arg(source));
    let functions = |arguments: &[&str]| {
        let drive = Drive::with("ext4", 64);
        let watched = watch(&ProbeOptions::new(&drive.device), || {
            let mut command = Command::new(&program);
            command.args(["log", "table"].map(|name| drive.path().join(name)));
            run(command.args(arguments));
        });
        functions(&watched)
    };
    let named = functions(&["named"]);
    let of = |file: &str, function: &str| {
        let key = (file.to_owned(), Some(function.to_owned()));
        named.get(&key).copied().unwrap_or(0)
    };
    assert!(of("log", "append:/opt/store.py") >= 12, "{named:?}");
    assert!(
        of("table", "compact file:///opt/app.js:3:7") >= 12,
        "{named:?}"
    );
    assert_eq!(of("table", "append:/opt/store.py"), 0, "{named:?}");
    let bare = functions(&[]);
    assert!(
        bare.keys().all(|(_, function)| function.is_none()),
        "{bare:?}"
    );
    assert!(bare.values().sum::<usize>() >= 24, "{bare:?}");
}
