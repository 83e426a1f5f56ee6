# The power goes, of a drive whose cache forgets what was neither flushed nor forced; a file system is written meanwhile.
reach() { connect --reconnect-delay=1 --keep-alive-tmo=5 --ctrl-loss-tmo=600; }
OPTIONS="--scheme autostream-sfr --shadow off"
reach
# shellcheck disable=SC2086 # words
steer $OPTIONS
section cache cat /sys/block/ublkb0/queue/write_cache /sys/block/ublkb0/queue/fua
must mkfs.ext4 -q -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 /dev/ublkb0 256M
must mount /dev/ublkb0 /mnt
must dd if=/dev/zero of=/mnt/forced bs=64k count=16 conv=fsync
must sync
ask volatile

fio --name=load --directory=/mnt --rw=randwrite --bs=4k --size=8M --numjobs=2 --time_based --runtime=600 --fallocate=none >/dev/null 2>&1 &
load=$!
# Each is written out, or so its program was told, before its sum is taken.
for file in $(seq "$FILES"); do
    must dd if=/dev/urandom of=/mnt/"$file" bs=4k count=$((file % 37 + 1)) conv=fsync
    (cd /mnt && md5sum "$file") >>/tmp/sums
done
must mv /mnt/1 /mnt/renamed
must xfs_io -r -c fsync /mnt
kill $load
wait $load

# Behind the file system, which ends at 256 MiB: written and flushed, then written anew and not.
put() { tr '\0' "$1" </dev/zero | dd of=/dev/ublkb0 bs=64k seek=5120 count=16 iflag=fullblock oflag=direct $2; }
must put a conv=fsync
must fio --name=forced --filename=/mnt/forced --rw=write --bs=64k --size=1M --direct=1 --sync=dsync --ioengine=psync --buffer_pattern=0x63 --allow_file_create=0
ask flushed
section flushed echo "$answer"
# The file system's journal has nothing more to write out: a flush of its own would make this safe, too.
must sync
sleep 7
must put b
ask cut

# Who was there is gone with the drive.
kill -9 $server
must nvme disconnect -n "$NQN"
section given-up anabranch steer --device /dev/ublkb0 --give-up
umount /mnt
reach
# shellcheck disable=SC2086 # words
steer $OPTIONS --yes
section forgotten sh -c "dd if=/dev/ublkb0 bs=64k skip=5120 count=16 iflag=direct 2>/dev/null | tr -d a | wc -c"
must mount /dev/ublkb0 /mnt
section renamed mv /mnt/renamed /mnt/1
section sums sh -c "cd /mnt && md5sum -c /tmp/sums"
section forced sh -c "tr -d c </mnt/forced | wc -c; wc -c </mnt/forced"
must umount /mnt
section checked e2fsck -fn /dev/ublkb0
unsteer
disconnect
