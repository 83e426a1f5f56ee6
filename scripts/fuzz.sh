#!/usr/bin/env bash
# Fuzzes what reads bytes off the network, traces, states of drives, texts of people and results, a bounded time each (FUZZ_SECONDS, 60), from the cases in fuzz/corpus.
# A case that fails is left in fuzz/artifacts; copied to fuzz/corpus with a telling name, `make test` replays it.
# Needs a nightly compiler and cargo-fuzz, and fetches them if they are missing.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo +nightly --version >/dev/null 2>&1 || rustup toolchain install nightly --profile minimal
if ! PATH=$PATH:$PWD/target/tools/bin cargo fuzz --version >/dev/null 2>&1; then
    echo "fuzz: installing cargo-fuzz under target/tools" >&2
    cargo install --quiet --locked --root target/tools cargo-fuzz
fi
export PATH=$PATH:$PWD/target/tools/bin
for target in fuzz/fuzz_targets/*.rs; do
    name=$(basename "$target" .rs)
    mkdir -p "target/fuzz/$name"
    echo "fuzz: $name" >&2
    # What is found goes to the first place; the second is only read.
    cargo +nightly fuzz run "$name" "target/fuzz/$name" "fuzz/corpus/$name" -- \
        -max_total_time="${FUZZ_SECONDS:-60}" -max_len=16384 -print_final_stats=1 2>&1 |
        grep -E 'stat::number_of_executed_units|DONE|panicked|ERROR|Test unit|SUMMARY' || { echo "fuzz: $name failed" >&2; exit 1; }
done
