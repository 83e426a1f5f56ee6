#!/usr/bin/env bash
# The core and the command without its live verbs, built for aarch64; the core's tests run there under qemu-user.
# Use: scripts/aarch64.sh               (on x86_64; `make aarch64-test` installs what it needs)
set -euo pipefail
cd "$(dirname "$0")/.."
target=aarch64-unknown-linux-gnu
rustup target add "$target"
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"
export CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc
cargo test --target "$target" --package anabranch-ssd --package anabranch-trace --package anabranch-lifetime \
    --package anabranch-placement --package anabranch-replay --lib
cargo build --target "$target" --package anabranch --no-default-features
# The same counts as everywhere else.
run=$(qemu-aarch64 -L /usr/aarch64-linux-gnu "${CARGO_TARGET_DIR:-target}/$target/debug/anabranch" \
    replay traces/rocksdb-append-direct.parquet --unit 8MiB --scheme baseline,pcstream --json)
python3 - "$run" <<'PYTHON'
import json
import sys

copied = [scheme["copied_bytes"] for scheme in json.loads(sys.argv[1])["schemes"]]
# traces/README.md has them.
assert copied == [22798336, 1101824], copied
print("aarch64: the same copies as on x86_64:", copied)
PYTHON
