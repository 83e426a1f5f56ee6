#!/usr/bin/env bash
# setup.sh DIR
set -euo pipefail
. "$(dirname "$0")/each.sh"
dir=${1:?directory}
chmod 755 "$dir"
each "$dir" setup
