# Many threads at once, more than there are processors: what the drive counts, and what was recorded of it.
connect
written() { nvme fdp stats /dev/nvme0 -e 1 -o json; }
must mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/nvme0n1
sync
cat >/tmp/load <<'LOAD'
# The recorder's own words are JSON.
exec >/tmp/words 2>&1
set -e
mount /dev/nvme0n1 /mnt
fio --directory=/mnt --thread --fallocate=none --size=2M --bsrange=4k-64k --rw=randwrite --loops="$LOOPS" \
    --name=buffered --numjobs=16 --ioengine=psync --fsync=16 --end_fsync=1 \
    --name=direct --numjobs=16 --ioengine=io_uring --iodepth=8 --direct=1
sync
umount /mnt
LOAD
export LOOPS
section kernel uname -r
section before written
section recorded anabranch -q record --device /dev/nvme0n1 -o /tmp/trace.parquet --json -- sh /tmp/load
sync
section after written
section contexts anabranch -q contexts /tmp/trace.parquet --json
section fio cat /tmp/words
must mount /dev/nvme0n1 /mnt
section hooked anabranch -v record --device /dev/nvme0n1 -o /tmp/hints.parquet -- /job/asks /mnt
cat >/tmp/merges <<'MERGES'
dd if=/dev/zero of=/mnt/0-first bs=64k count=16
dd if=/mnt/0-first of=/mnt/1-second bs=64k
dd if=/mnt/1-second of=/mnt/2-third bs=64k
dd if=/dev/zero of=/mnt/index.lock bs=64k count=4 conv=fsync
mv /mnt/index.lock /mnt/index
sync
MERGES
section merged anabranch -q record --device /dev/nvme0n1 -o /tmp/merges.parquet -- sh /tmp/merges
umount /mnt
raw_section hints cat /tmp/hints.parquet
raw_section merges cat /tmp/merges.parquet
disconnect
