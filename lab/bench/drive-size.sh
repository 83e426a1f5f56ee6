#!/usr/bin/env bash
# The demo's RocksDB on drives of several sizes: how full the drive is decides what placement saves.
# Use: lab/bench/drive-size.sh [MiB...]      (root; about a minute a size; markdown rows on standard output)
set -euo pipefail
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || set -- 1150 1200 1250 1300 1350
cargo build --quiet --release --package anabranch
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "| drive MiB | RocksDB | host GiB | baseline WAF, second half | removed by hints | autostream-sfr | pcstream\\* | pcstream |"
echo "|---:|---|---:|---:|---:|---:|---:|---:|"
for size in "$@"; do
    ended=finished
    "${CARGO_TARGET_DIR:-target}/release/anabranch" run --size "${size}MiB" --log "$work/log" -o "$work/result.json" -- \
        "$(command -v bash)" -c "$(scripts/demo.sh --command)" >/dev/null 2>&1 || ended='ran out of space'
    python3 - "$work/result.json" "$size" "$ended" <<'PY'
import json, sys
result = json.load(open(sys.argv[1]))
schemes = {scheme["name"]: scheme for scheme in result["schemes"]}
base = schemes["baseline"]
removed = lambda name: f'{100 * (1 - schemes[name]["copied_bytes"] / base["copied_bytes"]):.1f} %'
print(f'| {sys.argv[2]} | {sys.argv[3]} | {base["host_page_bytes"] / 2**30:.1f} | {base["waf_second_half"]:.2f} |',
      " | ".join(removed(name) for name in ("hints", "autostream-sfr", "pcstream*", "pcstream")), "|")
PY
done
