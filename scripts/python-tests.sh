#!/usr/bin/env bash
# Builds the Python package into target/venv (scripts/setup.sh test makes it) and tests it against
# the command built from the same tree.
set -euo pipefail
cd "$(dirname "$0")/.."

export VIRTUAL_ENV=$PWD/target/venv PATH=$PWD/target/venv/bin:$PATH
cargo build --quiet --package anabranch
maturin develop --quiet
python -m pytest "$@"
