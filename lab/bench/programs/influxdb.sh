#!/usr/bin/env bash
# drive=80MiB unit=1MiB
# InfluxDB: a write-ahead log, snapshots of it, compactions in levels, and shards of old hours dropped.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
cat >"$scratch/influxdb.conf" <<END
reporting-disabled = true
bind-address = "127.0.0.1:28088"
[meta]
dir = "$1/meta"
[data]
dir = "$1/data"
wal-dir = "$1/wal"
cache-snapshot-memory-size = "2m"
compact-full-write-cold-duration = "5s"
query-log-enabled = false
[monitor]
store-enabled = false
[http]
bind-address = "127.0.0.1:28086"
log-enabled = false
[logging]
level = "error"
END
influxd -config "$scratch/influxdb.conf" &
children+=($!)
wait_for curl --silent --fail http://127.0.0.1:28086/ping
/usr/bin/python3 "$(dirname "$0")/influxdb.py"
