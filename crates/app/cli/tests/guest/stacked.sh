# Block devices that are made of others, watched while a program writes to them: LVM, dm-crypt, an md array, and
# multipath over one path, which is watched as well.
for module in dm_mod dm_crypt dm_multipath dm_round_robin xts raid1 loop; do modprobe $module 2>/dev/null; done
# No udev here: who makes a device makes its node.
export DM_DISABLE_UDEV=1
for number in 0 1 2 3 4; do
    truncate -s 48M "/tmp/disk$number"
    must losetup "/dev/loop$number" "/tmp/disk$number"
done
must lvm pvcreate -q /dev/loop0
must lvm vgcreate -q group /dev/loop0
must lvm lvcreate -q -y -Wn -Zn -L 32M -n volume group
must dmsetup create secret --table "0 $((32 << 11)) crypt aes-xts-plain64 $(printf '%064d' 7)$(printf '%064d' 8) 0 /dev/loop1 0"
must mdadm --create /dev/md0 --run --level=1 --raid-devices=2 --metadata=1.0 --assume-clean /dev/loop2 /dev/loop3
must dmsetup create paths --table "0 $((48 << 11)) multipath 0 0 1 1 round-robin 0 1 1 /dev/loop4 1000"
for device in mapper/group-volume mapper/secret md0 mapper/paths; do await 10 test -b "/dev/$device"; done
section kernel uname -r
/job/ld-linux-x86-64.so.2 --library-path /job /job/anabranch -q watch /dev/mapper/group-volume /dev/mapper/secret /dev/md0 /dev/mapper/paths /dev/loop4 --unit 1MiB -s baseline,pcstream \
    --every 1s -o /tmp/snapshot.json >/tmp/words 2>&1 &
watcher=$!
for _ in $(seq 600); do
    [ -e /tmp/snapshot.json ] && break
    kill -0 $watcher 2>/dev/null || break
    sleep 1
done
# So many MiB to each, each by a program of another name.
write() {
    cp /usr/bin/busybox "/tmp/$1"
    must sh -c "exec -a dd /tmp/$1 if=/dev/urandom of=$2 bs=64k count=$(($3 * 16)) oflag=direct"
}
write writes-lvm /dev/mapper/group-volume 5
write writes-crypt /dev/mapper/secret 6
write writes-md /dev/md0 7
write writes-paths /dev/mapper/paths 8
sleep 3
kill -INT $watcher
wait $watcher
section ended echo $?
section watched cat /tmp/snapshot.json
section words cat /tmp/words
