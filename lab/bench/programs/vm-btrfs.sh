#!/usr/bin/env bash
# drive=384MiB unit=2MiB fill=0.9
# A virtual machine whose file system, btrfs, writes nothing in place.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
truncate --size=330M "$1/disk.img"
mkfs.btrfs -q --mixed "$1/disk.img"
mkdir "$scratch/inside"
# The loop device goes with its mount, however that ends.
mount -o loop,nodiscard "$1/disk.img" "$scratch/inside"
trap 'kill "${children[@]}" 2>/dev/null || true; wait; umount --lazy "$scratch/inside"; rmdir "$scratch/inside"; rm -rf --one-file-system "$scratch"' EXIT
flush_each_second "$1"
/usr/bin/python3 "$(dirname "$0")/vm-disk.py" "$scratch/inside"
