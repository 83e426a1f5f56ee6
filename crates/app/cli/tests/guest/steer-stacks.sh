# Stacks above a steered drive: on each, one program writes by three calls, and the server's counters before and after tell
# which handles have its bytes. The volumes are LVM's, once by the filter that `doctor` prints.
connect
section release uname -r
for module in dm_mod dm_crypt dm_multipath dm_round_robin dm_thin_pool xts raid0 raid1 raid10 raid456 loop overlay btrfs; do
    modprobe $module 2>/dev/null
done
must mount -t bpf bpf /sys/fs/bpf
# No udev here: who makes a device makes its node, and this script the drive's link.
export DM_DISABLE_UDEV=1
must mkdir -p /dev/disk/by-id /etc/lvm /tmp/lower /tmp/upper /tmp/loops
serial=$(tr -d ' ' </sys/block/nvme0n1/device/serial)
must ln -s ../../nvme0n1 "/dev/disk/by-id/nvme-$(sed 's/ *$//; s/ /_/g' /sys/block/nvme0n1/device/model)_${serial}_1"
printf 'devices {\n obtain_device_list_from_udev = 0\n use_devicesfile = 0\n}\nglobal { thin_check_executable = "" }\n' >/etc/lvm/lvm.conf

# A volume of so many MiB.
volume() {
    must lvm lvcreate -q -y -Wn -Zn -L "$2M" -n "$1" group
    await 10 test -b "/dev/mapper/group-$1"
}
sectors() { echo $(($(blockdev --getsize64 "$1") / 512)); }
counted_so_far() {
    must sync
    # Each second the report so far is made anew.
    usleep 2500000
    must anabranch top -o /tmp/so-far
    section "$1" cat /tmp/so-far
}
# One program writes by three calls below a directory: two leave it to the kernel to write out.
written() {
    counted_so_far "$1-before"
    must /job/paths "$2" direct:5 buffered:3 mapped:2
    counted_so_far "$1-after"
}
# The same on a new file system on a device.
above() {
    must mkfs.ext4 -q -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "$2"
    must mount "$2" /mnt
    written "$1" /mnt
    must umount /mnt
}

steer_by_writer --yes --metrics 127.0.0.1:9470
# The first to write have streams of their own.
above none /dev/ublkb0
must lvm pvcreate -q -y /dev/ublkb0
section unfiltered lvm pvs --noheadings -o pv_name
section doctor anabranch doctor /dev/nvme0n1
anabranch doctor /dev/nvme0n1 2>&1 | sed -n 's/.*\(devices { global_filter = .*\)/\1/p' >/tmp/filter
cat /tmp/filter >>/etc/lvm/lvm.conf
section filtered lvm pvs --noheadings -o pv_name
must lvm vgcreate -q group /dev/ublkb0

volume plain 48
above linear /dev/mapper/group-plain
must mount /dev/mapper/group-plain /tmp/loops
must mkdir /tmp/loops/upper /tmp/loops/work
must mount -t overlay overlay -o lowerdir=/tmp/lower,upperdir=/tmp/loops/upper,workdir=/tmp/loops/work /mnt
written overlay /mnt
must umount /mnt
must umount /tmp/loops

volume secret 24
key=$(printf '%064d' 7)$(printf '%064d' 8)
# As cryptsetup names it.
mapped() { dmsetup create "$1" --uuid "CRYPT-PLAIN-$1" --table "0 $(sectors /dev/mapper/group-secret) crypt aes-xts-plain64 $key 0 /dev/mapper/group-secret 0 $2"; }
must mapped secret
await 10 test -b /dev/mapper/secret
above dm-crypt /dev/mapper/secret
section doctor-dm-crypt anabranch doctor /dev/mapper/secret
must dmsetup remove secret
must mapped direct "1 no_write_workqueue"
await 10 test -b /dev/mapper/direct
above dm-crypt-direct /dev/mapper/direct
must dmsetup remove direct

volume path 24
must dmsetup create paths --table "0 $(sectors /dev/mapper/group-path) multipath 2 queue_mode bio 0 1 1 round-robin 0 1 1 /dev/mapper/group-path 1000"
await 10 test -b /dev/mapper/paths
above multipath /dev/mapper/paths
must dmsetup remove paths

for part in 0 1 2 3; do volume "part$part" 24; done
array() {
    name=$1
    level=$2
    shift 2
    must mdadm --create /dev/md0 --run --force --level="$level" --raid-devices=$# --metadata=1.0 --assume-clean --bitmap="${BITMAP:-none}" "$@"
    await 10 test -b /dev/md0
    above "$name" /dev/md0
    must mdadm --stop /dev/md0
    for part in "$@"; do must mdadm --zero-superblock "$part"; done
}
parts=/dev/mapper/group-part
array raid0 0 ${parts}0 ${parts}1
array raid1 1 ${parts}0 ${parts}1
BITMAP=internal array raid1-bitmap 1 ${parts}0 ${parts}1
array raid10 10 ${parts}0 ${parts}1 ${parts}2 ${parts}3
array raid5 5 ${parts}0 ${parts}1 ${parts}2

volume poolmeta 4
volume pooldata 32
must dd if=/dev/zero of=/dev/mapper/group-poolmeta bs=4k count=1 oflag=direct
must dmsetup create pool --table "0 $(sectors /dev/mapper/group-pooldata) thin-pool /dev/mapper/group-poolmeta /dev/mapper/group-pooldata 128 0 1 skip_block_zeroing"
must dmsetup message /dev/mapper/pool 0 'create_thin 0'
must dmsetup create thin --table '0 49152 thin /dev/mapper/pool 0'
await 10 test -b /dev/mapper/thin
above thin /dev/mapper/thin
# Written again, where the pool has room already.
must mount /dev/mapper/thin /mnt
written thin-again /mnt
must umount /mnt
must dmsetup remove thin
must dmsetup remove pool

volume backing 48
must mkfs.ext4 -q -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 /dev/mapper/group-backing
must mount /dev/mapper/group-backing /tmp/loops
must dd if=/dev/zero of=/tmp/loops/image bs=1M count=24 conv=fsync
# The shell prefers its own small `losetup`.
must /usr/sbin/losetup --direct-io=on /dev/loop0 /tmp/loops/image
above loop /dev/loop0
must /usr/sbin/losetup --detach /dev/loop0
must umount /tmp/loops

volume tree 128
must mkfs.btrfs -q -f -K -m single -d single /dev/mapper/group-tree
must mount /dev/mapper/group-tree /mnt
written btrfs /mnt
must umount /mnt

must lvm vgchange -q -an group
kill -INT $server
wait $server
section ended sh -c "cat /tmp/steer_error; exit $?"
section counters cat /tmp/steered
section kernel sh -c "dmesg | grep -E 'I/O error|EXT4-fs error|Buffer I/O|hung'; true"
disconnect
