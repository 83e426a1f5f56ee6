#!/usr/bin/env bash
# Records programs of many kinds, one trace each, and says what `baseline` makes of it, a row of markdown each.
# Use: lab/bench/record-programs.sh [-o FOLDER] [--rows] [NAME...]       (root; after `scripts/setup.sh programs`)
#   -o      where the traces go (traces/held-out)
#   --rows  records nothing: the rows of the traces in the folder
# Without names all programs of lab/bench/programs; LIMIT is the seconds one may take (150): what was written until then
# is its trace. ANABRANCH names the command. A drive of its own for each, which goes with what is on it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$here/../../traces/held-out
rows_only=
while [ $# -gt 0 ]; do
    case $1 in
        -o) out=$2; shift 2 ;;
        --rows) rows_only=1; shift ;;
        *) break ;;
    esac
done
if [ -z "${ANABRANCH:-}" ]; then
    cargo build --quiet --release --package anabranch --manifest-path "$here/../../Cargo.toml"
    ANABRANCH=${CARGO_TARGET_DIR:-$here/../../target}/release/anabranch
fi
export TOOLS=${TOOLS:-$here/../../target/programs}
# A program in Python finds its packages there.
export PATH=$TOOLS/venv/bin:$PATH
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT
if [ $# = 0 ]; then
    mapfile -t names < <(cd "$here/programs" && grep --files-with-matches '^# drive=' -- *.sh *.py | sed 's/\.[a-z]*$//' | sort)
    set -- "${names[@]}"
fi

# A word of the line that begins with `# drive=` in the program: setting NAME DEFAULT
setting() {
    local found
    found=$(grep '^# drive=' "$program" | grep --only-matching "\b$1=[^ ]*" || true)
    [ -n "$found" ] && echo "${found#*=}" || echo "$2"
}

# How the trace is replayed: at its unit, on the drive recorded or one 90 % full.
row() {
    local options=()
    [ "$(setting fill 1)" = 1 ] || options=(--fill "$(setting fill 1)" --over-provisioning 10%)
    "$ANABRANCH" replay "$out/$1.parquet" --unit "$(setting unit 4MiB)" "${options[@]}" --scheme baseline --json 2>/dev/null |
        python3 -c '
import json, sys
result = json.load(sys.stdin)
drive, source = result["device"]["logical_bytes"], result["source"]
records, written, copied = source["records"], source["write_bytes"], result["schemes"][0]["copied_bytes"]
cells = [*sys.argv[1:], drive >> 20, records, written, f"{written / drive:.1f}", copied, f"{1 + copied / written:.3f}"]
print("|", " | ".join(map(str, cells)), "|")
' "$1" "$(setting unit 4MiB)" "$([ ${#options[@]} = 0 ] && echo as recorded || echo 90 % full)"
}

mkdir -p "$out"
failed=0
for name in "$@"; do
    program=$(grep --files-with-matches '^# drive=' "$here/programs/$name".* || true)
    [ -n "$program" ] || { echo "no such program: $name" >&2; exit 2; }
    if [ -z "$rows_only" ]; then
        timeout --signal=INT --kill-after=60 "${LIMIT:-150}" "$ANABRANCH" run --size "$(setting drive 512MiB)" --unit "$(setting unit 4MiB)" \
            --file-system "$(setting fs ext4)" --scheme baseline --log "$log/log" -t "$log/trace.parquet" -- "$program" '{dir}' >"$log/table" 2>&1 ||
            [ $? = 124 ] || { echo "$name failed:" >&2; tail -n 3 "$log/log" "$log/table" >&2; failed=1; continue; }
        mv "$log/trace.parquet" "$out/$name.parquet"
    fi
    [ ! -e "$out/$name.parquet" ] || row "$name"
done
exit $failed
