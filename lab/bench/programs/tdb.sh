#!/usr/bin/env bash
# drive=256MiB unit=2MiB fill=0.9
# Samba's TDB, hash tables in mapped files: a file server's locks without transactions, a directory's entries with them.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
/usr/bin/python3 "$(dirname "$0")/tdb-tables.py" "$1"
