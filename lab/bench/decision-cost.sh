#!/usr/bin/env bash
# What a decision of each scheme costs, and the memory it takes, as one table in markdown.
# Use: lab/bench/decision-cost.sh [ROUNDS]     (3 by default)
# Time: of the thread on a processor, criterion's median of each round, of which the median is told, and the least and the most, since
# other work on the machine shows. Memory: what the schemes state, exact.
set -euo pipefail
rounds=${1:-3}
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cargo bench --quiet -p anabranch-placement --bench memory >"$folder/memory"
for round in $(seq "$rounds"); do
    echo "round $round: load $(cut -d ' ' -f 1 /proc/loadavg)" >&2
    CRITERION_HOME=$folder/$round cargo bench --quiet -p anabranch-placement --bench assign -- \
        --noplot --sample-size 10 --warm-up-time 0.5 --measurement-time 1 assign_1_pages >/dev/null
done
python3 lab/bench/decision-cost.py "$folder/memory" "$folder"/[0-9]*
