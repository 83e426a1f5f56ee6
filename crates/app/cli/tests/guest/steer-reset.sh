# The drive is reset under load, as a controller and as a subsystem: who writes waits, and has no error.
connect
# shellcheck disable=SC2086 # words
steer $OPTIONS
must mkfs.ext4 -q /dev/ublkb0
must mount /dev/ublkb0 /mnt
fio --name=load --directory=/mnt --rw=randwrite --bs=16k --size=8M --io_size="$WRITTEN" --numjobs=2 --direct=1 --ioengine=io_uring --iodepth=8 \
    --verify=crc32c --verify_fatal=1 --verify_state_save=0 --norandommap --fsync=64 --fallocate=none --group_reporting >/tmp/load 2>&1 &
load=$!
for how in $RESETS; do
    usleep 1500000
    test -e /proc/$load || { echo "FAIL: the load had ended before $how: $(cat /tmp/load)"; exit 1; }
    must nvme "$how" /dev/nvme0
    # Reconnected.
    await 90 grep -q live /sys/class/nvme/nvme0/state
done
wait $load
loaded=$?
section load sh -c "cat /tmp/load; exit $loaded"
must umount /mnt
section checked e2fsck -fn /dev/ublkb0
kill -INT $server
wait $server
section ended sh -c "cat /tmp/steer_error; exit $?"
section counters cat /tmp/steered
section kernel sh -c "dmesg | grep -E 'I/O error|EXT4-fs error|Buffer I/O|hung|error, dev ublk'; true"
disconnect
