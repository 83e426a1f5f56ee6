#!/usr/bin/env bash
# The suite: every scenario once, on a fresh drive, and one table of what came out.
# Use: scripts/workloads.sh [NAME...]    all of them where none is named
# Leaves OUT/NAME.{json,parquet,log,seconds}, coverage.json and table.md; OUT is out/workloads where
# it is not set. FILE_SYSTEM=ext4|xfs, SIZE=quick|full and SCHEMES change what is run. The full size
# keeps no traces: they would be as long as the runs, and its table tells no coverage.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${OUT:-out/workloads}
size=${SIZE:-quick}
mkdir -p "$out"
anabranch=${ANABRANCH:-${CARGO_TARGET_DIR:-target}/release/anabranch}
names=("$@")
if [ ${#names[@]} = 0 ]; then
    for description in lab/workloads/*/workload.toml; do names+=("$(basename "$(dirname "$description")")"); done
fi

failed=()
began=$SECONDS
for name in "${names[@]}"; do
    start=$SECONDS
    rm -f "$out/$name".{json,parquet,log,seconds}
    trace=(-t "$out/$name.parquet")
    [ "$size" = quick ] || trace=()
    "$anabranch" run --workload "$name" --size "$size" --file-system "${FILE_SYSTEM:-ext4}" \
        --scheme "${SCHEMES:-baseline,baseline+gc,hints,autostream-sfr,pcstream*,pcstream,anabranch}" \
        --log "$out/$name.log" "${trace[@]}" -o "$out/$name.json" >/dev/null || { failed+=("$name"); continue; }
    echo $((SECONDS - start)) >"$out/$name.seconds"
    echo "workloads: $name, $((SECONDS - start)) s" >&2
done
echo "workloads: all of them, $((SECONDS - began)) s" >&2
traces=()
for name in "${names[@]}"; do [ ! -e "$out/$name.parquet" ] || traces+=("$out/$name.parquet"); done
[ ${#traces[@]} = 0 ] || "$anabranch" coverage --json "${traces[@]}" >"$out/coverage.json"
python3 scripts/workloads-table.py "$size" "$out" "${names[@]}" | tee "$out/table.md"
if [ ${#failed[@]} -gt 0 ]; then
    echo "workloads: failed: ${failed[*]}; what they said is in $out/NAME.log" >&2
    exit 1
fi
