#!/usr/bin/env bash
# drive=192MiB unit=1MiB fill=0.9
# Graphite: Carbon writes values into Whisper files, one a metric; those of machines that have gone are deleted.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
mkdir "$scratch/conf" "$1/whisper"
cat >"$scratch/conf/carbon.conf" <<END
[cache]
STORAGE_DIR = $scratch
CONF_DIR = $scratch/conf
LOG_DIR = $scratch
PID_DIR = $scratch
LOCAL_DATA_DIR = $1/whisper
USER =
MAX_CACHE_SIZE = 2000000
MAX_UPDATES_PER_SECOND = 1500
MAX_CREATES_PER_MINUTE = inf
LINE_RECEIVER_INTERFACE = 127.0.0.1
LINE_RECEIVER_PORT = 22003
PICKLE_RECEIVER_INTERFACE = 127.0.0.1
PICKLE_RECEIVER_PORT = 22004
CACHE_QUERY_INTERFACE = 127.0.0.1
CACHE_QUERY_PORT = 27002
CACHE_WRITE_STRATEGY = sorted
WHISPER_AUTOFLUSH = False
WHISPER_FALLOCATE_CREATE = True
ENABLE_LOGROTATION = False
END
printf '%s\n' '[all]' 'pattern = .*' 'retentions = 10s:6h,1m:3d,10m:30d' >"$scratch/conf/storage-schemas.conf"
carbon-cache --config="$scratch/conf/carbon.conf" --nodaemon start >"$scratch/log" 2>&1 &
children+=($!)
wait_for bash -c 'exec 3<>/dev/tcp/127.0.0.1/22003'
/usr/bin/python3 "$(dirname "$0")/graphite.py" 127.0.0.1 22003 "$1/whisper"
