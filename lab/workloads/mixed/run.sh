#!/usr/bin/env bash
# run.sh DIR
set -euo pipefail
. "$(dirname "$0")/each.sh"
each "${1:?directory}" run
