#!/usr/bin/env bash
# Records a telephone's writes on F2FS: lab/experiments/f2fs/record.sh TRACE. A drive is served here; a Linux guest, whose kernel
# has nvme-tcp and F2FS, mounts it, runs phone.sh and records what its kernel asks of the drive. No root;
# needs sqlite3 and what scripts/guest.sh needs. ROWS, ROUNDS, PICTURES, SMALL and SIZE may be set.
set -euo pipefail
trace=$(realpath "${1:?use: $0 TRACE}")
cd "$(dirname "$0")/../../.."
size=${SIZE:-512MiB}
for tool in sqlite3 strip base64; do
    command -v $tool >/dev/null || { echo "record: $tool is missing (packages sqlite3, binutils, coreutils)" >&2; exit 1; }
done
work=$(mktemp -d)
served=
trap 'if [ -n "$served" ]; then kill "$served"; fi; rm -rf "$work"' EXIT

cargo build --quiet --release --package anabranch
scripts/guest.sh build
program=${CARGO_TARGET_DIR:-target}/release/anabranch
"$program" serve --device emmc-64g --mode plain --size "$size" --unit 2MiB --listen 127.0.0.1:0 --nqn nqn.2026-01.local.anabranch:f2fs \
    >"$work/served" 2>&1 &
served=$!
for _ in $(seq 100); do
    port=$(sed -n 's/.* -s \([0-9]*\) .*/\1/p' "$work/served")
    [ -z "$port" ] || break
    sleep 0.1
done

# The guest's own programs bring the C library.
strip -o "$work/anabranch" "$program"
cp "$(command -v sqlite3)" "$work/sqlite3"
for library in $(ldd "$work/anabranch" "$work/sqlite3" | sed -n 's|.* => \(/[^ ]*\) .*|\1|p' | grep -v '/lib[cm]\.so' | sort -u); do
    cp -L "$library" "$work/"
done
{
    printf "%s='%s'\n" PORT "$port" NQN nqn.2026-01.local.anabranch:f2fs ROWS "${ROWS:-36000}" ROUNDS "${ROUNDS:-60}" \
        PICTURES "${PICTURES:-45}" SMALL "${SMALL:-600}"
    cat crates/app/cli/tests/guest/prelude.sh lab/experiments/f2fs/guest.sh
} >"$work/script"
GUEST_QEMU="-m 1536" scripts/guest.sh run -t "${SECONDS_MOST:-1800}" "$work/script" "$work"/{anabranch,sqlite3} "$work"/lib*.so* \
    lab/experiments/f2fs/phone.sh >"$work/told"
sed '/^@begin trace/,$d' "$work/told" >&2
sed -n '/^@begin trace/,/^@end/{/^@/d;p}' "$work/told" | base64 -d >"$trace"
