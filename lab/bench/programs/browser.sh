#!/usr/bin/env bash
# drive=160MiB unit=2MiB
# Chromium with a profile: the cache of pages and pictures, histories and cookies in SQLite, what pages keep for themselves in LevelDB.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
/usr/bin/python3 "$(dirname "$0")/browser.py" "$1/profile" "$scratch"
