#!/usr/bin/env bash
# TPC-C's transactions: run.sh DIR
set -euo pipefail
. "$(dirname "$0")/../server.sh"
dir=${1:?directory}
export GOMAXPROCS=1
while_lives "$(cat "$dir/run/pid")" go-tpc tpcc run -H 127.0.0.1 -P "$(cat "$dir/run/port")" -U tpc -D tpcc \
    --warehouses "${WAREHOUSES:?}" -T "${CLIENTS:?}" --time "${SECONDS_RUN:?}s" --interval 10s
