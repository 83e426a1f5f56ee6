# Two namespaces of one drive: one made here, attached, filled and deleted; bytes by handle.
connect
controller=$(cat /sys/class/nvme/nvme0/cntlid)
section before nvme id-ctrl /dev/nvme0 -o json
section created nvme create-ns /dev/nvme0 --nsze=65536 --ncap=65536 --flbas=1 --nmic=1 --endg-id=1 --nphndls=2 --phndls=4,5
section too-large nvme create-ns /dev/nvme0 --nsze=1000000 --ncap=1000000 --flbas=1
must nvme attach-ns /dev/nvme0 --namespace-id=2 --controllers="$controller"
await 10 test -b /dev/nvme0n2
await 10 test -c /dev/ng0n2
section list nvme list -o json
section all nvme list-ns /dev/nvme0 --all -o json
section attached nvme list-ctrl /dev/nvme0 --namespace-id=2 -o json
section second nvme id-ns /dev/nvme0n2 -o json
section usage nvme fdp usage /dev/nvme0 -e 1 -o json

placed() {
    fio --name=write --filename="$1" --ioengine=io_uring_cmd --cmd_type=nvme --rw=write --bs=64k --iodepth=4 \
        --dataplacement=fdp --plids=1 --size="$2"
}
section fio-1 placed /dev/ng0n1 2M
section fio-2 placed /dev/ng0n2 4M

# A file system in each, with data that differ.
for number in 1 2; do
    must mkfs.ext4 -q -F /dev/nvme0n$number
    mkdir -p /mnt/$number
    must mount /dev/nvme0n$number /mnt/$number
    must dd if=/dev/urandom of=/mnt/$number/data bs=64k count=64
    must sync
done
sums() { for number in "$@"; do md5sum </mnt/$number/data; done; }
for number in 1 2; do must umount /mnt/$number; must fsck.ext4 -f -n /dev/nvme0n$number; must mount /dev/nvme0n$number /mnt/$number; done
section sums sums 1 2
section extended nvme ocp smart-add-log /dev/nvme0 -o json

# A reset of the subsystem: the kernel connects anew and finds all as it was. Where its own reset still asks the
# connection that is gone, it does so once that command has timed out, after a minute.
must umount /mnt/1
must umount /mnt/2
section subsystem-reset nvme subsystem-reset /dev/nvme0
await 100 nvme id-ns /dev/nvme0n2
await 10 test -b /dev/nvme0n2
for number in 1 2; do must mount /dev/nvme0n$number /mnt/$number; done
section sums-after sums 1 2
must umount /mnt/2

# The second goes, under nobody; the first stays as it is.
must nvme detach-ns /dev/nvme0 --namespace-id=2 --controllers="$(cat /sys/class/nvme/nvme0/cntlid)"
await 10 test ! -e /dev/nvme0n2
must nvme delete-ns /dev/nvme0 --namespace-id=2
section after nvme list-ns /dev/nvme0 --all -o json
section sums-first sums 1
must umount /mnt/1
must fsck.ext4 -f -n /dev/nvme0n1
disconnect
