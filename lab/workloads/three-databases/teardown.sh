#!/usr/bin/env bash
# teardown.sh DIR
set -euo pipefail
. "$(dirname "$0")/../mixed/each.sh"
each "${1:?directory}" teardown
