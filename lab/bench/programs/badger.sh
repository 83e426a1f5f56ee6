#!/usr/bin/env bash
# drive=144MiB unit=2MiB
# Badger: large values in a log of their own beside a log-structured tree of keys; the log's files collected as they empty.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
"$TOOLS/go/stores" badger "$1"
