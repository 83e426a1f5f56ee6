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
