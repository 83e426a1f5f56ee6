#!/usr/bin/env bash
# Builds the Python package into target/venv (scripts/setup.sh test makes it) and tests it against
# the command built from the same tree.
set -euo pipefail
cd "$(dirname "$0")/.."

export VIRTUAL_ENV=$PWD/target/venv PATH=$PWD/target/venv/bin:$PATH
# As `cargo test` has just built it: for one package alone the dependencies would have other features, and be compiled again.
cargo build --quiet --workspace --bins --tests
maturin develop --quiet
python -m pytest "$@"
