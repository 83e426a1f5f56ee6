# What scripts that steer a drive begin with, behind the prelude.

# Starts a server, and waits for its block device.
steer() {
    : >/tmp/steer_error
    /job/ld-linux-x86-64.so.2 --library-path /job /job/anabranch steer --device "${DRIVE:-/dev/ng0n1}" "$@" >/tmp/steered 2>/tmp/steer_error &
    server=$!
    for _ in $(seq 300); do
        grep -q ublkb0 /tmp/steer_error && return
        test -e /proc/$server || break
        usleep 100000
    done
    echo "FAIL: no server: $(cat /tmp/steer_error)"
    dmesg | tail -n 30
    exit 1
}

# Ends it, and waits for that.
unsteer() {
    : >/tmp/steer_error
    kill -INT $server
    wait $server
    status=$?
    [ $status = 0 ] && [ ! -e /dev/ublkb0 ] && return
    echo "FAIL: the server ended with $status: $(cat /tmp/steer_error)"
    exit 1
}
