#!/usr/bin/env bash
# Every scheme on recorded traces: `anabranch` beside the best of all others, and the bounds.
# Use: lab/bench/schemes.sh [-o FOLDER] [-f TRACE...] [-d TRACE...]     (markdown on standard output)
#   -f  traces of programs that write in place: drives 90 % full, units of 512 KiB and 4 MiB
#   -d  traces of programs that discard: the drive recorded, units of 4 MiB and 24 MiB
#   -o  keeps each result as FOLDER/TRACE@UNIT.json; those there already are not made again
# ANABRANCH names the command, SCHEMES the list (all), OPTIONS more options, for example
# OPTIONS='--victim cost-benefit' (schemes that choose victims themselves keep their own).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- -d "$here/../../traces/rocksdb-demo.parquet"
if [ -z "${ANABRANCH:-}" ]; then
    cargo build --quiet --release --package anabranch --manifest-path "$here/../../Cargo.toml"
    ANABRANCH=${CARGO_TARGET_DIR:-$here/../../target}/release/anabranch
fi
folder=$(mktemp -d)
kind=-d
results=()
while [ $# -gt 0 ]; do
    case $1 in
        -o) folder=$2; mkdir -p "$folder"; shift 2; continue ;;
        -f|-d) kind=$1; shift; continue ;;
    esac
    name=$(basename "$1" .parquet)
    if [ "$kind" = -f ]; then
        units=(512KiB 4MiB); drive=(--fill 0.9 --over-provisioning '10%')
    else
        units=(4MiB 24MiB); drive=()
    fi
    for unit in "${units[@]}"; do
        result=$folder/$name@$unit.json
        # A drive may be too small for its larger units: that is said, and the others go on.
        # shellcheck disable=SC2086
        if [ -s "$result" ] || "$ANABRANCH" replay "$1" --unit "$unit" "${drive[@]}" \
            --scheme "${SCHEMES:-all}" ${OPTIONS:-} -o "$result" >"$folder/log" 2>&1; then
            results+=("$result")
        else
            echo "$name, units of $unit: $(tail -n 1 "$folder/log")" >&2
        fi
    done
    shift
done
python3 "$here/schemes.py" "${results[@]}"
