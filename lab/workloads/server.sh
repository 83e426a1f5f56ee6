# What the scenarios of servers share. All they keep lies in DIR/run, on the drive, and goes with it.

# Without it a Ctrl-C is lost that comes just as a command ends by itself: bash takes the command to
# have dealt with it.
trap 'exit 130' INT

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

# Whether process PID lives. One that has ended stays in the table until its parent asks for it,
# and the first process of a container may never do so.
lives() {
    local status
    status=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
    status=${status##*) }
    [ "${status%% *}" != Z ]
}

# Waits until COMMAND succeeds, SECONDS at most, as long as process PID lives: await PID SECONDS COMMAND...
await() {
    local pid=$1 end=$((SECONDS + $2))
    shift 2
    until "$@" >/dev/null 2>&1; do
        lives "$pid" || { echo "the server has ended" >&2; return 1; }
        [ "$SECONDS" -lt "$end" ] || { echo "the server does not answer" >&2; return 1; }
        sleep 0.2
    done
}

# Runs COMMAND, a client of process PID, and fails when that has ended: some clients ask on and on,
# others call it a success. while_lives PID COMMAND...
while_lives() {
    local server=$1 client
    shift
    # Without the trap what runs in the background is deaf to Ctrl-C.
    (trap - INT; "$@") &
    client=$!
    while lives "$client" && lives "$server"; do sleep 0.2; done
    if ! lives "$server"; then
        echo "the server has ended" >&2
        kill "$client" 2>/dev/null || true
        return 1
    fi
    wait "$client"
}

# Asks the process whose id FILE holds to end, and kills it after SECONDS: end_server FILE SECONDS
end_server() {
    local pid end=$((SECONDS + $2))
    pid=$(cat "$1" 2>/dev/null) || return 0
    kill "$pid" 2>/dev/null || return 0
    while lives "$pid"; do
        if [ "$SECONDS" -ge "$end" ]; then
            kill -KILL "$pid" 2>/dev/null || true
            # One that hangs in the kernel is named by who called us.
            [ "$SECONDS" -lt $((end + 5)) ] || return 1
        fi
        sleep 0.1
    done
}
