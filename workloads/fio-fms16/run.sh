#!/usr/bin/env bash
# Four sequential writers over regions of REGIONS MiB at equal rate, so that their data lives in the
# proportion of the regions, and READERS random readers of the last: run.sh DIR
set -euo pipefail
dir=${1:?directory}
jobs=()
for region in ${REGIONS:?}; do
    jobs+=(--name="writer$region" --filename="$dir/writer$region" --rw=write --bs=128k --size="${region}m"
        --rate="${RATE:?}" --io_size="${MIB_EACH:?}m" --direct=1 --ioengine=psync --overwrite=1)
done
jobs+=(--name=reader --filename="$dir/writer$region" --rw=randread --bs=4k --size="${region}m" --numjobs="${READERS:?}"
    --rate_iops=100 --time_based --runtime="${SECONDS_RUN:?}" --direct=1 --ioengine=psync)
exec fio --randseed="${SEED:?}" --eta=never --group_reporting "${jobs[@]}"
