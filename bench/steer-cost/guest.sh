# Instructions of writes: raw, on a ublk device that only passes on, and steered. Each instruction takes a nanosecond here,
# and the one processor is never idle: what is not the spinner's turns is work.
[ -z "$PORT" ] || must nvme connect -t tcp -a 10.0.2.2 -s "$PORT" -n "$NQN" -q "$host_name" -I "$host_identifier" -i 1 -k 600
await 60 test -b /dev/nvme0n1
await 60 test -c /dev/ng0n1
look() { /job/spin read /tmp/turns; }
calibrated() {
    /job/spin count /tmp/turns &
    sleep 1
    # shellcheck disable=SC2046 # words
    set -- $(look); from_ns=$1; from=$2
    sleep 2
    # shellcheck disable=SC2046 # words
    set -- $(look)
    turn=$(awk "BEGIN { print ($1 - $from_ns) / ($2 - $from) }")
    echo "@turn $turn"
    echo "@writes $((WRITES - WRITES / 4))"
}
[ -n "$IOPS" ] || calibrated
write() {
    fio --name=w --filename="$1" --rw=randwrite --bs="$BLOCK" --direct=1 --ioengine=io_uring --iodepth="$DEPTH" --size=128M --io_size=1T \
        --number_ios="$2" --randrepeat=1 --norandommap --random_generator=lfsr --minimal >/tmp/fio 2>&1 || { cat /tmp/fio; exit 1; }
}
# The difference of two lengths of the same load: what begins and ends it is not counted.
measure() {
    write "$2" "$((WRITES / 4))"
    if [ -n "$IOPS" ]; then
        write "$2" "$WRITES"
        # Of fio's terse line, version 3: what it wrote a second.
        echo "@iops $1 $(cut -d ';' -f 49 /tmp/fio)"
        return
    fi
    # shellcheck disable=SC2046 # words
    set -- "$1" "$2" $(look)
    write "$2" "$WRITES"
    # shellcheck disable=SC2046 # words
    set -- "$@" $(look)
    write "$2" "$((WRITES / 4))"
    # shellcheck disable=SC2046 # words
    set -- "$@" $(look)
    awk "BEGIN { turn = $turn; long = $5 - $3 - ($6 - $4) * turn; short = $7 - $5 - ($8 - $6) * turn
        printf \"@cost $1 %.0f\n\", (long - short) / ($WRITES - int($WRITES / 4)) }"
}
steered() {
    name=$1
    shift
    steer "$@" --shadow off --queues 1
    measure "$name" /dev/ublkb0
    # The programs that the kernel has compiled are among its functions while they are there.
    [ -z "$COUNT" ] || { echo "@symbol $name 0 t -"; grep '\[bpf\]$' /proc/kallsyms | sed "s/^/@symbol $name /"; }
    unsteer
}
must mkdir -p /tmp/groups
must mount -t cgroup2 none /tmp/groups
for _ in $(seq "$ROUNDS"); do
    measure raw /dev/nvme0n1
    steered ublk --scheme baseline --yes --unwatched
    steered contexts --scheme baseline --yes
    steered tenants --scheme baseline --yes --tenant nobody
    steered anabranch --scheme anabranch --yes
done
disconnect
[ -z "$COUNT" ] || grep -v '__pfx_' /proc/kallsyms | sed -n 's/^[0-9a-f]* [tT] /@symbol all &/p'
