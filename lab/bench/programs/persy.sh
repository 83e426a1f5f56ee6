#!/usr/bin/env bash
# drive=256MiB unit=2MiB fill=0.9
# Persy: records of many lengths and an index of them in one file, with a journal inside it; what is changed goes to free places.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
"$TOOLS/rust/release/stores" persy "$1"
