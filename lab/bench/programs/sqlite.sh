#!/usr/bin/env bash
# drive=128MiB unit=1MiB
# sqlite3, the shell: two databases, one with a log (WAL) and one with a rollback journal, each by a shell of its own.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
/usr/bin/python3 "$(dirname "$0")/sqlite.py" wal | sqlite3 "$1/wal.db" >/dev/null &
/usr/bin/python3 "$(dirname "$0")/sqlite.py" delete | sqlite3 "$1/rollback.db" >/dev/null
wait $!
