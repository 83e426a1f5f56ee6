#!/usr/bin/env bash
# pgbench's own mix, by four clients: run.sh DIR
set -euo pipefail
dir=${1:?directory}
. "$(dirname "$0")/server.sh"
cd /
"${as_postgres[@]}" "$bin/pgbench" -h "$dir/run" -c 4 -j 1 -T "${SECONDS_RUN:?}" --random-seed="${SEED:?}" bench
