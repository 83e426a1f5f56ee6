#!/usr/bin/env bash
# drive=224MiB unit=2MiB
# Snapshots by rsync: what has not changed is a hard link to the last one's; of the older ones fewer and fewer are kept.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
mkdir "$scratch/home" "$1/snapshots"
/usr/bin/python3 "$(dirname "$0")/snapshots.py" "$scratch/home" "$1/snapshots"
