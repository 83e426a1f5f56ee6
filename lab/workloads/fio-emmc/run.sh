#!/usr/bin/env bash
# Three jobs at equal rate: small random over little data, larger random over more, large sequential
# over most. run.sh DIR
set -euo pipefail
dir=${1:?directory}
jobs=()
for job in ${JOBS:?}; do
    IFS=: read -r name kind block region <<<"$job"
    jobs+=(--name="$name" --filename="$dir/$name" --rw="$kind" --bs="$block" --size="${region}m" --rate="${RATE:?}"
        --io_size="${MIB_EACH:?}m" --direct=1 --ioengine=psync --overwrite=1 --norandommap)
done
exec fio --randseed="${SEED:?}" --eta=never --group_reporting "${jobs[@]}"
