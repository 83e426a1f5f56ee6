#!/usr/bin/env bash
# Latencies of writes in a Linux guest, to a steered drive whose survivors the drive copies, and to one where the host rewrites
# them (`steer --collect host`), in turns, at the same load. The drive is `serve`'s, over QEMU's network: its own copies take
# next to no time there, the host's rewrites take their way over the network. So this is what collecting costs at most.
# Use: bench/steer-latency.sh [ROUNDS [DEPTH [WRITES_A_SECOND]]]      (5 4 400, for each of two writers)
# ANABRANCH: the program; else it is built, released. GUEST_KERNEL as for scripts/guest.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
program=${ANABRANCH:-}
if [ -z "$program" ]; then
    cargo build --quiet --release --package anabranch
    program=${CARGO_TARGET_DIR:-target}/release/anabranch
fi
scripts/guest.sh build
work=$(mktemp -d)
trap 'kill "$serve" 2>/dev/null || true; rm -rf "$work"' EXIT
nqn=nqn.2014-08.org.example:latency
setpriv --pdeathsig TERM "$program" serve --nqn "$nqn" --listen 127.0.0.1:0 --device fdp-8ruh --size 96MiB --unit 512KiB \
    --over-provisioning 12% >/dev/null 2>"$work/served" &
serve=$!
for _ in $(seq 100); do
    port=$(sed -n 's/.* at 127\.0\.0\.1:\([0-9]*\).*/\1/p' "$work/served" | head -n 1)
    [ -z "$port" ] || break
    sleep 0.1
done
[ -n "$port" ] || { cat "$work/served" >&2; exit 1; }
strip -o "$work/anabranch" "$program"
{
    printf "%s='%s'\n" PORT "$port" NQN "$nqn" ROUNDS "${1:-5}" DEPTH "${2:-4}" RATE "${3:-400}" SPARE 12% \
        WARMING 60M WRITTEN 60M
    cat crates/app/cli/tests/guest/prelude.sh crates/app/cli/tests/guest/steer-prelude.sh bench/steer-latency/guest.sh
} >"$work/script"
# shellcheck disable=SC2046 # words
scripts/guest.sh run -t 3600 "$work/script" "$work/anabranch" $(ldd "$program" | tr ' \t' '\n\n' | grep '^/') </dev/null >"$work/told" || {
    cat "$work/told" >&2
    exit 1
}
python3 bench/steer-latency/told.py "$work/told"
