# Latencies of writes to a steered drive that has to collect: by the drive, or by the host.
# Two writers of one half of the drive each: one its pages by turns, one mostly the same few.
load() {
    fio --filename=/dev/ublkb0 --bs=4k --direct=1 --ioengine=io_uring --iodepth="$DEPTH" --randrepeat=1 --norandommap --rate_iops="$RATE" \
        --minimal --percentile_list=50:99:99.9:99.99 --name=turns --rw=randwrite --size=45% --io_size="$1" \
        --name=few --rw=randwrite --random_distribution=zipf:1.1 --offset=45% --size=45% --io_size="$1" >/tmp/fio 2>&1 || { cat /tmp/fio; exit 1; }
}
measured() {
    name=$1 scheme=$2
    shift 2
    must nvme format /dev/nvme0n1 -s 1 -f
    steer --scheme "$scheme" --unwatched --yes --json "$@"
    # As mkfs does: the host collects once it knows of each page.
    must blkdiscard /dev/ublkb0
    must fio --filename=/dev/ublkb0 --bs=64k --direct=1 --name=fill --rw=write --size=90%
    load "$WARMING"
    load "$WRITTEN"
    # Of each line of fio's terse form, version 3: writes a second, and the percentiles of their latency in microseconds.
    sed "s/^/@latency $name;/" /tmp/fio
    unsteer
    echo "@report $name $(tr -d '\n' </tmp/steered)"
}
connect --nr-io-queues=1 --keep-alive-tmo=600
for _ in $(seq "$ROUNDS"); do
    measured drive anabranch
    measured host anabranch:host-collects=always --collect host --spare "$SPARE"
done
disconnect
