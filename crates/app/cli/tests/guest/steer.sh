# A file system on a steered drive; what its writes come to. OPTIONS are the server's.
connect
section host anabranch doctor --json
section nothing-there anabranch steer --device /dev/null
# shellcheck disable=SC2086 # words
steer $OPTIONS
section twice anabranch steer --device /dev/ng0n1
# A drive that is steered is nobody else's.
section taken mkfs.ext4 -q /dev/nvme0n1

# Not a multiple of anything, written and overwritten, with many writers at once.
verified() {
    name=$1
    shift
    section "$name" fio --name="$name" --direct=1 --ioengine=io_uring --iodepth=16 --verify=crc32c --verify_fatal=1 --verify_state_save=0 "$@"
}
verified bare --filename=/dev/ublkb0 --rw=randwrite --bsrange=4k-300k --size=24M --norandommap --io_size=40M
verified hot --filename=/dev/ublkb0 --rw=randwrite --bs=4k --offset=32M --size=1M --loops=6

must mkfs.ext4 -q /dev/ublkb0
must mount /dev/ublkb0 /mnt
verified files --directory=/mnt --rw=randwrite --bs=16k --size=8M --numjobs=3 --fallocate=none
verified buffered --directory=/mnt --rw=write --bs=7k --size=6M --direct=0 --ioengine=psync --fsync=64
dd if=/dev/urandom of=/mnt/kept bs=64k count=80 2>/dev/null
rm /mnt/files.*
must fstrim /mnt
sync
must cp /mnt/kept /tmp/kept
if [ -n "$RESET" ]; then
    # A controller reset makes a drive forget its streams.
    must nvme reset /dev/nvme0
    dd if=/dev/zero of=/mnt/after bs=64k count=32 oflag=direct 2>/tmp/reset
    sleep 1
    dd if=/dev/zero of=/mnt/after bs=64k count=32 oflag=direct conv=notrunc 2>>/tmp/reset
    section after-reset cmp -n 2097152 /mnt/after /dev/zero
fi

# While it is mounted, it does not end.
kill -INT $server
await 20 grep -q 'is in use' /tmp/steer_error
must dd if=/dev/zero of=/mnt/more bs=64k count=16 conv=fsync
must umount /mnt
wait $server
section ended sh -c "cat /tmp/steer_error; exit $?"
section counters cat /tmp/steered

# What was written is on the drive itself, where it was written.
section checked e2fsck -fn /dev/nvme0n1
must mount -o ro /dev/nvme0n1 /mnt
section same cmp /mnt/kept /tmp/kept
section mounted anabranch steer --device /dev/ng0n1 --yes
must umount /mnt
section holds anabranch steer --device /dev/ng0n1
# shellcheck disable=SC2086 # words
steer $OPTIONS --yes
must mount /dev/ublkb0 /mnt
section again cmp /mnt/kept /tmp/kept
must umount /mnt
unsteer
section counters-again cat /tmp/steered
section kernel sh -c "dmesg | grep -E 'I/O error|EXT4-fs error|Buffer I/O|hung'; true"
disconnect
