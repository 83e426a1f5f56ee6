#!/usr/bin/env bash
# drive=192MiB unit=2MiB
# NATS JetStream: message logs in blocks with limits of different size, a queue emptied as it is worked off, a key-value bucket that is compacted.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
cat >"$scratch/nats.conf" <<END
listen: "127.0.0.1:24222"
jetstream { store_dir: "$1/nats", max_mem: 64M, max_file: 1G }
END
nats-server --config "$scratch/nats.conf" >/dev/null 2>&1 &
children+=($!)
wait_for bash -c 'exec 3<>/dev/tcp/127.0.0.1/24222'
"$TOOLS/venv/bin/python3" "$(dirname "$0")/jetstream.py"
