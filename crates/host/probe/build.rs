//! Compiles the kernel side of the probe into the two objects that `src/probe.rs` embeds.
// A build script speaks to cargo on its standard output; there is no other way.
#![allow(clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

use libbpf_rs::{Linker, libbpf_sys::API_HEADERS};

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
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo gave no OUT_DIR")?);
    // The headers of the very libbpf that loads the objects, for `#include <bpf/...>`.
    let headers = out.join("include");
    fs::create_dir_all(headers.join("bpf")).map_err(|error| format!("{headers:?}: {error}"))?;
    for (name, text) in API_HEADERS {
        let header = headers.join("bpf").join(name);
        fs::write(&header, text).map_err(|error| format!("{header:?}: {error}"))?;
    }
    compile(&headers, &out.join("probe.bpf.o"), &[])?;
    // Version 3 of the instructions has atomic operations that give the old value back.
    compile(
        &headers,
        &out.join("handover.bpf.o"),
        &["-DHANDOVER", "-mcpu=v3"],
    )
}

fn compile(headers: &Path, object: &Path, more: &[&str]) -> Result<(), String> {
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    // The kernel's names of the machines, which bpf_tracing.h reads registers by.
    let machine = match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("aarch64") => "arm64",
        Ok("riscv64") => "riscv",
        _ => "x86",
    };
    let compiled = object.with_extension("clang.o");
    let ended = Command::new(&clang)
        .args(["-g", "-O2", "-target", "bpf", "-fno-stack-protector"])
        .args(["-Wall", "-Werror", "-I"])
        .arg(headers)
        .arg(format!("-D__TARGET_ARCH_{machine}"))
        .args(more)
        .args(["-c", "src/bpf/probe.bpf.c", "-o"])
        .arg(&compiled)
        .output()
        .map_err(|_| {
            format!(
                "`{clang}` cannot be run; the probe's kernel side needs it: apt-get install clang \
                 (or name another clang in the environment variable CLANG)"
            )
        })?;
    if !ended.status.success() {
        return Err(String::from_utf8_lossy(&ended.stderr).into_owned());
    }
    // Linking keeps BTF and drops the debug information, which names directories of this machine.
    Linker::new(object)
        .and_then(|mut linker| {
            linker.add_file(&compiled)?;
            linker.link()
        })
        .map_err(|error| format!("{object:?}: {error}"))
}
