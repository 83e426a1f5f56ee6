#!/usr/bin/env bash
# drive=256MiB unit=2MiB fill=0.9
# QEMU's qcow2: a guest's disk with snapshots inside its image; what is written after one goes to free clusters, which an older one gives back when deleted.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
image=$1/guest.qcow2
qemu-img create -q -f qcow2 -o cluster_size=32k,lazy_refcounts=on "$image" 64M
for ((turn = 0; turn < 120; turn++)); do
    qemu-img snapshot -c "day-$turn" "$image"
    if ((turn > 2)); then qemu-img snapshot -d "day-$((turn - 3))" "$image"; fi
    # A guest's writes: many small ones in a few places, a file here and there, some given back.
    awk -v seed="$turn" 'BEGIN {
        srand(seed)
        for (i = 0; i < 600; i++) {
            kind = rand()
            if (kind < 0.75) print "write -q " int(16383 * rand() ^ 3) * 4096 " 4k"
            else if (kind < 0.97) print "write -q " int(1000 * rand()) * 65536 " " 4 * int(1 + 15 * rand()) "k"
            else print "discard -q " int(1000 * rand()) * 65536 " 64k"
            if (i % 50 == 49) print "flush"
        }
    }' | qemu-io -f qcow2 -t writeback -d unmap "$image" >/dev/null
done
