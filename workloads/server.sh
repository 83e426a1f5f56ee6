# What the scenarios of servers share. All they keep lies in DIR/run, on the drive, and goes with it.

# A port of the loopback interface that nobody listens on.
free_port() {
    local port
    for _ in {1..100}; do
        port=$((20000 + RANDOM % 10000))
        (: >"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
    done
    echo "no free port found on the loopback interface" >&2
    return 1
}

# Waits until COMMAND succeeds, SECONDS at most, as long as process PID lives: await PID SECONDS COMMAND...
await() {
    local pid=$1 end=$((SECONDS + $2))
    shift 2
    until "$@" >/dev/null 2>&1; do
        kill -0 "$pid" 2>/dev/null || { echo "the server has ended" >&2; return 1; }
        [ "$SECONDS" -lt "$end" ] || { echo "the server does not answer" >&2; return 1; }
        sleep 0.2
    done
}

# Asks the process whose id FILE holds to end, and kills it after SECONDS: end_server FILE SECONDS
end_server() {
    local pid end=$((SECONDS + $2))
    pid=$(cat "$1" 2>/dev/null) || return 0
    kill "$pid" 2>/dev/null || return 0
    while kill -0 "$pid" 2>/dev/null; do
        [ "$SECONDS" -lt "$end" ] || kill -KILL "$pid" 2>/dev/null || true
        sleep 0.1
    done
}
