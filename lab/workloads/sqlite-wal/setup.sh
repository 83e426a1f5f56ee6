#!/usr/bin/env bash
# setup.sh DIR
set -euo pipefail
exec /usr/bin/python3 "$(dirname "$0")/sqlite.py" load "${1:?directory}"
