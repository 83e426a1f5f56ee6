#!/usr/bin/env bash
# The tests that fio and nvme-cli bring for drives, and a small system to run them in: of Debian's newest packages and their sources.
# Use: scripts/suites.sh build       target/suites/disk, an image for `scripts/guest.sh run -d`; nothing is installed
#      scripts/suites.sh versions    what is in it
# In the image: the system, /opt/fio and /opt/nvme-cli with the sources. Debian only; no root. Needs mke2fs and dpkg-deb.
set -euo pipefail
cd "$(dirname "$0")/.."
here=$PWD/target/suites

# Where Debian's newest fio and nvme-cli are.
suite=sid
packages=(bash coreutils grep sed findutils mawk util-linux procps python3 python3-nose2 fio nvme-cli)
sources=(fio nvme-cli)

fail() {
    echo "suites: $*" >&2
    exit 1
}

# shellcheck source=scripts/packages.sh
. scripts/packages.sh

# A source package as its authors published it, without Debian's changes; prints its version.
source_of() {
    local name=$1 to=$2 version uri file
    # Of a rebuilt binary (+b1) the source has the version before that.
    version=$(apt-cache show "$name" | sed -n 's/^Version: //p' | head -n 1 | sed 's/+b[0-9]*$//')
    read -r uri file < <(apt-get --print-uris --only-source source "$name=$version" | sed -n "s/^'\([^']*\)' \([^ ]*\.orig\.tar\.[a-z0-9]*\) .*/\1 \2/p") || true
    [ -n "${uri:-}" ] || fail "$suite has no source of $name $version"
    /usr/lib/apt/apt-helper -qq download-file "$uri" "$to/$file" >/dev/null || fail "the source of $name $version cannot be had"
    mkdir -p "$to/tree/opt/$name"
    tar -x -f "$to/$file" -C "$to/tree/opt/$name" --strip-components 1
    echo "$name $version"
}

build() {
    local key work deb name
    key=$(cat "$0" scripts/packages.sh | sha256sum | cut -c1-16)
    mkdir -p "$here"
    # One at a time; who waited finds it done.
    exec 9>"$here/lock"
    flock 9
    [ "$(cat "$here/key" 2>/dev/null)" != "$key" ] || return 0
    work=$here/work
    rm -rf "$work"
    mkdir -p "$work"
    echo "suites: building from Debian's packages (about 100 MB)" >&2
    private_apt "$work" "deb deb-src" "$suite"
    export APT_CONFIG=$work/apt.conf
    apt-get -qq update >&2 || fail "apt has no lists of $suite"
    apt-get -qq --download-only --no-install-recommends --yes install "${packages[@]}" >/dev/null || fail "apt does not give the packages"
    mkdir -p "$work/tree"/{proc,sys,dev,tmp,run,job,mnt}
    for deb in "$work"/archives/*.deb; do unpack_package "$work/tree" "$deb"; done
    merge_usr "$work/tree"
    # What the packages' own scripts would have made; and sudo, for whoever is root already.
    ln -sf mawk "$work/tree/usr/bin/awk"
    ln -sf bash "$work/tree/usr/bin/sh"
    # shellcheck disable=SC2016 # the script's
    printf '#!/bin/sh\nexec "$@"\n' >"$work/tree/usr/bin/sudo" && chmod +x "$work/tree/usr/bin/sudo"
    for name in "${sources[@]}"; do source_of "$name" "$work"; done >"$work/versions"
    truncate -s 2G "$work/disk"
    PATH=$PATH:/usr/sbin:/sbin mke2fs -q -F -t ext4 -d "$work/tree" "$work/disk"
    mv "$work/versions" "$work/disk" "$here/"
    rm -rf "$work"
    echo "$key" >"$here/key"
}

case ${1:-} in
    build) build ;;
    versions) cat "$here/versions" ;;
    *) echo "use: $0 build | versions" >&2; exit 2 ;;
esac
