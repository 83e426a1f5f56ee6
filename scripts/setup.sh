#!/usr/bin/env bash
# Installs what the demo or the tests need from the distribution, if it is missing.
# Use: scripts/setup.sh demo|test|bench|workloads|programs|dist|aarch64      (root, on Debian or Ubuntu; otherwise says what to install)
set -euo pipefail

# program or file to look for, and the package that brings it
build=(clang:clang make:make cc:gcc /usr/include/stdio.h:libc6-dev pkg-config:pkg-config /usr/include/libelf.h:libelf-dev /usr/include/zlib.h:zlib1g-dev
    /usr/include/openssl/ssl.h:libssl-dev)
demo=(db_bench:rocksdb-tools mkfs.ext4:e2fsprogs)
# What the probe's cost is measured by, beside db_bench
loads=(fio:fio pg_createcluster:postgresql setpriv:util-linux losetup:mount python3:python3)
# The applications of lab/workloads/; what builds go-tpc and fetches Cassandra
applications=(fio:fio mariadbd:mariadb-server pg_createcluster:postgresql redis-server:redis-server
    redis-benchmark:redis-tools /usr/bin/python3:python3 /usr/lib/python3/dist-packages/lmdb:python3-lmdb
    setpriv:util-linux mkfs.xfs:xfsprogs java:openjdk-17-jre-headless mvn:maven go:golang-go)
# The programs of lab/bench/programs, and what builds them and fetches others
programs=(cc:gcc go:golang-go java:openjdk-17-jdk-headless mvn:maven curl:curl git:git as:binutils postmark:postmark memcached:memcached
    influxd:influxdb isql-fb:firebird3.0-utils /usr/lib/x86_64-linux-gnu/firebird/3.0/plugins/libEngine12.so:firebird3.0-server-core
    tarantool:tarantool nats-server:nats-server restic:restic rrdtool:rrdtool tkrzw_dbm_perf:tkrzw-utils
    squid:squid nginx:nginx sqlite3:sqlite3 /usr/lib/dovecot/imap:dovecot-imapd logrotate:logrotate pg_createcluster:postgresql setpriv:util-linux
    borg:borgbackup /usr/lib/systemd/systemd-journal-remote:systemd-journal-remote varnishd:varnish etcd:etcd-server /usr/lib/rabbitmq/bin/rabbitmq-server:rabbitmq-server
    ccache:ccache rsync:rsync qemu-io:qemu-utils escript:erlang-base /usr/lib/erlang/lib/mnesia-4.21.3:erlang-mnesia
    chromium:chromium /usr/lib/python3.11/lib-dynload/_gdbm.cpython-311-x86_64-linux-gnu.so:python3-gdbm
    mkfs.btrfs:btrfs-progs mkfs.xfs:xfsprogs mariadbd:mariadb-server /usr/lib/mysql/plugin/ha_rocksdb.so:mariadb-plugin-rocksdb losetup:mount
    /usr/include/wiredtiger.h:libwiredtiger-dev /usr/include/db.h:libdb5.3-dev
    slapd:slapd ldapsearch:ldap-utils /usr/lib/python3/dist-packages/ldap:python3-ldap carbon-cache:graphite-carbon
    /usr/lib/x86_64-linux-gnu/fis-gtm:fis-gtm groonga:groonga-bin rdiff-backup:rdiff-backup
    /usr/lib/python3/dist-packages/tdb.cpython-311-x86_64-linux-gnu.so:python3-tdb
    /usr/lib/python3/dist-packages/plyvel:python3-plyvel /usr/lib/python3/dist-packages/xapian:python3-xapian)
tests=(git:git mkfs.xfs:xfsprogs xfs_io:xfsprogs mkfs.btrfs:btrfs-progs setpriv:util-linux losetup:mount script:bsdutils python3:python3
    strace:strace fio:fio btt:blktrace qemu-system-x86_64:qemu-system-x86 xz:xz-utils flock:util-linux openssl:openssl
    chromium:chromium)
# What builds for aarch64 and runs it here: scripts/aarch64.sh
crossing=(aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu /usr/aarch64-linux-gnu/include/stdio.h:libc6-dev-arm64-cross
    qemu-aarch64:qemu-user python3:python3)
# What packs and unpacks: packaging/dist.sh, packaging/dist-test.sh
packers=(git:git objdump:binutils rpmbuild:rpm debootstrap:debootstrap xz:xz-utils python3:python3)

missing() {
    local item found
    for item in "$@"; do
        found=${item%%:*}
        # Tools for root lie where a user's PATH does not look.
        case $found in
            /*) [ -e "$found" ] ;;
            *) PATH=$PATH:/usr/sbin:/sbin command -v "$found" >/dev/null ;;
        esac || echo "${item##*:}"
    done | sort -u
}

if ! command -v cargo >/dev/null; then
    echo "setup: Rust 1.88 or newer is needed, and no cargo is on the PATH: see https://rustup.rs" >&2
    exit 1
fi

case ${1:-} in
    demo) wanted=$(missing "${build[@]}" "${demo[@]}") ;;
    test) wanted=$(missing "${build[@]}" "${demo[@]}" "${tests[@]}")
          python3 -c 'import ensurepip' 2>/dev/null || wanted+=" python3-venv" ;;
    bench) wanted=$(missing "${build[@]}" "${demo[@]}" "${loads[@]}") ;;
    workloads) wanted=$(missing "${build[@]}" "${demo[@]}" "${applications[@]}") ;;
    programs) wanted=$(missing "${build[@]}" "${programs[@]}")
              python3 -c 'import ensurepip' 2>/dev/null || wanted+=" python3-venv" ;;
    dist) wanted=$(missing "${build[@]}" "${packers[@]}")
          python3 -c 'import ensurepip' 2>/dev/null || wanted+=" python3-venv" ;;
    aarch64) wanted=$(missing "${build[@]}" "${crossing[@]}") ;;
    *) echo "use: $0 demo|test|bench|workloads|programs|dist|aarch64" >&2; exit 2 ;;
esac

if [ -n "${wanted// /}" ]; then
    # shellcheck disable=SC2086 # a list of words
    set -- "$1" $wanted
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "setup: missing: ${*:2}; as root: apt-get install ${*:2}" >&2
        exit 1
    fi
    echo "setup: installing ${*:2}" >&2
    # Nothing that is installed may start a service: Debian's packages ask this file, 101 is no.
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        trap 'rm -f "$policy"' EXIT
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod +x "$policy"
    fi
    DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${@:2}" >/dev/null
fi

if [ "$1" = test ]; then
    # The Python package is built and tested there, and pandas, polars and DuckDB open our traces in
    # a test of the trace file; Debian has not all of them.
    if ! cmp -s scripts/python.txt target/venv/python.txt; then
        python3 -m venv target/venv
        target/venv/bin/pip install --quiet --requirement scripts/python.txt
        cp scripts/python.txt target/venv/python.txt
    fi
fi

if [ "$1" = dist ] && [ ! -e target/venv-dist/bin/maturin ]; then
    python3 -m venv target/venv-dist
    target/venv-dist/bin/pip install --quiet "$(grep ^maturin= scripts/python.txt)"
fi
if [ "$1" = workloads ]; then
    lab/workloads/tools.sh
fi
if [ "$1" = programs ]; then
    lab/bench/programs/tools.sh
fi
if [ "$1" = test ]; then
    # What no kernel here may have, a guest's has: nvme-tcp, f2fs.
    scripts/guest.sh build
fi
