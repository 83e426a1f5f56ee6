# What scripts that steer a drive begin with, behind the prelude.

# Starts a server, and waits for its block device.
steer() {
    : >/tmp/steer_error
    /job/ld-linux-x86-64.so.2 --library-path /job /job/anabranch steer --device "${DRIVE:-/dev/ng0n1}" "$@" >/tmp/steered 2>/tmp/steer_error &
    server=$!
    await_word 90 ublkb0 /tmp/steer_error $server 'no server'
}

# A server of its own for one of several drives: a number for its files, the drive, and options.
serve_one() {
    number=$1
    drive=$2
    shift 2
    : >"/tmp/error-$number"
    /job/ld-linux-x86-64.so.2 --library-path /job /job/anabranch steer --device "$drive" --json --shadow off "$@" \
        >"/tmp/steered-$number" 2>"/tmp/error-$number" &
    last=$!
    await_word 90 ublkb "/tmp/error-$number" $last 'no server'
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

# An ext4 file system, made through a server of its own; then the rooms of the handles.
formatted() {
    steer --scheme baseline --shadow off
    must mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/ublkb0
    unsteer
    section rooms-before nvme fdp status /dev/nvme0n1 -o json
}

# Steers by who writes.
steer_by_writer() { steer --scheme pcstream-fcfs:samples=0 --shadow off --json "$@"; }

# The same on a drive with a new file system; writers are kept while no server is there.
formatted_by_writer() {
    connect
    must mount -t bpf bpf /sys/fs/bpf
    formatted
    steer_by_writer --yes
}

# The file system is unmounted, the server ends; what it and the drive counted.
counted() {
    must umount /mnt
    kill -INT $server
    wait $server
    section ended sh -c "cat /tmp/steer_error; exit $?"
    section counters cat /tmp/steered
    section rooms-after nvme fdp status /dev/nvme0n1 -o json
    section checked e2fsck -fn /dev/nvme0n1
}
