#!/usr/bin/env bash
# teardown.sh DIR
set -euo pipefail
. "$(dirname "$0")/../server.sh"
dir=${1:?directory}
timeout 10 redis-cli -s "$dir/run/socket" shutdown nosave >/dev/null 2>&1 || true
end_server "$dir/run/pid" 10
