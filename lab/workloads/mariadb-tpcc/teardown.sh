#!/usr/bin/env bash
# teardown.sh DIR
set -euo pipefail
. "$(dirname "$0")/../server.sh"
dir=${1:?directory}
end_server "$dir/run/purge" 5
end_server "$dir/run/pid" 30
