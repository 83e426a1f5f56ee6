# More threads than processors, many files, and somebody else's calls about an eBPF map: who wrote each page?
connect
section kernel uname -r
steer_by_writer
must mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/ublkb0
must mount /dev/ublkb0 /mnt
/job/map-calls &
calls=$!
section load fio --directory=/mnt --thread --fallocate=none --size=1M --bsrange=4k-64k --rw=randwrite --loops="$LOOPS" --nrfiles=8 \
    --name=buffered --numjobs=16 --ioengine=psync --fsync=16 --end_fsync=1 \
    --name=direct --numjobs=16 --ioengine=io_uring --iodepth=8 --direct=1
kill $calls
must umount /mnt
kill -INT $server
wait $server
section crowd cat /tmp/steered
disconnect
