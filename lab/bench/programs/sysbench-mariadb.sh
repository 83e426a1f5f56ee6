#!/usr/bin/env bash
# drive=384MiB unit=2MiB fill=0.9
# MariaDB under sysbench: four tables read, changed, deleted from and inserted into.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
mariadb_server "$1" --innodb-flush-log-at-trx-commit=2 --innodb-max-undo-log-size=10M
client -e 'create database sbtest'
bench() {
    sysbench oltp_write_only --db-driver=mysql --mysql-socket="$scratch/socket" --mysql-user=root --tables=4 --table-size=60000 \
        --threads=4 --events="${EVENTS:-8000}" --time=0 --rand-type=pareto --verbosity=0 "$1"
}
bench prepare >/dev/null
bench run
