#!/usr/bin/env bash
# teardown.sh DIR
set -euo pipefail
. "$(dirname "$0")/each.sh"
each "${1:?directory}" teardown
