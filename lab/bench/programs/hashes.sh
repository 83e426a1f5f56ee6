#!/usr/bin/env bash
# drive=160MiB unit=2MiB fill=0.9
# GDBM: two extensible hash tables of a mail system, each one file; entries of different size go and come, the file of the one is packed at times.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
/usr/bin/python3 "$(dirname "$0")/hashes.py" "$1"
