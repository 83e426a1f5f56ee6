#!/usr/bin/env bash
# The demo: an unmodified RocksDB on an emulated multi-stream SSD, and what every placement of its
# writes would cost. Live where this machine can, else replayed from the recorded trace.
# Leaves out/demo/result.json, trace.parquet and, of a live run, db_bench.log.
set -euo pipefail
cd "$(dirname "$0")/.."
out=out/demo
anabranch=${CARGO_TARGET_DIR:-target}/release/anabranch

# 1,000,000 keys of 800 B written once and overwritten three times. The drive is the profile `demo`;
# bytes_per_sync makes RocksDB's log reach the drive at all.
command=(db_bench --benchmarks=fillrandom,overwrite,overwrite,overwrite
    --num=1000000 --value_size=800 --compression_type=none
    --write_buffer_size=4194304 --target_file_size_base=4194304 --max_bytes_for_level_base=16777216
    --bytes_per_sync=1048576 --wal_bytes_per_sync=262144 --db='{dir}/rocksdb')
if [ "${1:-}" = --command ]; then
    echo "exec ${command[*]}"
    exit
fi
mkdir -p "$out"

build() {
    echo "demo: building; the first time this takes 2 to 6 minutes"
    cargo build --release --package anabranch "$@"
}

replay_recorded() {
    echo "demo: $1; replaying a trace recorded with this very demo instead (nothing runs live)"
    local features=()
    command -v clang >/dev/null && [ -e /usr/include/libelf.h ] || features=(--no-default-features)
    build "${features[@]}"
    cp traces/rocksdb-demo.parquet "$out/trace.parquet"
    "$anabranch" replay "$out/trace.parquet" -o "$out/result.json"
    exit
}

if ! command -v cargo >/dev/null; then
    echo "demo: Rust 1.88 or newer is needed, and no cargo is on the PATH: see https://rustup.rs" >&2
    exit 1
fi
[ "$(id -u)" = 0 ] || replay_recorded "not root, so neither eBPF nor mounting is allowed"
[ -r /sys/kernel/btf/vmlinux ] || replay_recorded "this kernel has no BTF (/sys/kernel/btf/vmlinux), which eBPF needs"
scripts/setup.sh demo || replay_recorded "what a live run needs could not be installed"
build
# The smallest live run there is: whatever this machine forbids shows here, in a second.
why=$("$anabranch" run --size 64MiB --unit 1MiB --scheme baseline --no-trace --chdir -- true 2>&1 >/dev/null) ||
    replay_recorded "a live run does not work here (${why##*$'\n'})"

echo "demo: RocksDB's ${command[*]}"
echo "demo: its output goes to $out/db_bench.log"
"$anabranch" run --log "$out/db_bench.log" -t "$out/trace.parquet" -o "$out/result.json" \
    -- "${command[@]}"
echo "demo: who wrote what:    $anabranch contexts $out/trace.parquet"
echo "demo: the same, replayed: $anabranch replay $out/trace.parquet"
