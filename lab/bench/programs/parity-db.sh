#!/usr/bin/env bash
# drive=512MiB unit=2MiB fill=0.9
# parity-db: a hash table in mapped memory, values in a file for each size, changed in place after a log of its own.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
"$TOOLS/rust/release/stores" parity-db "$1"
