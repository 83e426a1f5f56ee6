#!/usr/bin/env bash
# drive=208MiB unit=4MiB
# restic: a backup of a tree that changes, each evening; old ones forgotten, and their packs rewritten or removed.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
export RESTIC_PASSWORD=a RESTIC_REPOSITORY=$1/backup RESTIC_CACHE_DIR=$scratch/cache GOMAXPROCS=1
restic init --quiet
for ((day = 0; day < 70; day++)); do
    /usr/bin/python3 "$(dirname "$0")/changing-tree.py" "$scratch/tree" "$day"
    restic backup --quiet --compression off --pack-size 4 "$scratch/tree" || exit
    if ((day % 2 == 1)); then restic forget --quiet --keep-last 3 --prune --max-unused 5%; fi
    sync --file-system "$1"
done
