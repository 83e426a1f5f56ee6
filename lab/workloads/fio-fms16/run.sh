#!/usr/bin/env bash
# Four sequential writers over regions at equal rate, NAME:MIB each in REGIONS, so that their data
# lives in the proportion of the regions, and READERS random readers of the last: run.sh DIR
set -euo pipefail
dir=${1:?directory}
jobs=()
for region in ${REGIONS:?}; do
    IFS=: read -r name mib <<<"$region"
    jobs+=(--name="$name" --filename="$dir/$name" --rw=write --bs=128k --size="${mib}m"
        --rate="${RATE:?}" --io_size="${MIB_EACH:?}m" --direct=1 --ioengine=psync --overwrite=1)
done
jobs+=(--name=reader --filename="$dir/$name" --rw=randread --bs=4k --size="${mib}m" --numjobs="${READERS:?}"
    --rate_iops=100 --time_based --runtime="${SECONDS_RUN:?}" --direct=1 --ioengine=psync)
exec fio --randseed="${SEED:?}" --eta=never --group_reporting "${jobs[@]}"
