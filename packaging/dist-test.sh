#!/usr/bin/env bash
# Installs what `make dist` made in a bare Debian and uses it there, as root: the .deb, a replay, the verdict on a
# program of its own where this kernel allows a live run; then the wheel, and the command that it brings.
# Use: packaging/dist-test.sh [deb|wheel]        both where none is named
set -euo pipefail
cd "$(dirname "$0")/.."
out=$PWD/out/dist
root=$PWD/target/dist-root

finish() {
    if mountpoint --quiet "$root"; then umount --recursive --lazy "$root"; fi
    rm -rf --one-file-system "$root"
}

# The bare root is a mount of its own, as a container's is: `run` makes what it mounts private.
mount_all() {
    local place
    mount --bind "$root" "$root"
    mount --make-private "$root"
    for place in /proc /sys /dev; do
        mount --rbind "$place" "$root$place"
        mount --make-rslave "$root$place"
    done
}

inside() {
    chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/ LC_ALL=C.UTF-8 "$@"
}

expect() {
    local wanted=$1
    shift
    local said
    said=$("$@" 2>&1) || { echo "dist-test: failed: $*: $said" >&2; exit 1; }
    [[ $said == *"$wanted"* ]] || { echo "dist-test: $* does not say '$wanted' but: $said" >&2; exit 1; }
}

# A program of a visitor's own: a database that is filled, and its rows changed at random.
write_program() {
    local row="randomblob(1500)"
    echo "PRAGMA journal_mode=WAL; CREATE TABLE account(id INTEGER PRIMARY KEY, data BLOB);"
    echo "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 22000) INSERT INTO account SELECT i, $row FROM n;"
    for _ in {1..20}; do
        echo "UPDATE account SET data = $row WHERE id IN (SELECT abs(random()) % 22000 + 1 FROM account LIMIT 4000);"
    done
}

# Shows a command as it is typed, and runs it there.
step() {
    echo "\$ $*"
    inside "$@" 2>&1 | tee --append "$root/tmp/said"
}

# What docs/install.md shows: from the package to the verdict.
use_deb() {
    local began=$SECONDS
    inside date --utc +%FT%TZ
    step apt-get install --yes --no-install-recommends -qq ./anabranch.deb
    step anabranch --version
    step anabranch run --size 128MiB --unit 1MiB -- sqlite3 '{dir}/app.db' '.read app.sql'
    echo "dist-test: from the .deb to the verdict on a program of its own: $((SECONDS - began)) s"
    # Any of the three: the rows are drawn anew each time, and a run may not have settled at its end.
    grep -Eq "^(Worth it|Not worth it|No answer yet): " "$root/tmp/said"
}

test_deb() {
    cp "$out"/anabranch_*_amd64.deb "$root/anabranch.deb"
    if [ -r /sys/kernel/btf/vmlinux ]; then
        inside apt-get install --yes --no-install-recommends sqlite3 >/dev/null
        write_program >"$root/app.sql"
        use_deb
    else
        inside apt-get install --yes --no-install-recommends ./anabranch.deb >/dev/null
        echo "dist-test: this kernel has no type information: no live run"
    fi
    expect "commit: " inside anabranch --version
    expect "replay" inside bash -c 'gzip -dc /usr/share/man/man1/anabranch.1.gz'
    expect "-F _anabranch" inside bash -c 'source /usr/share/bash-completion/completions/anabranch; complete -p anabranch'
    expect "1.354" inside anabranch replay /traces/rocksdb-demo.parquet --scheme baseline
    inside dpkg --purge anabranch >/dev/null
    [ ! -e "$root/usr/bin/anabranch" ] || { echo "dist-test: the package leaves its binary behind" >&2; exit 1; }
}

test_wheel() {
    local interpreter
    inside apt-get install --yes --no-install-recommends python3-venv >/dev/null
    interpreter=$(inside python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    # The bare machine has no network settings of this one: what the wheel needs is fetched from here.
    target/venv-dist/bin/pip download --quiet --only-binary :all: --python-version "$interpreter" \
        --dest "$root/tmp/wheels" "$out"/anabranch-*.whl
    inside python3 -m venv /tmp/venv
    inside /tmp/venv/bin/pip install --quiet --no-index --find-links /tmp/wheels anabranch
    expect "commit: " inside /tmp/venv/bin/anabranch --version
    expect "WAF 1.354" inside /tmp/venv/bin/python -c \
        'import anabranch; print(anabranch.replay("/traces/rocksdb-demo.parquet", "baseline"))'
    echo "dist-test: the wheel brings the package and the command"
}

[ "$(id -u)" = 0 ] || { echo "dist-test: a bare Debian is made by root" >&2; exit 1; }
trap finish EXIT
finish
debootstrap --variant=minbase bookworm "$root" >/dev/null
mount_all
mkdir "$root/traces"
cp traces/rocksdb-demo.parquet "$root/traces"
inside apt-get install --yes --no-install-recommends e2fsprogs >/dev/null
case ${1:-all} in
    deb) test_deb ;;
    wheel) test_wheel ;;
    all) test_deb; test_wheel ;;
    *) echo "use: $0 [deb|wheel]" >&2; exit 2 ;;
esac
