//! Compiles the kernel side of the probe into the object that `src/probe.rs` embeds.
// A build script speaks to cargo on its standard output; there is no other way.
#![allow(clippy::print_stdout)]

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use libbpf_cargo::SkeletonBuilder;

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed=src/bpf");
    println!("cargo::rerun-if-env-changed=CLANG");
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            for line in message.lines() {
                println!("cargo::error={line}");
            }
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<(), String> {
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    if Command::new(&clang).arg("--version").output().is_err() {
        return Err(format!(
            "`{clang}` cannot be run; the probe's kernel side needs it: apt-get install clang \
             (or name another clang in the environment variable CLANG)"
        ));
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo gave no OUT_DIR")?);
    compile(&clang, &out.join("probe.bpf.o"), &[])?;
    // Version 3 of the instructions has atomic operations that give the old value back.
    compile(
        &clang,
        &out.join("handover.bpf.o"),
        &["-DHANDOVER", "-mcpu=v3"],
    )
}

fn compile(clang: &str, object: &Path, more: &[&str]) -> Result<(), String> {
    SkeletonBuilder::new()
        .source(Path::new("src/bpf/probe.bpf.c"))
        .obj(object)
        .clang(clang)
        .clang_args(["-Wall", "-Werror"].iter().chain(more))
        .build()
        .map_err(|error| format!("{error:#}"))
}
