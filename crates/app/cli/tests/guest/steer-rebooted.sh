# The machine is up again. What was told to be safe is in SUMS: sum and number of each record.
section statistics nvme fdp stats /dev/nvme0 -e 1 -o json
section handles nvme fdp status "/dev/$steered" -o json
must mount "$kept" /tmp/kept
section learned cat /tmp/kept/lifetimes.json
# As after any start: steered, then mounted.
begin --yes
section greeting cat /tmp/steer_error
must mount /dev/ublkb0 /mnt
# shellcheck disable=SC2086 # words
printf '%s  record-%s\n' $SUMS >/tmp/sums
section records sh -c 'cd /mnt && md5sum -c /tmp/sums'
must umount /mnt
section checked e2fsck -fn /dev/ublkb0
must mount /dev/ublkb0 /mnt
must fio --name=after --directory=/mnt --rw=write --bs=64k --size=8M --end_fsync=1 --ioengine=psync
must umount /mnt
kill -INT $server
wait $server
section counters cat /tmp/steered
section learned-after cat /tmp/kept/lifetimes.json
must umount /tmp/kept
section proved anabranch doctor "$DRIVE" --prove --yes --json
section statistics-after nvme fdp stats /dev/nvme0 -e 1 -o json
disconnect
