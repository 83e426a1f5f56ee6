//! The command as tests call it, and a small trace to call it on.

#![allow(dead_code, reason = "each test file uses a part")]

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use anabranch_trace::{Capture, Context, ContextId, ContextKind, Io, Operation, Tables, Writer};
use serde_json::Value;
use tempfile::TempDir;

pub fn anabranch(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_anabranch"))
        .args(arguments)
        .output()
        .unwrap()
}

/// Replays a trace with these options, which are words without spaces.
pub fn replay(trace: &Path, options: &str) -> Output {
    let options: Vec<&str> = options.split(' ').collect();
    anabranch(&[&["replay", text(trace)], &options[..]].concat())
}

pub fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns the standard error of a failing call, after its status was checked.
pub fn complaint(arguments: &[&str], status: i32) -> String {
    let output = anabranch(arguments);
    let words = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(status), "{words}");
    assert!(output.stdout.is_empty());
    words
}

pub const DEVICE_BYTES: u64 = 64 << 20;

/// Two contexts in turn: one rewrites a small log, one appends tables that are discarded late.
pub fn trace(directory: &TempDir) -> PathBuf {
    let path = directory.path().join("t.parquet");
    let mut writer = Writer::create(&path).unwrap();
    let context = |id| ContextId(id);
    for round in 0..600_u64 {
        let log = Io {
            context: context(1),
            ..Io::write((round % 8) << 20, 1 << 20)
        };
        let slot = 8 + (round * 7) % 48;
        let table = Io {
            context: context(2),
            ..Io::write(slot << 20, 1 << 20)
        };
        let old = Io {
            operation: Operation::Discard,
            ..Io::write((8 + (round * 11) % 48) << 20, 1 << 19)
        };
        for io in [log, table, old] {
            writer.push(&io).unwrap();
        }
    }
    writer
        .finish(&tables(DEVICE_BYTES, &["role1", "role2"]))
        .unwrap();
    path
}

/// The tables of a trace of a drive so large, with a context of each role, numbered from 1.
pub fn tables(device_bytes: u64, roles: &[&str]) -> Tables {
    let mut tables = Tables::new(Capture {
        device_bytes,
        ..Capture::default()
    });
    let contexts = (1..).zip(roles).map(|(id, role)| {
        let kind = ContextKind::Application;
        Context::new(ContextId(id), u64::from(id), kind, *role)
    });
    tables.contexts.extend(contexts);
    tables
}

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
