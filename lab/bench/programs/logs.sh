#!/usr/bin/env bash
# drive=208MiB unit=2MiB
# Logs of many services: each appended to all the time, rotated by size, compressed a turn later, and deleted after some turns.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
cat >"$scratch/logrotate.conf" <<END
$1/service-*/*.log {
    size 1M
    rotate 6
    missingok
    compress
    delaycompress
    create
    su root root
}
$1/audit/*.log {
    size 2M
    rotate 12
    nocompress
    create
    su root root
}
END
/usr/bin/python3 "$(dirname "$0")/logs.py" "$1" "$scratch/logrotate.conf" "$scratch/state"
