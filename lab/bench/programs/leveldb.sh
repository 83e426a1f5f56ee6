#!/usr/bin/env bash
# drive=288MiB unit=4MiB
# LevelDB: a log-structured merge tree, its log and its tables of 2 MiB.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
/usr/bin/python3 "$(dirname "$0")/leveldb.py" "$1"
