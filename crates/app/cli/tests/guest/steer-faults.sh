# A server killed again and again while it takes over; a drive that is reset; one that goes away and does not come back.
connect
OPTIONS="--scheme autostream-sfr --shadow off"
# shellcheck disable=SC2086 # words
steer $OPTIONS
must mkfs.ext4 -q /dev/ublkb0
must mount /dev/ublkb0 /mnt
fio --name=load --directory=/mnt --rw=randwrite --bs=16k --size=8M --io_size="$WRITTEN" --numjobs=2 --direct=1 --ioengine=io_uring --iodepth=8 \
    --verify=crc32c --verify_fatal=1 --verify_state_save=0 --norandommap --fsync=64 --fallocate=none --group_reporting >/tmp/load 2>&1 &
load=$!
usleep 1500000
kill -9 $server
# Each later than the one before: some before the recovery begins, some within it, some behind it.
for wait in 50000 150000 300000 500000 800000 1200000; do
    # shellcheck disable=SC2086 # words
    /job/ld-linux-x86-64.so.2 --library-path /job /job/anabranch steer --device /dev/ng0n1 $OPTIONS >/dev/null 2>&1 &
    server=$!
    usleep $wait
    kill -9 $server
    wait $server 2>/dev/null
done
# shellcheck disable=SC2086 # words
steer $OPTIONS
wait $load
loaded=$?
section load sh -c "cat /tmp/load; exit $loaded"
must umount /mnt
section checked e2fsck -fn /dev/ublkb0
section kernel sh -c "dmesg | grep -E 'I/O error|EXT4-fs error|Buffer I/O|hung'; true"

# Nobody uses it at the moment of the reset; what is written afterwards arrives.
must mount /dev/ublkb0 /mnt
must nvme reset /dev/nvme0
dd if=/dev/zero of=/mnt/after bs=64k count=16 oflag=direct 2>/dev/null || true
sleep 1
section after-reset dd if=/dev/zero of=/mnt/after bs=64k count=16 conv=fsync

# Gone while it is written to: errors, and nobody waits for ever.
dd if=/dev/zero of=/mnt/goes bs=64k count=4096 oflag=direct >/tmp/goes 2>&1 &
goes=$!
usleep 300000
must nvme disconnect -n "$NQN"
wait $goes
section gone sh -c "cat /tmp/goes; exit $?"
umount /mnt
kill -INT $server
for _ in $(seq 300); do test -e /proc/$server || break; usleep 100000; done
section ended sh -c "cat /tmp/steer_error; ! test -e /proc/$server"
section nothing-left test ! -e /dev/ublkb0
