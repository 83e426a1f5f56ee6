#!/usr/bin/env bash
# drive=256MiB unit=2MiB fill=0.9
# Groonga: columns of a table in mapped files and an index of words that is kept with each change.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
mkdir "$1/groonga"
/usr/bin/python3 "$(dirname "$0")/groonga.py" | groonga --log-path "$scratch/log" -n "$1/groonga/db" >"$scratch/answers"
