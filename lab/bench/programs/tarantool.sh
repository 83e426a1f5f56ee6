#!/usr/bin/env bash
# drive=256MiB unit=2MiB
# Tarantool's vinyl: a log-structured tree of ranges and runs with two indexes, a log, snapshots.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
cd "$1"
tarantool "$(dirname "$0")/tarantool.lua"
