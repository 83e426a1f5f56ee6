#!/usr/bin/env bash
# drive=384MiB unit=2MiB fill=0.9
# PostgreSQL under pgbench: accounts, tellers, branches changed, a history appended to.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
postgres "$1" 'max_wal_size = 32MB' 'synchronous_commit = off'
"$bin/pgbench" --initialize --scale=10 --quiet postgres >/dev/null 2>&1
"$bin/pgbench" --no-vacuum --client=4 --transactions="${EVENTS:-12000}" postgres >/dev/null
