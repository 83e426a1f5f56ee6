# A server killed under load, and taken over.
connect
killed() {
    mode=$1
    shift
    must mount /dev/ublkb0 /mnt
    fio --name="$mode" --directory=/mnt --rw=randwrite --bs=16k --size=8M --io_size="$WRITTEN" --numjobs=2 --direct=1 --ioengine=io_uring --iodepth=8 \
        --verify=crc32c --verify_fatal=1 --verify_state_save=0 --norandommap --fsync=64 --fallocate=none --group_reporting --output-format=json >/tmp/load 2>&1 &
    load=$!
    for _ in $(seq "$KILLS"); do
        usleep 1500000
        kill -9 $server
        steer "$@"
        grep -q 'going on with' /tmp/steer_error || { echo "FAIL: $(cat /tmp/steer_error)"; exit 1; }
    done
    wait $load
    loaded=$?
    section "load-$mode" sh -c "cat /tmp/load; exit $loaded"
    # Killed with nobody there, too: who comes meanwhile waits.
    kill -9 $server
    dd if=/dev/zero of=/mnt/waits bs=64k count=16 oflag=direct 2>/dev/null &
    waits=$!
    usleep 500000
    steer "$@"
    section "waited-$mode" wait $waits
    # Asked twice, it leaves at once, and what is mounted stays so.
    kill -INT $server
    await 20 grep -q 'is in use' /tmp/steer_error
    kill -INT $server
    wait $server
    section "left-$mode" test $? = 130
    steer "$@"
    rm -f /mnt/*."$mode".* /mnt/"$mode".*
    must umount /mnt
    section "checked-$mode" e2fsck -fn /dev/ublkb0
    unsteer
}
steer --scheme autostream-sfr --shadow off
must mkfs.ext4 -q /dev/ublkb0
killed lent --scheme autostream-sfr --shadow off
steer --scheme autostream-sfr --shadow off --copy --yes
killed copied --scheme autostream-sfr --shadow off
section kernel sh -c "dmesg | grep -E 'I/O error|EXT4-fs error|Buffer I/O|hung'; true"
disconnect
