# A machine that steers is reset under load. Each record that was forced out is told to the test, which outlives the machine.
must mkfs.ext4 -q "$kept"
must mount "$kept" /tmp/kept
begin
must mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/ublkb0
must mount /dev/ublkb0 /mnt
# What dd writes dies, so its lifetime is learned; the next boot has no dd.
for _ in 1 2 3; do must dd if=/dev/zero of=/mnt/learned bs=64k count=64 conv=notrunc oflag=direct; done
must umount /mnt
unsteer
section learned cat /tmp/kept/lifetimes.json
must sync

begin --yes
must mount /dev/ublkb0 /mnt
fio --name=load --directory=/mnt --rw=randwrite --bs=16k --size=8M --direct=1 --ioengine=io_uring --iodepth=8 --rate=2m --time_based=1 --runtime=1800 >/dev/null 2>&1 &
for record in $(seq "$RECORDS"); do
    must dd if=/dev/urandom of="/mnt/record-$record" bs=4k count=$((record % 7 + 1)) conv=fsync
    ask "record $record $(md5sum <"/mnt/record-$record" | cut -c1-32)"
done
section handles nvme fdp status "/dev/$steered" -o json
section statistics nvme fdp stats /dev/nvme0 -e 1 -o json
section is-loaded sh -c 'pidof fio && grep -c /mnt /proc/mounts'
# What was said has arrived before the machine is gone.
ask reset
sleep 1
echo b >/proc/sysrq-trigger
