#!/usr/bin/env bash
# use: scripts/soak.sh MINUTES
# What runs for long, for so many minutes: served drives whose hosts come, go and lie, killed and stopped; sweeps killed
# and begun again; beside them seeds of the target's simulation and of `steer`'s, no seed twice. As root also a watcher under load,
# recordings beside hostile programs and others, and steered drives in a guest whose servers are killed, round after
# round. Ends with figures, or with what went wrong. PROFILE='' makes debug builds.
set -euo pipefail
minutes=${1:?use: scripts/soak.sh MINUTES}
cd "$(dirname "$0")/.."
# Built once, then run as they are: each set of packages is built anew by cargo, and all would wait for each other.
read -ra build <<<"${CARGO:-cargo} test ${PROFILE---release} --no-run"
built=$("${build[@]}" --package anabranch --package anabranch-nvme --test soak --test live --test guest --test simulation 2>&1 &&
    "${build[@]}" --package anabranch-steer --lib 2>&1) || { echo "$built" >&2; exit 1; }
# run CRATE TEST...: a test's program, where cargo runs it; TEST is unittests for those of its library.
run() {
    local crate=$1 program
    program=$(realpath "$(sed -n "s|^ *Executable tests/$2.* (\(.*\))\$|\1|p; s|^ *Executable $2 src/lib.rs (\(.*\))\$|\1|p" <<<"$built")")
    shift 2
    (cd crates/*/"$crate" && env --default-signal=INT,QUIT "$program" "$@")
}
end=$(( $(date +%s) + minutes * 60 ))
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
# low COMMAND...: at a lower priority, for what never waits.
low() { renice -n 10 $BASHPID >/dev/null; "$@"; }
# high COMMAND...: at a higher one, for what is given up when it takes too long; only root may.
high() { renice -n -5 $BASHPID >/dev/null; "$@"; }
# rounds WHAT TEST...: a test over and over until the end; its log is left where one failed.
rounds() {
    local what=$1 done=0; shift
    while [ "$(date +%s)" -lt "$end" ]; do
        run cli "$@" >"$logs/$what" 2>&1 || { echo "$what: $done rounds held before this one" >>"$logs/$what"; return 1; }
        done=$((done + 1))
    done
    echo "$what: $done rounds, every one held" >"$logs/$what"
}
simulate() {
    local first from
    first=$(( $(date +%s) * 1000 )) from=$first
    while [ "$(date +%s)" -lt "$end" ]; do
        ANABRANCH_SEEDS=$from..$((from + 1000)) run nvme simulation >"$logs/simulation" 2>&1 || return 1
        ANABRANCH_SEEDS=$from..$((from + 1000)) run steer unittests simulation >"$logs/simulation" 2>&1 || return 1
        from=$((from + 1000))
    done
    echo "simulated seeds $first..$from, of the target and of steer: every one held" >"$logs/simulation"
}
soak() { ANABRANCH_SOAK_MINUTES=$minutes run cli "$@" --nocapture; }
low simulate & jobs=($!)
if [ "$(id -u)" = 0 ]; then
    soak live a_long_life >"$logs/watcher" 2>&1 & jobs+=($!)
    soak live whatever_a_hostile_user >"$logs/hostile" 2>&1 & jobs+=($!)
    low rounds recordings live recording & jobs+=($!)
    # The stuck server's test is left to `make test`: it judges how long a server is silent, and nothing is on time here.
    high rounds killed-in-a-guest guest killed_under_load killed_while & jobs+=($!)
fi
soak soak >"$logs/served" 2>&1 & jobs+=($!)
failed=0
for job in "${jobs[@]}"; do wait "$job" || failed=1; done
cat "$logs"/*
exit $failed
