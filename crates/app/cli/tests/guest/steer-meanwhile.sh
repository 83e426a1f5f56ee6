# What becomes of a drive while its block device waits for a server: it is set read-only, mounted and written past the block
# device, deleted and made anew. HANDLES are those of a namespace that is made.
connect
OPTIONS="--scheme autostream-sfr --shadow off"
must blockdev --setro /dev/nvme0n1
section read-only anabranch steer --device /dev/ng0n1 --yes
must blockdev --setrw /dev/nvme0n1
mkdir /tmp/raw
# A server dies under a file system of which memory holds more than the drive.
dirty() {
    must mkfs.ext4 -q -F /dev/ublkb0
    must mount /dev/ublkb0 /mnt
    must sync
    must dd if=/dev/zero of=/mnt/dirty bs=64k count=16
    kill -9 $server
    await 20 grep -q ublkb0-waits /proc/[0-9]*/comm
}
guards() { for one in $(grep -l ublkb0-waits /proc/[0-9]*/comm 2>/dev/null); do echo "$one" | cut -d / -f 3; done; }
# shellcheck disable=SC2086 # words
steer $OPTIONS
dirty
section held mount /dev/nvme0n1 /tmp/raw
section waits anabranch doctor /dev/nvme0n1
# Gone on with, once: the next server lets the guard of the one before go.
# shellcheck disable=SC2086 # words
steer $OPTIONS
section going-on cat /tmp/steer_error
kill -9 $server
await 20 grep -q ublkb0-waits /proc/[0-9]*/comm
section one-guard sh -c "grep -sl ublkb0-waits /proc/[0-9]*/comm | wc -l"
# Whoever kills the guard, too, can mount the drive: what he writes there is not written over.
must kill -9 $(guards)
section unheld anabranch doctor /dev/nvme0n1
section unproved anabranch doctor /dev/nvme0n1 --prove --yes
must mount /dev/nvme0n1 /tmp/raw
must dd if=/dev/urandom of=/tmp/raw/new bs=64k count=16
must cp /tmp/raw/new /tmp/new
must umount /tmp/raw
# shellcheck disable=SC2086 # words
section written anabranch steer --device /dev/ng0n1 --yes $OPTIONS
section given-up anabranch steer --device /dev/ublkb0 --give-up
umount /mnt
await 20 test ! -e /dev/ublkb0
section clean e2fsck -fn /dev/nvme0n1
must mount -o ro /dev/nvme0n1 /tmp/raw
section kept cmp /tmp/raw/new /tmp/new
must umount /tmp/raw

# Written, and gone on with all the same, since it was said.
# shellcheck disable=SC2086 # words
steer $OPTIONS --yes
must dd if=/dev/urandom of=/dev/ublkb0 bs=64k count=16 oflag=direct
kill -9 $server
await 20 grep -q ublkb0-waits /proc/[0-9]*/comm
must dd if=/dev/zero of=/dev/nvme0n1 bs=64k count=1 seek=64 oflag=direct
# shellcheck disable=SC2086 # words
section written-again anabranch steer --device /dev/ng0n1 --yes $OPTIONS
# shellcheck disable=SC2086 # words
steer $OPTIONS --yes --take-over
section taken-over cat /tmp/steer_error
kill -9 $server
# From there on it is as if nothing had been written.
# shellcheck disable=SC2086 # words
steer $OPTIONS
section after cat /tmp/steer_error

# The namespace is deleted and made anew, of the same number and size.
dirty
must nvme detach-ns /dev/nvme0 --namespace-id=1 --controllers="$(cat /sys/class/nvme/nvme0/cntlid)"
await 10 test ! -e /dev/ng0n1
must nvme delete-ns /dev/nvme0 --namespace-id=1
must nvme create-ns /dev/nvme0 --nsze=65536 --ncap=65536 --flbas=1 --nmic=1 --endg-id=1 --nphndls=4 --phndls="$HANDLES"
must nvme attach-ns /dev/nvme0 --namespace-id=1 --controllers="$(cat /sys/class/nvme/nvme0/cntlid)"
await 20 sh -c 'ls /dev/ng0n*'
DRIVE=$(ls /dev/ng0n*)
section number cat "/sys/block/nvme${DRIVE#/dev/ng}/nsid"
# shellcheck disable=SC2086 # words
section anew anabranch steer --device "$DRIVE" --yes $OPTIONS
# shellcheck disable=SC2086 # words
section anew-insisted anabranch steer --device "$DRIVE" --yes --take-over $OPTIONS
section anew-given-up anabranch steer --device /dev/ublkb0 --give-up
umount /mnt
await 20 test ! -e /dev/ublkb0
# shellcheck disable=SC2086 # words
steer $OPTIONS
unsteer
section bare mount "/dev/nvme${DRIVE#/dev/ng}" /tmp/raw
disconnect
