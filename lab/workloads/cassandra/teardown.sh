#!/usr/bin/env bash
# teardown.sh DIR
set -euo pipefail
. "$(dirname "$0")/../server.sh"
end_server "${1:?directory}/run/pid" 30
