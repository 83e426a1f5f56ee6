#!/usr/bin/env bash
# A server on a socket and a loopback port, and TPC-C's tables: setup.sh DIR
# O_DIRECT, and AIO=0 by default: with the kernel's asynchronous I/O the caller of a write is a worker.
set -euo pipefail
dir=${1:?directory}
. "$(dirname "$0")/../server.sh"
chmod 755 "$dir"
mkdir "$dir/mysql" "$dir/run"
chown mysql "$dir/mysql" "$dir/run"
export TMPDIR=$dir/run
mariadb-install-db --no-defaults --datadir="$dir/mysql" --user=mysql --auth-root-authentication-method=normal \
    --skip-test-db --skip-name-resolve >/dev/null
port=$(free_port)
echo "$port" >"$dir/run/port"
setsid mariadbd --no-defaults --datadir="$dir/mysql" --user=mysql --socket="$dir/run/socket" --port="$port" \
    --bind-address=127.0.0.1 --pid-file="$dir/run/pid" --skip-name-resolve --log-bin="$dir/mysql/binlog" --server-id=1 \
    --binlog-format=row --max-binlog-size=16M --binlog-expire-logs-seconds=0 \
    --innodb-buffer-pool-size="${BUFFERS%B}" --innodb-log-file-size="${LOG_FILE:?}" --innodb-flush-method=O_DIRECT \
    --innodb-use-native-aio="${AIO:?}" --innodb-io-capacity=2000 --innodb-io-capacity-max=4000 \
    --innodb-flush-log-at-trx-commit=1 --sync-binlog=0 &
server=$!
client() { mariadb --no-defaults --socket="$dir/run/socket" -u root "$@"; }
await $server 60 client -e 'select 1'
client -e "create user 'tpc'@'127.0.0.1'; grant all on *.* to 'tpc'@'127.0.0.1'; create database tpcc"
setsid bash "$(dirname "$0")/purge.sh" "$dir" 2>/dev/null &
echo $! >"$dir/run/purge"
export GOMAXPROCS=1
while_lives $server go-tpc tpcc prepare -H 127.0.0.1 -P "$port" -U tpc -D tpcc \
    --warehouses "${WAREHOUSES:?}" -T 4 --no-check
