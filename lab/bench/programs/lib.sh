# Shared by the programs here: what goes when they end, and what several of them do.
scratch=$(mktemp -d)
children=()
trap 'kill "${children[@]}" 2>/dev/null || true; wait; rm -rf "$scratch"' EXIT

# A small machine's memory: what is written reaches the drive within a second, though this one could keep all of it.
flush_each_second() {
    (while sleep 1 && sync --file-system "$1"; do :; done) &
    children+=($!)
}

# Compiles the C program beside the script to $program: compile SOURCE [LIBRARY...]
compile() {
    program=$scratch/${1%.c}
    cc -O2 -o "$program" "$(dirname "$0")/$1" "${@:2}"
}

# Waits, half a minute at most, until a command succeeds: a server is there.
wait_for() {
    local tries
    for ((tries = 0; tries < 150; tries++)); do
        if "$@" >/dev/null 2>&1; then return; fi
        sleep 0.2
    done
    echo "not there after 30 s: $*" >&2
    return 1
}

# A PostgreSQL of little memory with its data in DIRECTORY; its programs are in $bin: postgres DIRECTORY [SETTING...]
postgres() {
    local as_postgres=(unshare --ipc setpriv --reuid=postgres --regid=postgres --init-groups)
    bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
    mkdir "$1/postgres" "$1/run"
    chown postgres "$1/postgres" "$1/run"
    chmod 755 "$1"
    cd /
    "${as_postgres[@]}" "$bin/initdb" -D "$1/postgres" -A trust --no-sync --wal-segsize=4 >/dev/null
    printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$1/run'" 'dynamic_shared_memory_type = sysv' 'shared_buffers = 8MB' \
        'min_wal_size = 8MB' 'checkpoint_timeout = 30s' 'autovacuum_naptime = 3s' "${@:2}" >>"$1/postgres/postgresql.conf"
    "${as_postgres[@]}" "$bin/postgres" -D "$1/postgres" >/dev/null 2>&1 &
    children+=($!)
    export PGHOST=$1/run PGUSER=postgres
    wait_for "$bin/psql" -c 'select 1' postgres
}

# A MariaDB of little memory with its data in DIRECTORY, which `client` speaks to: mariadb_server DIRECTORY [OPTION...]
mariadb_server() {
    mkdir "$1/mysql"
    chmod 755 "$1" "$scratch"
    chown mysql "$1/mysql" "$scratch"
    mariadb-install-db --no-defaults --datadir="$1/mysql" --user=mysql --auth-root-authentication-method=normal --skip-test-db --skip-name-resolve \
        --innodb-log-file-size=4M >/dev/null
    mariadbd --no-defaults --datadir="$1/mysql" --user=mysql --socket="$scratch/socket" --skip-networking --pid-file="$scratch/pid" \
        --innodb-log-file-size=4M --innodb-buffer-pool-size=8M "${@:2}" >"$scratch/log" 2>&1 &
    children+=($!)
    wait_for client -e 'select 1'
}
client() { mariadb --no-defaults --socket="$scratch/socket" -u root "$@"; }

# Programs beside one another, each in a directory that the probe takes for a tenant's; the first to end
# ends the others: tenants DIRECTORY NAME...
tenants() {
    local name number=0 here
    here=$(dirname "$0")
    for name in "${@:2}"; do
        number=$((number + 1))
        mkdir "$1/tenant-$number"
        program=$here/$name.sh
        [ -e "$program" ] || program=$here/$name.py
        "$program" "$1/tenant-$number" &
        children+=($!)
    done
    wait -n "${children[@]}"
}
