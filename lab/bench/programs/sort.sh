#!/usr/bin/env bash
# drive=320MiB unit=4MiB
# GNU sort of more than memory holds, over and over: runs written, merged and removed, the result kept beside results before.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
dir=${1:?directory}
flush_each_second "$dir"
mkdir "$dir/runs"
for ((round = 0; round < 22; round++)); do
    head -c 48000000 /dev/urandom | base64 --wrap=100 | LC_ALL=C sort --buffer-size=8M --batch-size=4 --parallel=1 --temporary-directory="$dir/runs" --output="$dir/sorted.$round"
    rm -f "$dir/sorted.$((round - 2))"
done
