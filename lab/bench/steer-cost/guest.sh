# Instructions of writes: raw, on a ublk device that only passes on, and steered.
[ -z "$PORT" ] || must nvme connect -t tcp -a 10.0.2.2 -s "$PORT" -n "$NQN" -q "$host_name" -I "$host_identifier" -i 1 -k 600
await 60 test -b /dev/nvme0n1
await 60 test -c /dev/ng0n1
[ -n "$IOPS" ] || {
    calibrate
    echo "@writes $((WRITES - WRITES / 4))"
}
load() {
    fio --name=w --filename="$2" --rw=randwrite --bs="$BLOCK" --direct=1 --ioengine=io_uring --iodepth="$DEPTH" --size=128M --io_size=1T \
        --number_ios="$1" --randrepeat=1 --norandommap --random_generator=lfsr --minimal --percentile_list=1:25:40:50:75:90:99 >/tmp/fio 2>&1 || { cat /tmp/fio; exit 1; }
}
# Context switches so far: of the server's threads, and of the whole guest.
switches() {
    own=$(cat /proc/"${server:-none}"/task/*/status 2>/dev/null | awk '/ctxt_switches/ { sum += $2 } END { print sum + 0 }')
    echo "$own $(sed -n 's/^ctxt //p' /proc/stat)"
}
# io_uring_enter by the server's queue, a write: counted in a load of its own, since counting costs time.
enters() {
    queue=$(grep -l '^steer-.*-0$' /proc/"${server:-none}"/task/*/comm 2>/dev/null | cut -d / -f 5)
    calls=/tmp/tracing/events/syscalls/sys_enter_io_uring_enter
    echo "common_pid == ${queue:-0}" >$calls/filter
    echo >/tmp/tracing/trace
    echo 1 >$calls/enable
    load "$((WRITES / 4))" "$1"
    echo 0 >$calls/enable
    awk -v writes=$((WRITES / 4)) '/^(entries|overrun):/ { sum += $2 } END { printf "%.2f", sum / writes }' /tmp/tracing/per_cpu/cpu*/stats
}
measure() {
    if [ -z "$IOPS" ]; then
        count "$1" "$WRITES" "$2"
        return
    fi
    entered=$(enters "$2")
    # shellcheck disable=SC2046 # words
    set -- "$1" "$2" $(switches)
    load "$WRITES" "$2"
    # shellcheck disable=SC2046 # words
    set -- "$@" $(switches)
    # Of fio's terse line, version 3: what it wrote a second, and microseconds of a write in the mean and in the median.
    awk -F ';' -v kind="$1" -v own=$(($5 - $3)) -v all=$(($6 - $4)) -v writes="$WRITES" -v entered="$entered" \
        '{ sub(/.*=/, "", $62); printf "@iops %s %s %s %s %s %.2f %.2f\n", kind, $49, $81, $62, entered, own / writes, all / writes }' /tmp/fio
}
shadow=off
steered() {
    name=$1
    shift
    case " ${KINDS:-$name} " in *" $name "*) ;; *) return 0 ;; esac
    steer "$@" --shadow "$shadow" --queues 1
    measure "$name" /dev/ublkb0
    # The programs that the kernel has compiled are among its functions while they are there.
    [ -z "$COUNT" ] || { echo "@symbol $name 0 t -"; grep '\[bpf\]$' /proc/kallsyms | sed "s/^/@symbol $name /"; }
    unsteer
    server=
}
[ -z "$IOPS" ] || { must mkdir -p /tmp/tracing && must mount -t tracefs none /tmp/tracing; }
must mkdir -p /tmp/groups
must mount -t cgroup2 none /tmp/groups
for _ in $(seq "$ROUNDS"); do
    measure raw /dev/nvme0n1
    steered ublk --scheme baseline --yes --unwatched
    steered contexts --scheme baseline --yes
    steered tenants --scheme baseline --yes --tenant nobody
    steered anabranch --scheme anabranch --yes
    # A host that collects needs the models: beside them, what its own model and its locks cost.
    shadow=on
    steered models --scheme anabranch --yes
    steered collects --scheme anabranch --yes --collect host --spare 7%
    shadow=off
done
disconnect
[ -z "$COUNT" ] || grep -v '__pfx_' /proc/kallsyms | sed -n 's/^[0-9a-f]* [tT] /@symbol all &/p'
