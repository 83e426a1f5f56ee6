#!/usr/bin/env bash
# run.sh DIR
set -euo pipefail
. "$(dirname "$0")/../mixed/each.sh"
each "${1:?directory}" run
