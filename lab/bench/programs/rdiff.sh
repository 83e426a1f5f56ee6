#!/usr/bin/env bash
# drive=160MiB unit=2MiB
# rdiff-backup: a mirror as files, and what leads back from it to the days before, which goes after four days.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
for day in {0..51}; do
    /usr/bin/python3 "$(dirname "$0")/changing-tree.py" "$scratch/tree" "$day"
    /usr/bin/rdiff-backup --api-version 201 backup "$scratch/tree" "$1/backup" >"$scratch/log" 2>&1
    /usr/bin/rdiff-backup --api-version 201 --force remove increments --older-than 4B "$1/backup" >"$scratch/log" 2>&1 || [ $? = 2 ]
    # A backup has a second of its own.
    sleep 1
done
