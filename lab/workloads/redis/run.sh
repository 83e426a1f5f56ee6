#!/usr/bin/env bash
# SETs of random keys, in bursts with pauses: at full speed the append-only file would outgrow the
# drive before it is rewritten. run.sh DIR
set -euo pipefail
. "$(dirname "$0")/../server.sh"
dir=${1:?directory}
end=$((SECONDS + ${SECONDS_RUN:?}))
while [ "$SECONDS" -lt "$end" ]; do
    redis-benchmark -s "$dir/run/socket" -t set -n "${BURST:?}" -r "${KEYS:?}" -d "${VALUE_BYTES:?}" -c 4 -P 4 -q |
        tr '\r' '\n' | tail -n 1
    sleep "${PAUSE:?}"
done
redis-cli -s "$dir/run/socket" info persistence | grep -E 'aof_current_size|aof_rewrites|rdb_saves'
