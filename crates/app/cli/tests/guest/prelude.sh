# What all scripts in the guest begin with. PORT and NQN are set before.

# The kernel's nvme-tcp sends from within the writer's own call: where the target is gone, that
# raises SIGPIPE in whoever writes to the drive, and fio would die of it.
trap '' PIPE

# A guest's clock goes on while the machine has no processor for it: who waits for 120 s of that clock has not hung yet.
# What does hang for good is still told, and no script is waited for without end.
echo 600 >/proc/sys/kernel/hung_task_timeout_secs

# A step that must succeed: its output is shown if it does not, and the script ends.
must() {
    "$@" >/tmp/must 2>&1 && return
    echo "FAIL: $* (status $?)"
    cat /tmp/must
    dmesg | tail -n 20
    exit 1
}

# A step whose output and status the test looks at.
section() {
    echo "@begin $1"
    shift
    "$@" 2>&1
    printf '\n@end %s\n' $?
}

# The same for a step that prints bytes: as hexadecimal numbers.
raw_section() {
    echo "@begin $1"
    shift
    "$@" >/tmp/raw 2>/tmp/raw_error
    status=$?
    if [ $status = 0 ]; then od -An -v -tx1 /tmp/raw; else cat /tmp/raw_error /tmp/raw; fi
    printf '\n@end %s\n' $status
}

# Asks the test for something and waits until it is done.
ask() {
    echo "@ask $*"
    read -r answer
}

# Waits until a command succeeds, so many seconds.
await() {
    seconds=$1
    shift
    for _ in $(seq $((seconds * 10))); do
        "$@" >/dev/null 2>&1 && return
        usleep 100000
    done
    echo "FAIL: not within $seconds s: $*"
    dmesg | tail -n 20
    exit 1
}

# Waits until a server has written a word: seconds, the word, the file it writes to, its process, and what it is called. One that
# ends before is not waited for.
await_word() {
    for _ in $(seq $(($1 * 10))); do
        grep -q "$2" "$3" && return
        test -e "/proc/$4" || break
        usleep 100000
    done
    grep -q "$2" "$3" && return
    echo "FAIL: $5: $(cat "$3")"
    if test -e "/proc/$4"; then
        echo "after $1 s it still waits in $(cat "/proc/$4/wchan" "/proc/$4/stat")"
    else
        wait "$4"
        echo "it has ended with $?"
    fi
    dmesg | tail -n 30
    exit 1
}

# The command, where a test brings it.
anabranch() { /job/ld-linux-x86-64.so.2 --library-path /job /job/anabranch "$@"; }

host_name=nqn.2014-08.org.nvmexpress:uuid:2cd2c43b-a90a-45c1-a8cd-86b33ab273b5
host_identifier=2cd2c43b-a90a-45c1-a8cd-86b33ab273b5

# Where no PORT is set, the drive is the machine's own.
connect() {
    [ -z "$PORT" ] || must nvme connect -t tcp -a 10.0.2.2 -s "$PORT" -n "$NQN" -q "$host_name" -I "$host_identifier" "$@"
    await 10 test -b /dev/nvme0n1
    await 10 test -c /dev/ng0n1
}

disconnect() {
    [ -n "$PORT" ] || return 0
    must nvme disconnect -n "$NQN"
    await 10 test ! -e /dev/nvme0n1
}
