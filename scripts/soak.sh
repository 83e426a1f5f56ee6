#!/bin/sh
# use: scripts/soak.sh MINUTES
# What runs for long, for so many minutes: served drives whose hosts come, go and lie, killed and stopped; sweeps killed
# and begun again; a watcher under load (as root); beside them seeds of the target's simulation, no seed twice. Ends with figures, or with what went wrong.
set -eu
minutes=${1:?use: scripts/soak.sh MINUTES}
cd "$(dirname "$0")/.."
cargo test --quiet --release --package anabranch --package anabranch-nvme --test soak --test live --test simulation --no-run
end=$(( $(date +%s) + minutes * 60 ))
log=$(mktemp)
trap 'rm -f "$log"' EXIT
simulate() {
    from=$(( $(date +%s) * 1000 )) first=$from
    while [ "$(date +%s)" -lt "$end" ]; do
        ANABRANCH_SEEDS=$from..$((from + 1000)) nice cargo test --quiet --release --package anabranch-nvme \
            --test simulation >"$log" 2>&1 || return 1
        from=$((from + 1000))
    done
    echo "simulated seeds $first..$from: every one held" >"$log"
}
simulate & simulation=$!
failed=0
# As root, and on a kernel that can: a watcher whose devices, programs and files come and go.
if [ "$(id -u)" = 0 ]; then
    ANABRANCH_SOAK_MINUTES=$minutes env --default-signal=INT,QUIT cargo test --quiet --release --package anabranch \
        --test live -- --nocapture a_long_life &
    watcher=$!
fi
ANABRANCH_SOAK_MINUTES=$minutes env --default-signal=INT,QUIT cargo test --quiet --release --package anabranch \
    --test soak -- --nocapture || failed=1
wait $simulation || failed=1
if [ -n "${watcher-}" ]; then wait "$watcher" || failed=1; fi
cat "$log"
exit $failed
