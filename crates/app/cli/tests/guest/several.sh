# Two namespaces of a drive, each with handles of its own, steered at once by a server each, under load on both.
connect
await 10 test -b /dev/nvme0n2
# The kernel numbers namespaces as it finds them.
section number cat /sys/block/nvme0n1/nsid
serve_one 1 /dev/ng0n1 --scheme dac
first=$last
serve_one 2 /dev/ng0n2 --scheme dac
other=$last
loaded() {
    must mkfs.ext4 -q "/dev/ublkb$1"
    mkdir "/tmp/place-$1"
    must mount "/dev/ublkb$1" "/tmp/place-$1"
    fio --name=load --directory="/tmp/place-$1" --rw=randwrite --bs=16k --size=8M --io_size="$2" --numjobs=2 --direct=1 --ioengine=io_uring \
        --iodepth=8 --verify=crc32c --verify_fatal=1 --verify_state_save=0 --group_reporting >"/tmp/fio-$1" 2>&1
    echo $? >"/tmp/status-$1"
    must umount "/tmp/place-$1"
}
loaded 0 "$AMOUNT" &
one=$!
loaded 1 "$AMOUNT" &
two=$!
wait $one $two
section load-0 sh -c 'cat /tmp/fio-0; exit $(cat /tmp/status-0)'
section load-1 sh -c 'cat /tmp/fio-1; exit $(cat /tmp/status-1)'
kill -INT $first $other
wait $first $other
section steered-1 cat /tmp/steered-1
section steered-2 cat /tmp/steered-2
section checked-1 e2fsck -fn /dev/nvme0n1
section checked-2 e2fsck -fn /dev/nvme0n2
disconnect
