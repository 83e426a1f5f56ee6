#!/usr/bin/env bash
# Runs every test that `make test` promises; scripts/setup.sh test installs what they need.
# Guests wait for emulation, the other tests mostly for programs and disks: side by side they keep two cores busy.
set -euo pipefail
cd "$(dirname "$0")/.."
export ANABRANCH_PYTHON=$PWD/target/venv/bin/python

cargo test --workspace --no-run
cargo test --workspace --no-run --test guest
log=$(mktemp)
# A process group of their own, so that whoever ends this ends them, too.
set -m
cargo test --workspace --test guest >"$log" 2>&1 &
guests=$!
set +m
trap 'kill -- "-$guests" 2>/dev/null || true; rm -f "$log"' EXIT
echo "test: the guests run beside all other tests; what they say follows at the end"

status=0
# All suites, whichever fails: one failure is not to hide the next.
cargo test --workspace --no-fail-fast || status=$?
scripts/python-tests.sh --numprocesses 2 --dist loadfile || status=$?
echo "test: waiting for the guests"
wait "$guests" || status=$?
cat "$log"
exit "$status"
