#!/usr/bin/env bash
# run.sh DIR
set -euo pipefail
exec /usr/bin/python3 "$(dirname "$0")/sqlite.py" run "${1:?directory}"
