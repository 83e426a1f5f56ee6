# The host collects: a file system's verified writes beside discards, then a server killed under the same load.
connect --nr-io-queues=1
collects() { steer --scheme "$SCHEME" --collect host --spare "$SPARE" --unwatched --json --metrics 127.0.0.1:9470 "$@"; }
# Overwrites of a few files, most of them of the same pages; each is read back and compared.
load() {
    fio --name="$1" --directory=/mnt --rw=randwrite --bs=4k --size="$SIZE" --io_size="$2" --numjobs=2 --direct=1 --ioengine=io_uring \
        --iodepth=4 --random_distribution=zipf:0.8 --verify=crc32c --verify_fatal=1 --verify_state_save=0 --norandommap --fallocate=none --group_reporting
}
# Files come and go, and what they held is discarded.
comes_and_goes() {
    while [ ! -e /tmp/enough ]; do
        dd if=/dev/zero of=/mnt/goes bs=64k count=8 oflag=direct 2>/dev/null
        rm -f /mnt/goes
        fstrim /mnt
        usleep 300000
    done
}
# Nobody told the spare: the host half steers, and the reason is told.
steer --scheme "$SCHEME" --collect host --unwatched
section untold cat /tmp/steer_error
unsteer
collects --models /tmp/models
must mkfs.ext4 -q -m 0 /dev/ublkb0
must mount -o discard /dev/ublkb0 /mnt
comes_and_goes &
other=$!
section load load first "$WRITTEN"
touch /tmp/enough
wait $other
anabranch top | cat >/tmp/top
must umount /mnt
section checked e2fsck -fn /dev/ublkb0
unsteer
section top cat /tmp/top
section steered cat /tmp/steered
section log nvme fdp stats /dev/nvme0 -e 1 -o json
# The model goes on where it ended, unless somebody has written meanwhile.
collects --yes --models /tmp/models
unsteer
section steered-kept cat /tmp/steered
must dd if=/dev/nvme0n1 of=/dev/nvme0n1 bs=4k count=1 conv=notrunc oflag=direct
collects --yes --models /tmp/models
must mount -o discard /dev/ublkb0 /mnt
rm -f /mnt/first.* /tmp/enough
comes_and_goes &
other=$!
load second "$KILLED" >/tmp/load 2>&1 &
load=$!
for _ in $(seq "$KILLS"); do
    usleep 2000000
    kill -9 $server
    collects
    grep -q 'going on with' /tmp/steer_error || { echo "FAIL: $(cat /tmp/steer_error)"; exit 1; }
done
wait $load
loaded=$?
section load-killed sh -c "cat /tmp/load; exit $loaded"
touch /tmp/enough
wait $other
must umount /mnt
section checked-killed e2fsck -fn /dev/ublkb0
unsteer
section steered-killed cat /tmp/steered
section kernel sh -c "dmesg | grep -E 'I/O error|EXT4-fs error|Buffer I/O|hung'; true"
disconnect
