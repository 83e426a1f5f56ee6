# The target is killed under load and started again: nothing that was flushed is lost.
connect --reconnect-delay=1 --keep-alive-tmo=5 --ctrl-loss-tmo=120
write() {
    fio --name="$1" --filename=/dev/nvme0n1 --ioengine=io_uring --direct=1 --rw=randwrite --bs=16k --iodepth=8 --offset="$2" --size=16M \
        --randseed="$3" --verify=crc32c --do_verify="$4" --end_fsync=1 --verify_state_save=0 --verify_fatal=1
}
must write flushed 0 11 0
# Under load, killed in the midst of it; the kernel connects anew and sends again what had no answer.
fio --name=load --filename=/dev/nvme0n1 --ioengine=io_uring --direct=1 --rw=randwrite --bs=16k --iodepth=8 --offset=16M --size=16M \
    --io_size="$WRITTEN" --norandommap --verify=crc32c --fsync=32 >/tmp/load 2>&1 &
job=$!
sleep 2
ask kill
wait $job
status=$?
section load sh -c "cat /tmp/load; exit $status"
# Only the verification of what was flushed before: the same seed, nothing written.
section flushed fio --name=flushed --filename=/dev/nvme0n1 --ioengine=io_uring --direct=1 --rw=randread --bs=16k --iodepth=8 --size=16M \
    --verify=crc32c --verify_only=1 --randseed=11 --verify_fatal=1
section smart nvme smart-log /dev/nvme0 -o json
disconnect
