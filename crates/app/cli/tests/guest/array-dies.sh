# A mirror of two steered drives, of which one is gone under load; then a drive takes its place.
connect
other() {
    must nvme connect -t tcp -a 10.0.2.2 -s "$OTHER_PORT" -n "$OTHER" -q "$host_name" -I "$host_identifier"
    await 10 test -b /dev/nvme1n1
    await 10 test -c /dev/ng1n1
}
other
modprobe raid1
must mount -t bpf bpf /sys/fs/bpf
# Of a drive, by its number.
serve_drive() { serve_one "$1" "/dev/ng$1n1" --yes --scheme pcstream-fcfs:samples=0; }
serve_drive 0
first=$last
serve_drive 1
second=$last
must mdadm --create /dev/md0 --run --level=1 --raid-devices=2 --metadata=1.0 --assume-clean --bitmap=internal /dev/ublkb0 /dev/ublkb1
await 10 test -b /dev/md0
must mkfs.ext4 -q -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 /dev/md0
must mount /dev/md0 /mnt

fio --name=load --directory=/mnt --rw=randwrite --bs=16k --size=8M --io_size="$AMOUNT" --direct=1 --ioengine=io_uring --iodepth=8 \
    --verify=crc32c --verify_fatal=1 --verify_state_save=0 --fallocate=none --output-format=json >/tmp/load 2>&1 &
load=$!
usleep 1500000
must nvme disconnect -n "$OTHER"
wait $load
loaded=$?
section load sh -c "cat /tmp/load; exit $loaded"
must /job/paths /mnt direct:5 buffered:3
must sync
section degraded cat /proc/mdstat
must mdadm /dev/md0 --remove failed
kill -INT $second
wait $second
section let-go sh -c "cat /tmp/error-1; exit $?"
section nodes ls /dev

other
must blkdiscard -f /dev/nvme1n1
serve_drive 1
second=$last
must mdadm /dev/md0 --add /dev/ublkb1
await 180 grep -q '\[UU\]' /proc/mdstat
must /job/paths /mnt mapped:7
must sync
must umount /mnt
await 20 mdadm --stop /dev/md0
kill -INT $first $second
wait $first $second
for drive in 0 1; do
    section "checked-$drive" e2fsck -fn "/dev/nvme${drive}n1"
    must mount -o ro "/dev/nvme${drive}n1" /mnt
    section "sums-$drive" sh -c 'cd /mnt && md5sum load.0.0 direct buffered mapped'
    must umount /mnt
done
must nvme disconnect -n "$OTHER"
disconnect
