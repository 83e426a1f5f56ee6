# A drive that refuses, is silent, goes away and comes back, under a file system that is steered.
# The kernel looks for namespaces side by side, and numbers its devices as it finds them: which is which, their own numbers tell.
reach() {
    connect --reconnect-delay=1 --keep-alive-tmo=5 --ctrl-loss-tmo="$1"
    await 10 test -b /dev/nvme0n2
    case $(cat /sys/block/nvme0n1/nsid) in
        1) own=0n1 second=0n2 ;;
        *) own=0n2 second=0n1 ;;
    esac
    DRIVE=/dev/ng$own
    SECOND=/dev/nvme$second
}
load() {
    fio --name="$1" --directory=/mnt --rw=randwrite --bs=16k --size=8M --io_size="$2" --numjobs=2 --direct=1 --ioengine=io_uring --iodepth=8 \
        --verify=crc32c --verify_fatal=1 --verify_state_save=0 --norandommap --fsync=64 --fallocate=none --group_reporting >/tmp/load 2>&1 &
    load=$!
}
# What lies on the block device behind the file system, which ends at 256 MiB: a pattern, written and read back.
place=320
put() { tr '\0' "$1" </dev/zero | dd of=/dev/ublkb0 bs=64k seek=$((place * 16)) count=16 iflag=fullblock oflag=direct $2; }
get() { (set -o pipefail; dd if=/dev/ublkb0 bs=64k skip=$((place * 16)) count=16 iflag=direct | tr -d "$1" | wc -c); }
OPTIONS="--scheme autostream-sfr --shadow off"
reach 600
# The drive's other namespace is somebody else's, from beginning to end.
printf 'o\nn\np\n1\n\n\nw\n' | fdisk "$SECOND" >/dev/null 2>&1
await 10 test -b "$SECOND"p1
must mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$SECOND"p1
must mkdir /tmp/other
must mount "$SECOND"p1 /tmp/other
# A keep-alive that comes too late costs the connection for a while.
await 60 grep -q live /sys/class/nvme/nvme0/state
section partition-mounted anabranch steer --device "/dev/ng$second" --yes
must umount /tmp/other
section partition-table anabranch steer --device "/dev/ng$second"
must dd if=/dev/urandom of="$SECOND" bs=1M seek=8 count=16 conv=fsync
other() { dd if=$SECOND bs=1M iflag=direct 2>/dev/null | md5sum; }
other >/tmp/sum
# shellcheck disable=SC2086 # words
steer $OPTIONS
must put a conv=fsync

# Refused: who asked is told what the drive said, nobody else is, and afterwards all is as it was.
refuse() {
    ask "fail $2 $3 $4"
    section "$1" "$5" "$6" "$7"
    ask failed
    section "$1-left" echo "$answer"
    ask "fail 0 0 0"
}
refuse read-refused 2 281 1 get a
refuse write-refused 1 280 1 put b
refuse full 1 4081 1 put b
refuse flush-refused 0 6 1 put b conv=fsync
section rewritten put c conv=fsync
section reread get c
must mkfs.ext4 -q -E nodiscard /dev/ublkb0 256M
must mount /dev/ublkb0 /mnt
load told 8M
wait $load
section load-after sh -c "cat /tmp/load; exit $?"

# Silent for longer than the kernel waits: it connects anew, and what was under way is asked for again.
load silent "$WRITTEN"
usleep 1500000
ask silent
sleep 15
section silent-state cat /sys/class/nvme/nvme0/state
ask heard
wait $load
section load-silent sh -c "cat /tmp/load; exit $?"
must umount /mnt
section checked-silent e2fsck -fn /dev/ublkb0
unsteer
disconnect

# Away for good, under load: errors, and nobody hangs; back again, with what had been written out.
reach 5
# shellcheck disable=SC2086 # words
steer $OPTIONS --yes
must mount /dev/ublkb0 /mnt
dd if=/dev/urandom of=/mnt/kept bs=64k count=64 2>/dev/null
must sync
must cp /mnt/kept /tmp/kept
load goes 512M
await 60 test -e /mnt/goes.1.0
usleep 1500000
ask gone
wait $load
section load-gone sh -c "cat /tmp/load; exit $?"
umount /mnt
kill -INT $server
for _ in $(seq 300); do test -e /proc/$server || break; usleep 100000; done
section ended sh -c "cat /tmp/steer_error; ! test -e /proc/$server"
section nothing-left test ! -e /dev/ublkb0
ask back
reach 600
# shellcheck disable=SC2086 # words
steer $OPTIONS --yes
must mount /dev/ublkb0 /mnt
section kept cmp /mnt/kept /tmp/kept

# Away while no server is there: whoever writes waits, and goes on with the drive when it is back.
load waits 8M
await 60 test -e /mnt/waits.1.0
usleep 1000000
kill -9 $server
must nvme disconnect -n "$NQN"
await 10 test ! -e "$DRIVE"
section no-drive anabranch steer --device "$DRIVE"
reach 600
# shellcheck disable=SC2086 # words
steer $OPTIONS
wait $load
section load-waited sh -c "cat /tmp/load; exit $?"
must umount /mnt
section checked e2fsck -fn /dev/ublkb0

# Given up: what waits for a drive that does not come back has errors.
must mount /dev/ublkb0 /mnt
section lives anabranch steer --device /dev/ublkb0 --give-up
load given 512M
await 60 test -e /mnt/given.1.0
usleep 1000000
kill -9 $server
must nvme disconnect -n "$NQN"
section given-up anabranch steer --device /dev/ublkb0 --give-up
wait $load
section load-given sh -c "cat /tmp/load; exit $?"
umount /mnt
section given-left test ! -e /dev/ublkb0
reach 600
must mount /dev/nvme$own /mnt
section kept-bare cmp /mnt/kept /tmp/kept
must umount /mnt
other >/tmp/sum-after
section other cmp /tmp/sum /tmp/sum-after
section other-bytes sh -c "dd if=$SECOND bs=1M iflag=direct 2>/dev/null | wc -c"
disconnect
