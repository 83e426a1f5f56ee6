# Random writes with sums, with both digests, while the connection is cut again and again.
connect --hdr-digest --data-digest --nr-io-queues=2 --reconnect-delay=1 --keep-alive-tmo=5
verify() {
    fio --name=verify --filename=/dev/nvme0n1 --ioengine=io_uring --direct=1 --rw=randrw --rwmixread=30 --bsrange=4k-128k \
        --iodepth=16 --size="$SIZE" --io_size="$WRITTEN" --verify=crc32c --verify_fatal=1 --randseed="$1" --group_reporting
}
section whole verify 1

# A reset takes the connections away in mid-write; the kernel sends again what was under way.
verify 2 >/tmp/verify 2>&1 &
job=$!
for _ in $(seq "$CUTS"); do
    sleep 1
    nvme reset /dev/nvme0
done
wait $job
status=$?
section cut sh -c "cat /tmp/verify; exit $status"

# Disconnected altogether in mid-write: what is there afterwards can be read, and written anew.
fio --name=lost --filename=/dev/nvme0n1 --ioengine=io_uring --direct=1 --rw=randwrite --bs=64k --iodepth=16 --size="$SIZE" \
    --time_based --runtime=30 >/tmp/lost 2>&1 &
job=$!
sleep 2
disconnect
wait $job
connect --nr-io-queues=1
must dd if=/dev/nvme0n1 of=/dev/null bs=1M count=32 iflag=direct
section again verify 3
section wide fio --name=wide --filename=/dev/nvme0n1 --ioengine=psync --direct=1 --rw=write --bs=1M --size=16M --verify=crc32c
must blkdiscard -o 0 -l 16777216 /dev/nvme0n1
section discarded sh -c 'dd if=/dev/nvme0n1 bs=1M count=16 iflag=direct 2>/dev/null | tr -d "\\000" | wc -c'
disconnect
