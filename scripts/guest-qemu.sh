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
    local help
    help=$("$1" -device nvme-subsys,help 2>/dev/null) && grep -q '^ *fdp=' <<<"$help"
}

# What it is made by: with another of these it is another.
key() {
    cat scripts/guest-qemu.sh scripts/packages.sh | sha256sum | cut -c1-16
}

is_built() {
    [ "$(cat "$place/key" 2>/dev/null)" = "$(key)" ] && has_fdp "$place/qemu-system-x86_64"
}

# Started by the loader that came with it, with its own libraries, modules and firmware.
write_start() {
    local quoted
    printf -v quoted %q "$1"
    cat >"$2" <<START
#!/bin/bash
tree=$quoted
lib=\$tree/usr/lib/x86_64-linux-gnu
QEMU_MODULE_DIR=\$lib/qemu exec "\$tree/usr/lib64/ld-linux-x86-64.so.2" --library-path "\$lib" \\
    "\$tree/usr/bin/qemu-system-x86_64" -L "\$tree/usr/share/qemu" -L "\$tree/usr/share/seabios" "\$@"
START
    chmod 755 "$2"
}

build() {
    local work=$place/work deb
    rm -rf "$work" "$place/tree" "$place/key"
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
if ! flock --nonblock 9; then
    echo "guest-qemu: another one has $place/lock; waiting for it" >&2
    flock 9
fi
if ! is_built; then
    build
    has_fdp "$place/qemu-system-x86_64" || fail "the QEMU of $suite, in $place, has no drive with Flexible Data Placement"
    key >"$place/key"
fi
echo "$place"
