# Call paths of one program, and two calls of another without frame pointers, on a file system that was made before;
# afterwards everything is read back from the bare drive.
formatted_by_writer
# Where something is removed, ext4 gives up what is free in its group of blocks.
must mount -o discard /dev/ublkb0 /mnt
# shellcheck disable=SC2086 # words
must /job/paths /mnt $PATHS
must xfs_io -f -c 'pwrite -q -b 64k -S 1 0 12m' /mnt/plain
must xfs_io -f -c 'pwrite -q -V 4 -b 64k -S 2 0 20m' /mnt/wide
# Emulated, it takes longer to look at a program than a request waits for that.
usleep 500000
must sync
must dd if=/dev/zero of=/mnt/gone bs=1M count=8 conv=fsync
must sync
# What was discarded before, and once the file system had the time for it.
section discards-before cat /sys/block/ublkb0/stat
must rm /mnt/gone
must sync
# All are there when some are, and no more have come for two seconds.
discarded() { set -- $(cat /sys/block/ublkb0/stat); echo "${14}"; }
for _ in $(seq 30); do
    seen=$(discarded)
    usleep 2000000
    [ "$seen" -gt 0 ] && [ "$seen" = "$(discarded)" ] && break
done
section discards-after cat /sys/block/ublkb0/stat
counted
section statistics nvme fdp stats /dev/nvme0 -e 1 -o json
must mount -o ro /dev/nvme0n1 /mnt
section read sh -c "head -c 12582912 /mnt/plain | tr -d '\001' | wc -c; head -c 20971520 /mnt/wide | tr -d '\002' | wc -c"
must umount /mnt
disconnect
