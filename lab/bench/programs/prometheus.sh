#!/usr/bin/env bash
# drive=128MiB unit=2MiB
# Prometheus' store: a log of segments, chunks of the newest hours, blocks compacted and dropped.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
"$TOOLS/go/prometheus" "$1"
