#!/usr/bin/env bash
# The two contests on programs nobody tuned on: whole schemes, then the host half alone beside a drive that keeps all copies in
# one open unit (`+gc`). Each trace of traces/held-out at the unit and on the drive that its README's table names.
# Use: lab/bench/held-out.sh [-o FOLDER] [NAME...]      (markdown on standard output)
#   -o  keeps each result as FOLDER/TRACE@UNIT.json; those there already are not made again
# ANABRANCH names the command.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [ -z "${ANABRANCH:-}" ]; then
    cargo build --quiet --release --package anabranch --manifest-path "$here/../../Cargo.toml"
    ANABRANCH=${CARGO_TARGET_DIR:-$here/../../target}/release/anabranch
fi
folder=$(mktemp -d)
[ "${1:-}" != -o ] || { folder=$2; mkdir -p "$folder"; shift 2; }
halves=(manual sequential fstream flashalloc vstream pcstream-fcfs 'pcstream*' autostream-sfr autostream-mq dac eti fadac warcip multilog sepbit anabranch)
schemes=all$(printf ',%s+gc' "${halves[@]}")
results=()
while IFS='|' read -r _ name unit drive _; do
    name=${name// /} unit=${unit// /}
    [ -f "$here/../../traces/held-out/$name.parquet" ] || continue
    [ $# = 0 ] || [[ " $* " == *" $name "* ]] || continue
    options=()
    [[ $drive != *90* ]] || options=(--fill 0.9 --over-provisioning '10%')
    result=$folder/$name@$unit.json
    [ -s "$result" ] || "$ANABRANCH" replay "$here/../../traces/held-out/$name.parquet" --unit "$unit" "${options[@]}" \
        --scheme "$schemes" -o "$result" >"$folder/log" || { cat "$folder/log" >&2; exit 1; }
    results+=("$result")
done <"$here/../../traces/held-out/README.md"
echo "Whole schemes:"$'\n'
python3 "$here/schemes.py" "${results[@]}"
echo $'\n'"The host half, copies in one unit (\`+gc\`):"$'\n'
python3 "$here/schemes.py" --ours anabranch+gc "${results[@]}"
