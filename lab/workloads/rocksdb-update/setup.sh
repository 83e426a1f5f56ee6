#!/usr/bin/env bash
# Every key once, in random order: setup.sh DIR
set -euo pipefail
. "$(dirname "$0")/bench.sh"
bench "${1:?directory}" filluniquerandom
