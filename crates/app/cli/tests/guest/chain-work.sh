# A program on a fresh file system: chain-work.sh DEVICE FILE_SYSTEM PROGRAM
set -e
case $2 in
    # Smaller than mkfs.xfs makes for people.
    xfs) mkfs.xfs -q --unsupported "$1" ;;
    *) mkfs.ext4 -q -m 0 "$1" ;;
esac
mount -o discard "$1" /mnt
. "/job/chain-$3.sh"
sync
df -m /mnt
umount /mnt
