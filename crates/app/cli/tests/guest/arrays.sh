# A mirror of two steered namespaces: a server is killed under it, a member fails, and another takes its place.
connect
await 10 test -b /dev/nvme0n2
modprobe raid1
must mount -t bpf bpf /sys/fs/bpf
# Of a namespace, by its number.
serve_namespace() { serve_one "$1" "/dev/ng0n$1" --yes --scheme "${2:-pcstream-fcfs:samples=0}"; }
serve_namespace 1
first=$last
serve_namespace 2
second=$last
must mdadm --create /dev/md0 --run --level=1 --raid-devices=2 --metadata=1.0 --assume-clean --bitmap=internal /dev/ublkb0 /dev/ublkb1
await 10 test -b /dev/md0
must mkfs.ext4 -q -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 /dev/md0
must mount /dev/md0 /mnt
must /job/paths /mnt direct:5 buffered:3

fio --name=load --directory=/mnt --rw=randwrite --bs=16k --size=8M --io_size="$AMOUNT" --direct=1 --ioengine=io_uring --iodepth=8 \
    --verify=crc32c --verify_fatal=1 --verify_state_save=0 --fallocate=none --output-format=json >/tmp/load 2>&1 &
load=$!
usleep 1500000
kill -9 $first
serve_namespace 1
first=$last
wait $load
loaded=$?
section load sh -c "cat /tmp/load; exit $loaded"
section both-work cat /proc/mdstat
section array-bytes blockdev --getsize64 /dev/md0

must mdadm /dev/md0 --fail /dev/ublkb1
must mdadm /dev/md0 --remove /dev/ublkb1
must /job/paths /mnt synced:4
kill -INT $second
wait $second
section let-go sh -c "cat /tmp/error-2; exit $?"
# Another drive in its place. What md's thread writes, which rebuilds, has a handle of its own by a rule.
must blkdiscard -f /dev/nvme0n2
printf '[[rule]]\nrole = "md_raid"\nstream = 2\n' >/tmp/rebuild.toml
serve_namespace 2 manual:rules=/tmp/rebuild.toml
second=$last
must mdadm /dev/md0 --add /dev/ublkb1
await 180 grep -q '\[UU\]' /proc/mdstat
must /job/paths /mnt mapped:7 direct:5
must sync
must umount /mnt
await 20 mdadm --stop /dev/md0
kill -INT $first $second
wait $first $second
section steered-1 cat /tmp/steered-1
section steered-2 cat /tmp/steered-2
for drive in 1 2; do
    section "checked-$drive" e2fsck -fn "/dev/nvme0n$drive"
    must mount -o ro "/dev/nvme0n$drive" /mnt
    section "sums-$drive" sh -c 'cd /mnt && md5sum load.0.0 direct buffered synced mapped'
    must umount /mnt
done
section kernel sh -c "dmesg | grep -E 'I/O error|EXT4-fs error|Buffer I/O|hung'; true"
disconnect
