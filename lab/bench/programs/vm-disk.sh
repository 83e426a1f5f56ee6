#!/usr/bin/env bash
# drive=384MiB unit=4MiB fill=0.9
# A virtual machine's disk: a file on the drive that holds a file system of its own, with a database, a log and small files in it.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
truncate --size=340M "$1/disk.img"
mkfs.ext4 -q -F "$1/disk.img"
mkdir "$scratch/inside"
# The loop device goes with its mount, however that ends.
mount -o loop,nodiscard "$1/disk.img" "$scratch/inside"
trap 'kill "${children[@]}" 2>/dev/null || true; wait; umount --lazy "$scratch/inside"; rmdir "$scratch/inside"; rm -rf --one-file-system "$scratch"' EXIT
flush_each_second "$1"
/usr/bin/python3 "$(dirname "$0")/vm-disk.py" "$scratch/inside"
