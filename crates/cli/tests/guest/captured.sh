# 32 threads write to a drive in memory, buffered and directly, while they are recorded: the drive's own count of
# what it was told to write is set against the trace.
drive=/sys/kernel/config/nullb/nullb1
must mkdir $drive
for setting in memory_backed=1 size=1024 discard=1 submit_queues=2 power=1; do
    echo "${setting#*=}" >"$drive/${setting%=*}" || exit 1
done
await 10 test -b /dev/nullb1
must mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/nullb1
must mount -t ext4 -o discard /dev/nullb1 /mnt
sync
# The kernel's seventh figure of a device: sectors written.
written() { awk '{ print $7 * 512 }' /sys/block/nullb1/stat; }
cat >/tmp/load <<'LOAD'
fio --directory=/mnt --thread --numjobs=32 --rw=randwrite --group_reporting --invalidate=0 "$@" \
    --name=direct --direct=1 --bsrange=4k-64k --filesize=1M --io_size="$WRITTEN" \
    --name=buffered --stonewall --direct=0 --bs=4k --filesize=1M --io_size="$WRITTEN" --fsync=16
sync
LOAD
section kernel uname -r
section kprobes test -e /sys/bus/event_source/devices/kprobe
section before written
section record anabranch record --device /dev/nullb1 --output /tmp/trace.parquet env WRITTEN="$WRITTEN" sh /tmp/load
section after written
section contexts anabranch contexts /tmp/trace.parquet --json
must umount /mnt
