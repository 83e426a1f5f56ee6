#!/usr/bin/env bash
# A server on a socket, with an append-only file and dumps: setup.sh DIR
set -euo pipefail
dir=${1:?directory}
. "$(dirname "$0")/../server.sh"
mkdir "$dir/redis" "$dir/run"
setsid redis-server --port 0 --unixsocket "$dir/run/socket" --pidfile "$dir/run/pid" --dir "$dir/redis" --appendonly yes \
    --appendfsync everysec --save "${DUMP_AFTER:?}" --auto-aof-rewrite-percentage "${REWRITE_PERCENT:?}" \
    --auto-aof-rewrite-min-size 64mb --daemonize no --rdbcompression no --stop-writes-on-bgsave-error no \
    --loglevel warning &
echo $! >"$dir/run/pid"
await $! 20 redis-cli -s "$dir/run/socket" ping
