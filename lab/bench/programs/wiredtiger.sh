#!/usr/bin/env bash
# drive=256MiB unit=2MiB
# WiredTiger, MongoDB's engine: b-tree pages written to free places of a file, checkpoints, a log.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
compile wiredtiger.c -lwiredtiger
mkdir "$1/wt"
"$program" "$1/wt"
