#!/usr/bin/env bash
# drive=512MiB unit=4MiB
# etcd: a raft log in segments of 64 MiB, one of them prepared ahead, a b+tree file, and snapshots.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
url=http://127.0.0.1:23790
etcd --data-dir "$1/etcd" --listen-client-urls "$url" --advertise-client-urls "$url" --listen-peer-urls http://127.0.0.1:23800 \
    --initial-advertise-peer-urls http://127.0.0.1:23800 --initial-cluster default=http://127.0.0.1:23800 \
    --snapshot-count 5000 --log-level error >"$scratch/log" 2>&1 &
children+=($!)
wait_for python3 -c "import urllib.request; urllib.request.urlopen('$url/health')"
python3 "$(dirname "$0")/etcd.py" "$url" "${TRANSACTIONS:-6000}"
