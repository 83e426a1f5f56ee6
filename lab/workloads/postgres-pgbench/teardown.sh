#!/usr/bin/env bash
# teardown.sh DIR
set -euo pipefail
dir=${1:?directory}
. "$(dirname "$0")/server.sh"
cd /
[ ! -e "$dir/postgres/postmaster.pid" ] || "${as_postgres[@]}" "$bin/pg_ctl" -D "$dir/postgres" -m fast -w -t 30 stop >/dev/null
