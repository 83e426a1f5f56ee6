# Hints of files, set by name, on a SCSI drive that counts its write commands by GROUP NUMBER (scsi_debug), and by F2FS
# on a served FDP drive. No command is larger than a page, so that what is counted are pages.
must modprobe scsi_debug dev_size_mb=128 sector_size=4096
await 10 test -b /dev/sda
echo 4 >/sys/block/sda/queue/max_sectors_kb
stats=/sys/bus/pseudo/drivers/scsi_debug/group_number_stats
{ printf '[[rule]]\nrole = "dd"\nstream = 1\n'; file_rules; } >/tmp/rules.toml
# Pages written to each group since the last call, groups 0 to 6.
pages() {
    sync
    echo $(sed -n 's/^[0-6] //p' $stats)
    echo 0 >$stats
}
ended() {
    wait $server
    status=$?
    [ $status = 0 ] || cat /tmp/said
    cat /tmp/hinted
    return $status
}
section kernel uname -r
section doctor anabranch doctor /dev/sda

for system in ext4 xfs; do
    case $system in
        xfs) must mkfs.xfs -q -f --unsupported /dev/sda ;;
        *) must mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 /dev/sda ;;
    esac
    must mount /dev/sda /mnt
    section none-$system fill none.log 1
    # Open before anybody sets hints, and under a name that it loses.
    exec 7>/mnt/early.log
    exec 8>/mnt/renamed.sst
    mv /mnt/renamed.sst /mnt/renamed.new
    hints --restore
    section two-$system anabranch steer --mount /mnt --scheme manual:rules=/tmp/rules.toml
    pages >/tmp/before
    dd if=/dev/zero bs=1M count=1 >&7 2>/tmp/must
    dd if=/dev/zero bs=1M count=1 >&8 2>/tmp/must
    fill a.log 2 & fill b.idx 3 & fill c.sst 4 & fill d.ibd 5 & fill e.txt 6
    wait %2 %3 %4 %5 2>/dev/null
    seen
    section buffered-$system pages
    fill c.sst 2 oflag=direct
    section direct-$system pages
    # By another name it has another class, once it is opened again.
    mv /mnt/a.log /mnt/a.ibd
    fill a.ibd 1
    seen
    section renamed-$system pages
    for n in $(seq 200); do : >/mnt/gone$n.log; rm /mnt/gone$n.log; done
    exec 7>&- 8>&-
    kill -INT $server
    section ended-$system ended
    fill c.sst 1
    section restored-$system pages
    # Killed: the hints stay, another process undoes them.
    hints
    fill b.idx 1
    fill late.log 1
    seen
    pages >/tmp/before
    rm /mnt/late.log
    kill -KILL $server
    wait $server
    fill b.idx 1
    section left-$system pages
    section undone-$system anabranch steer --mount /mnt --undo --json
    fill b.idx 1
    section after-$system pages
    section nothing-$system anabranch steer --mount /mnt --undo --json
    # An unmount is not kept waiting, and ends it.
    hints
    fill a.ibd 1
    seen
    section unmounted-$system umount /mnt
    section followed-$system ended
    section clean-$system ls /run/anabranch-hints
done

# What is refused.
section no-mount anabranch steer --mount /job
section no-directory anabranch steer --mount /nowhere
connect
must mkfs.ext4 -q /dev/nvme0n1
must mount /dev/nvme0n1 /mnt
section deaf-rules anabranch steer --mount /mnt --scheme manual
section by-page anabranch steer --mount /mnt
umount /mnt

must mkfs.f2fs -q -f /dev/nvme0n1
must mount /dev/nvme0n1 /mnt
if [ "$(cat /sys/block/nvme0n1/queue/max_write_streams 2>/dev/null || echo 0)" -gt 0 ]; then
    hints
    fill a.log 4; fill b.idx 5; fill d.ibd 8
    seen
    umount /mnt
    section f2fs ended
else
    section f2fs-deaf anabranch steer --mount /mnt --scheme manual
    umount /mnt
fi
disconnect
