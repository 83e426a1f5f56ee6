#!/usr/bin/env bash
# drive=256MiB unit=2MiB
# Pebble, CockroachDB's log-structured merge tree: write-ahead log, flushes, compactions.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
"$TOOLS/go/stores" pebble "$1"
