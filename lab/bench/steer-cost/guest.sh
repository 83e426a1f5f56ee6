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
        --number_ios="$1" --randrepeat=1 --norandommap --random_generator=lfsr --minimal >/tmp/fio 2>&1 || { cat /tmp/fio; exit 1; }
}
measure() {
    if [ -z "$IOPS" ]; then
        count "$1" "$WRITES" "$2"
        return
    fi
    load "$((WRITES / 4))" "$2"
    load "$WRITES" "$2"
    # Of fio's terse line, version 3: what it wrote a second.
    echo "@iops $1 $(cut -d ';' -f 49 /tmp/fio)"
}
shadow=off
steered() {
    name=$1
    shift
    steer "$@" --shadow "$shadow" --queues 1
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
    # A host that collects needs the models: beside them, what its own model and its locks cost.
    shadow=on
    steered models --scheme anabranch --yes
    steered collects --scheme anabranch --yes --collect host --spare 7%
    shadow=off
done
disconnect
[ -z "$COUNT" ] || grep -v '__pfx_' /proc/kallsyms | sed -n 's/^[0-9a-f]* [tT] /@symbol all &/p'
