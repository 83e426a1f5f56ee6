#!/usr/bin/env bash
# drive=256MiB unit=2MiB
# redb: a b-tree in one file, pages written aside and two roots in turn, in transactions of 250 rows.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
"$TOOLS/rust/release/stores" redb "$1"
