# What scripts of secured drives begin with, behind the prelude.
ours="-q $host_name -I $host_identifier"

try() {
    port=$1
    shift
    nvme connect -t tcp -a 10.0.2.2 -s "$port" -n "$NQN" "$@"
}

# Connects, writes and reads back what was written, and goes.
works() {
    try "$@" || return
    await 10 test -b /dev/nvme0n1
    fio --name=work --filename=/dev/nvme0n1 --ioengine=io_uring --direct=1 --rw=randwrite --bsrange=4k-128k --iodepth=8 --size="$SIZE" \
        --verify=crc32c --verify_fatal=1 || return
    disconnect
}

# A host that is refused is left with nothing.
gone() {
    try "$@"
    status=$?
    [ ! -e /dev/nvme0n1 ] || { echo "a drive is there"; disconnect; }
    return $status
}
