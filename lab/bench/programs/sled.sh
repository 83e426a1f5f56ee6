#!/usr/bin/env bash
# drive=256MiB unit=2MiB
# sled: pages appended to segments in one file, segments written anew, and long values in files of their own.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
"$TOOLS/rust/release/stores" sled "$1"
