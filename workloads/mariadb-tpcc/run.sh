#!/usr/bin/env bash
# TPC-C's transactions: run.sh DIR
set -euo pipefail
dir=${1:?directory}
GOMAXPROCS=1 exec "$ANABRANCH_TOOLS/go-tpc" tpcc run -H 127.0.0.1 -P "$(cat "$dir/run/port")" -U tpc -D tpcc \
    --warehouses "${WAREHOUSES:?}" -T "${CLIENTS:?}" --time "${SECONDS_RUN:?}s" --interval 10s
