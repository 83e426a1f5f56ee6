#!/usr/bin/env bash
# A cluster that answers on a socket on the drive, and pgbench's tables: setup.sh DIR
set -euo pipefail
dir=${1:?directory}
. "$(dirname "$0")/server.sh"
chmod 755 "$dir"
mkdir "$dir/postgres" "$dir/run"
chown postgres "$dir/postgres" "$dir/run"
cd /
"${as_postgres[@]}" "$bin/initdb" -D "$dir/postgres" -A trust --no-sync >/dev/null
cat >>"$dir/postgres/postgresql.conf" <<C
listen_addresses = ''
unix_socket_directories = '$dir/run'
dynamic_shared_memory_type = sysv
shared_buffers = ${BUFFERS:?}
max_wal_size = ${LOG_MOST:?}
min_wal_size = 32MB
checkpoint_timeout = 30s
autovacuum_naptime = 5s
autovacuum_vacuum_cost_delay = 0
C
setsid "${as_postgres[@]}" "$bin/pg_ctl" -D "$dir/postgres" -l "$dir/run/log" -w start >/dev/null
"${as_postgres[@]}" "$bin/createdb" -h "$dir/run" bench
"${as_postgres[@]}" "$bin/pgbench" -h "$dir/run" -i -s "${SCALE:?}" -q bench
