//! Licences and sources of all dependencies, as `deny.toml` has them. `make lint` asks cargo-deny the same where that is
//! installed; this test needs nothing but cargo.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{collections::BTreeSet, process::Command};

use serde_json::Value;

const DENY: &str = include_str!("../../../../deny.toml");

/// The list of strings at a key of a table.
fn list(table: &toml::Table, key: &str) -> BTreeSet<String> {
    let items = table[key].as_array().unwrap().iter();
    items.map(|item| item.as_str().unwrap().into()).collect()
}

/// Whether a licence expression (SPDX 2.3, annex D; of old packages with `/` for OR) is met by allowed licences.
fn is_met(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let expression = expression.replace('/', " OR ");
    let mut words: Vec<String> = Vec::new();
    let spaced = expression.replace('(', " ( ").replace(')', " ) ");
    for word in spaced.split_whitespace() {
        match words.last_mut() {
            Some(last) if word == "WITH" || last.ends_with(" WITH") => {
                *last = format!("{last} {word}");
            }
            _ => words.push(word.to_owned()),
        }
    }
    let mut rest = words.as_slice();
    let met = any(&mut rest, allowed);
    assert!(rest.is_empty(), "no licence expression: {expression}");
    met
}

fn any(rest: &mut &[String], allowed: &BTreeSet<String>) -> bool {
    let mut met = all(rest, allowed);
    while rest.first().is_some_and(|word| word == "OR") {
        *rest = &rest[1..];
        met |= all(rest, allowed);
    }
    met
}

fn all(rest: &mut &[String], allowed: &BTreeSet<String>) -> bool {
    let mut met = one(rest, allowed);
    while rest.first().is_some_and(|word| word == "AND") {
        *rest = &rest[1..];
        met &= one(rest, allowed);
    }
    met
}

fn one(rest: &mut &[String], allowed: &BTreeSet<String>) -> bool {
    let (word, behind) = rest.split_first().expect("a licence");
    *rest = behind;
    if word != "(" {
        return allowed.contains(word);
    }
    let met = any(rest, allowed);
    assert_eq!(rest.first().map(String::as_str), Some(")"));
    *rest = &rest[1..];
    met
}

#[test]
fn an_expression_is_met_by_what_it_asks_for() {
    let allowed = ["MIT", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned);
    let allowed = BTreeSet::from(allowed);
    for (expression, met) in [
        ("MIT", true),
        ("MIT/GPL-3.0-only", true),
        ("(GPL-3.0-only OR MIT) AND MIT", true),
        ("MIT AND GPL-3.0-only", false),
        ("GPL-3.0-only OR MIT AND Zlib", false),
        ("Apache-2.0 WITH LLVM-exception OR GPL-3.0-only", true),
        ("Apache-2.0", false),
    ] {
        assert_eq!(is_met(expression, &allowed), met, "{expression}");
    }
}

#[test]
fn every_dependency_has_an_allowed_licence_and_comes_from_the_one_registry() {
    let deny: toml::Table = DENY.parse().unwrap();
    let licences = deny["licenses"].as_table().unwrap();
    let allowed = list(licences, "allow");
    let host = Command::new("rustc").args(["-vV"]).output().unwrap();
    let host = String::from_utf8(host.stdout).unwrap();
    let host = host.lines().find_map(|line| line.strip_prefix("host: "));
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .args(["--filter-platform", host.unwrap()])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&metadata.stderr);
    assert!(metadata.status.success(), "{words}");
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100, "{}", packages.len());
    let mut sources = BTreeSet::new();
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let mut allowed = allowed.clone();
        for exception in licences["exceptions"].as_array().unwrap() {
            let exception = exception.as_table().unwrap();
            if exception["crate"].as_str() == Some(name) {
                allowed.extend(list(exception, "allow"));
            }
        }
        let licence = package["license"].as_str().unwrap_or("none");
        assert!(is_met(licence, &allowed), "{name}: {licence}");
        sources.extend(package["source"].as_str());
    }
    let is_registry = |source: &&str| source.starts_with("registry+");
    assert!(
        sources.len() == 1 && sources.iter().all(is_registry),
        "{sources:?}"
    );
}
