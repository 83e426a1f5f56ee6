#!/usr/bin/env bash
# setup.sh DIR
set -euo pipefail
. "$(dirname "$0")/each.sh"
dir=${1:?directory}
chmod 755 "$dir"
mkdir "$dir/tenant-1" "$dir/tenant-2"
each "$dir" setup
