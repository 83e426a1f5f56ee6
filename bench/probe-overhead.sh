#!/usr/bin/env bash
# How much the probe slows db_bench: paired runs on one loop device, without and with
# `anabranch record` beside it, in turns; the median of the paired slow-downs and their spread.
# Use: bench/probe-overhead.sh [PAIRS]      (root)
set -euo pipefail
cd "$(dirname "$0")/.."
pairs=${1:-7}
cargo build --quiet --release --package anabranch
work=$(mktemp -d)
device=
cleanup() {
    mountpoint -q "$work/mnt" && umount "$work/mnt"
    [ -n "$device" ] && losetup -d "$device"
    rm -rf "$work"
}
trap cleanup EXIT
mkdir "$work/mnt"
backing=$work/drive
[ -d /dev/shm ] && backing=$(mktemp -p /dev/shm) && trap 'cleanup; rm -f "$backing"' EXIT
truncate -s 2G "$backing"
device=$(losetup --find --show "$backing")
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$device"
mount -o discard "$device" "$work/mnt"

operations_per_second() {
    rm -rf "$work/mnt/db"
    sync -f "$work/mnt"
    "$@" db_bench --benchmarks=fillrandom,overwrite --num=500000 --value_size=800 --compression_type=none \
        --write_buffer_size=4194304 --target_file_size_base=4194304 --max_bytes_for_level_base=16777216 \
        --bytes_per_sync=1048576 --wal_bytes_per_sync=262144 --db="$work/mnt/db" 2>/dev/null |
        awk '/micros\/op/ { seconds += 500000 / $5 } END { printf "%.0f\n", 1000000 / seconds }'
}

probed() { "${CARGO_TARGET_DIR:-target}/release/anabranch" record --device "$device" -o "$work/t.parquet" -- "$@"; }

operations_per_second env >/dev/null # warms caches
for pair in $(seq "$pairs"); do
    # Whoever goes first alternates, so that a drifting machine favours neither.
    if [ $((pair % 2)) = 0 ]; then
        with=$(operations_per_second probed); without=$(operations_per_second env)
    else
        without=$(operations_per_second env); with=$(operations_per_second probed)
    fi
    echo "$without $with" | awk '{ printf "%d ops/s without, %d with: %.1f %% slower\n", $1, $2, 100 * ($1 / $2 - 1) }'
done | tee "$work/pairs"
awk '{ print $(NF - 2) }' "$work/pairs" | sort -n | awk '
    { value[NR] = $1 }
    END { printf "median %.1f %%, from %.1f to %.1f %% over %d pairs\n", value[int((NR + 1) / 2)], value[1], value[NR], NR }'
