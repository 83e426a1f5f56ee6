# What programs write to ext4 on dm-crypt and on a linear volume, recorded on the drive below,
# of which they lie on a partition.
for module in dm_mod dm_crypt xts loop; do modprobe $module 2>/dev/null; done
# No udev here: who makes a device makes its node.
export DM_DISABLE_UDEV=1
must truncate -s 50M /tmp/disk
# One partition, of 48 MiB behind the first one.
{
    head -c 446 /dev/zero
    printf '\0\0\0\0\203\0\0\0\0\10\0\0\0\200\1\0'
    head -c 48 /dev/zero
    printf '\125\252'
} | dd of=/tmp/disk conv=notrunc 2>/dev/null
# The shell prefers its own small `losetup`.
must /usr/sbin/losetup --partscan /dev/loop1 /tmp/disk
await 10 test -b /dev/loop1p1
for program in buffers directs; do must cp /usr/bin/busybox /tmp/$program; done
cat >/tmp/load <<'LOAD'
# The recorder's own words are JSON.
exec >/tmp/words 2>&1
set -e
mount "/dev/mapper/$1" /mnt
(exec -a dd /tmp/buffers if=/dev/zero of=/mnt/buffered bs=64k count=48 conv=fsync)
(exec -a dd /tmp/directs if=/dev/zero of=/mnt/direct bs=64k count=80 oflag=direct)
umount /mnt
LOAD
section release uname -r
recorded() {
    must dmsetup create "$1" --table "0 $((48 << 11)) $2"
    await 10 test -b "/dev/mapper/$1"
    must mkfs.ext4 -q -b 4096 -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "/dev/mapper/$1"
    section "$1-recorded" anabranch -q record --device /dev/loop1 -o "/tmp/$1.parquet" --json -- sh /tmp/load "$1"
    section "$1-words" cat /tmp/words
    raw_section "$1" cat "/tmp/$1.parquet"
    must dmsetup remove "$1"
}
recorded encrypted "crypt aes-xts-plain64 $(printf '%064d' 7)$(printf '%064d' 8) 0 /dev/loop1p1 0"
recorded linear "linear /dev/loop1p1 0"
