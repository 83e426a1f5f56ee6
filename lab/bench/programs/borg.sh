#!/usr/bin/env bash
# drive=192MiB unit=4MiB
# BorgBackup: chunks appended to segments, each backup a transaction; old backups pruned, sparse segments compacted.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
export BORG_REPO=$1/backup BORG_BASE_DIR=$scratch/borg BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes
borg init --encryption none
borg config "$BORG_REPO" max_segment_size 8388608
for ((day = 0; day < 60; day++)); do
    /usr/bin/python3 "$(dirname "$0")/changing-tree.py" "$scratch/tree" "$day"
    borg create --compression none --chunker-params buzhash,10,20,16,4095 "::day-$day" "$scratch/tree"
    borg prune --keep-last 3
    if ((day % 3 == 2)); then borg compact --threshold 10; fi
done
