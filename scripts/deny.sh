#!/usr/bin/env bash
# Licences, sources and advisories of dependencies by deny.toml, where cargo-deny is installed (`cargo install --locked
# cargo-deny`, some minutes). Where it is not, a test of `make test` checks licences and sources (tests/licences.rs).
set -euo pipefail
cd "$(dirname "$0")/.."
if ! cargo deny --version >/dev/null 2>&1; then
    echo "deny: cargo-deny is not installed: advisories are NOT checked" >&2
    exit
fi
cargo deny --locked check licenses sources bans
if cargo deny fetch db >/dev/null 2>&1; then
    cargo deny check advisories
else
    echo "deny: the database of advisories cannot be reached: they are NOT checked" >&2
fi
