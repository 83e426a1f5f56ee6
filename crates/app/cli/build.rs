//! Tells the command which commit it is made from, for `--version`.
// A build script speaks to cargo on its standard output; there is no other way.
#![allow(clippy::print_stdout)]

use std::{env, fs, process::Command};

/// The text that `git archive` replaces with the commit (`.gitattributes`); in a clone the placeholder stands.
const ARCHIVED: &str = "commit";

fn main() {
    println!("cargo::rerun-if-changed={ARCHIVED}");
    println!("cargo::rerun-if-env-changed=ANABRANCH_COMMIT");
    let commit = env::var("ANABRANCH_COMMIT")
        .ok()
        .or_else(archived)
        .or_else(checked_out)
        .unwrap_or_default();
    println!("cargo::rustc-env=ANABRANCH_COMMIT={}", commit.trim());
}

fn archived() -> Option<String> {
    fs::read_to_string(ARCHIVED)
        .ok()
        .filter(|commit| !commit.starts_with('$'))
}

/// The clone's commit. For optimised builds only: every commit would link all tests of a development
/// build again.
fn checked_out() -> Option<String> {
    if env::var("PROFILE").ok()? != "release" {
        return None;
    }
    println!(
        "cargo::rerun-if-changed={}",
        git(&["rev-parse", "--git-path", "logs/HEAD"])?.trim()
    );
    let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let mark = if changed.is_empty() {
        ""
    } else {
        ", changed since"
    };
    Some(format!("{}{mark}", commit.trim()))
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then_some(text)
}
