# Three file systems, made, filled with files of known sums, emptied by half, and checked.
fill() {
    for file in $(seq 1 "$2"); do
        dd if=/dev/urandom of="$1/file$file" bs=64k count="$3" 2>/dev/null || return 1
    done
}

exercise() {
    kind=$1 check=$2
    shift 2
    must "mkfs.$kind" "$@" /dev/nvme0n1
    must mount -t "$kind" -o discard /dev/nvme0n1 /mnt
    must fill /mnt "$FILES" 32
    (cd /mnt && sha1sum file*) >/tmp/sums
    must umount /mnt
    # Dropped caches: what is read now came over the network.
    echo 3 >/proc/sys/vm/drop_caches
    must mount -t "$kind" -o discard /dev/nvme0n1 /mnt
    (cd /mnt && must sha1sum -c -s /tmp/sums) || exit 1
    rm /mnt/file*[02468]
    must fill /mnt $((FILES / 2)) 16
    must fstrim /mnt
    must umount /mnt
    # shellcheck disable=SC2086 # words
    section "$kind" $check /dev/nvme0n1

}

connect
exercise ext4 "e2fsck -f -n" -q -F
exercise xfs "xfs_repair -n" -q -f
exercise f2fs "fsck.f2fs --dry-run" -q -f
disconnect
