#!/usr/bin/env bash
# Latencies of writes in a Linux guest, to a steered drive whose survivors the drive copies, and to one where the host rewrites
# them (`steer --collect host`), in turns, at the same load. The drive is `serve`'s, over QEMU's network: its own copies take
# next to no time there, the host's rewrites take their way over the network. So this is what collecting costs at most.
# Use: lab/bench/steer-latency.sh [ROUNDS [DEPTH [WRITES_A_SECOND]]]      (5 4 400, for each of two writers)
# ANABRANCH: the program; else it is built, released. GUEST_KERNEL as for scripts/guest.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."
. lab/bench/in-guest.sh
nqn=nqn.2014-08.org.example:latency
served --nqn "$nqn" --device fdp-8ruh --size 96MiB --unit 512KiB --over-provisioning 12%
{
    printf "%s='%s'\n" PORT "$port" NQN "$nqn" ROUNDS "${1:-5}" DEPTH "${2:-4}" RATE "${3:-400}" SPARE 12% \
        WARMING 60M WRITTEN 60M
    cat crates/app/cli/tests/guest/prelude.sh crates/app/cli/tests/guest/steer-prelude.sh lab/bench/steer-latency/guest.sh
} >"$work/script"
in_guest >"$work/told" || {
    cat "$work/told" >&2
    exit 1
}
python3 lab/bench/steer-latency/told.py "$work/told"
