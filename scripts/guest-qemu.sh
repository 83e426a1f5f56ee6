#!/usr/bin/env bash
# A QEMU whose NVMe drives have Flexible Data Placement (8.1 and later), for the guest's tests over QEMU's own FDP drive.
# Use: scripts/guest-qemu.sh      prints the directory of such a qemu-system-x86_64, to be the first of PATH
# The system's own, where it has that; else a newer Debian's, unpacked in target/guest-qemu; nothing is installed.
set -euo pipefail
cd "$(dirname "$0")/.."
place=$PWD/target/guest-qemu
suite=trixie

fail() {
    echo "guest-qemu: $*" >&2
    exit 1
}

# shellcheck source=scripts/packages.sh
. scripts/packages.sh

# Whether a QEMU's drives have Flexible Data Placement.
has_fdp() {
    "$1" -device nvme-subsys,help 2>/dev/null | grep -q '^ *fdp='
}

# Started by the loader that came with it, with its own libraries, modules and firmware.
write_start() {
    local tree=$1 lib=$1/usr/lib/x86_64-linux-gnu
    cat >"$2" <<START
#!/bin/sh
QEMU_MODULE_DIR=$lib/qemu exec $tree/usr/lib64/ld-linux-x86-64.so.2 --library-path $lib \\
    $tree/usr/bin/qemu-system-x86_64 -L $tree/usr/share/qemu -L $tree/usr/share/seabios "\$@"
START
    chmod 755 "$2"
}

build() {
    local work=$place/work deb
    rm -rf "$work" "$place/tree"
    mkdir -p "$work" "$place/tree"
    echo "guest-qemu: unpacking QEMU of $suite (about 40 MB to fetch)" >&2
    private_apt "$work" deb "$suite"
    export APT_CONFIG=$work/apt.conf
    apt-get -qq update >&2 || fail "apt has no lists of $suite"
    apt-get -qq --download-only --no-install-recommends --yes install qemu-system-x86 >/dev/null || fail "apt does not give the QEMU of $suite"
    for deb in "$work"/archives/*.deb; do unpack_package "$place/tree" "$deb"; done
    merge_usr "$place/tree"
    rm -rf "$work"
    write_start "$place/tree" "$place/qemu-system-x86_64"
}

if found=$(command -v qemu-system-x86_64) && has_fdp "$found"; then
    dirname "$found"
    exit
fi
mkdir -p "$place"
# One at a time; who waited finds it done.
exec 9>"$place/lock"
flock 9
has_fdp "$place/qemu-system-x86_64" || build
has_fdp "$place/qemu-system-x86_64" || fail "the QEMU of $suite, in $place, has no drive with Flexible Data Placement"
echo "$place"
