#!/usr/bin/env bash
# drive=192MiB unit=2MiB fill=0.9
# A small service in Python: records in SQLite, pictures in files, a cache written anew. PYTHON names a Python 3.12 or later.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
# Its functions by name (-X perf).
"${PYTHON:-python3}" -X perf "$(dirname "$0")/store-python-service.py" "$1" "${EVENTS:-24000}"
