#!/usr/bin/env bash
# drive=256MiB unit=2MiB fill=0.9
# Berkeley DB: a b-tree and a hash written in place, behind a log that is removed after checkpoints.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
compile berkeleydb.c -ldb
flush_each_second "$1"
mkdir "$1/bdb"
"$program" "$1/bdb"
