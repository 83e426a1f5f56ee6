#!/usr/bin/env bash
# drive=256MiB unit=2MiB
# bbolt: a b+tree in one file, pages written aside and a root after them, in transactions of 250 rows.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
"$TOOLS/go/stores" bbolt "$1"
