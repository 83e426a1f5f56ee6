# A served drive as a SCSI one, by the kernel's own target: hints of files that ext4 and XFS write out of the page cache
# arrive in its streams; a server that is killed, started again, and stopped.
must modprobe target_core_user
must modprobe tcm_loop
mount -t configfs config /sys/kernel/config 2>/dev/null
section no-name anabranch serve --scsi a,b
section placement anabranch serve --scsi drive1 --device fdp-8ruh --mode fdp
section timed anabranch serve --scsi drive1 --device demo --time on
file_rules >/tmp/rules.toml
# The drive, with its contents in a file of the guest's memory, or in its own.
data=/tmp/drive
serve() {
    : >/tmp/served
    /job/ld-linux-x86-64.so.2 --library-path /job /job/anabranch serve --scsi drive1 --device demo --mode streams --size 384MiB \
        --unit 4MiB --data $data --metrics 127.0.0.1:9100 --json >/tmp/counters 2>/tmp/served &
    drive=$!
    await_word 60 '^metrics' /tmp/served $drive 'not served'
}
stopped() {
    kill -TERM $drive
    wait $drive
    status=$?
    [ $status = 0 ] || cat /tmp/served
    cat /tmp/counters
    return $status
}
# Bytes that hosts wrote to each stream, 0 to 7.
streams() {
    sync
    wget -q -O /tmp/metrics http://127.0.0.1:9100/metrics || return
    for stream in 0 1 2 3 4 5 6 7; do
        echo $(sed -n "s/^anabranch_stream_host_page_bytes_total{stream=\"$stream\"[^}]*} //p" /tmp/metrics)
    done
}
# Bytes that hosts have given up.
discarded() {
    sync
    wget -q -O /tmp/metrics http://127.0.0.1:9100/metrics && sed -n 's/^anabranch_discarded_bytes_total //p' /tmp/metrics
}
section kernel uname -r
serve
section served cat /tmp/served
section said sh -c 'dmesg | grep "sd.*\[sda\]"'
section doctor anabranch doctor /dev/sda
section busy anabranch serve --scsi drive1 --device demo --mode streams --size 384MiB --unit 4MiB

for system in ext4 xfs; do
    case $system in
        xfs) must mkfs.xfs -q -f /dev/sda ;;
        *) must mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 /dev/sda ;;
    esac
    must mount /dev/sda /mnt
    section none-$system streams
    hints
    # Opened once, so that each has its hint before its data are written out.
    for file in a.log b.idx c.sst d.ibd; do : >/mnt/$file; done
    seen
    fill a.log 2; fill b.idx 3; fill c.sst 4; fill d.ibd 5; fill e.txt 6
    section buffered-$system streams
    fill c.sst 2 oflag=direct
    section direct-$system streams
    kill -INT $server
    wait $server
    md5sum /mnt/*.* >/tmp/sums
    must umount /mnt
    must mount /dev/sda /mnt
    section sums-$system md5sum -c /tmp/sums
    section held-$system discarded
    # Mounted anew, a file system knows what is free.
    rm /mnt/e.txt
    must umount /mnt
    must mount /dev/sda /mnt
    section trimmed-$system fstrim /mnt
    section discarded-$system discarded
    must umount /mnt
done

# Killed in mid-write, and started again within the time that commands have: the host does not notice.
must mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 /dev/sda
must mount /dev/sda /mnt
dd if=/dev/urandom of=/tmp/random bs=1M count=24 2>/dev/null
dd if=/tmp/random of=/mnt/whole bs=64k conv=fsync 2>/tmp/written &
writer=$!
usleep 300000
kill -KILL $drive
wait $drive
usleep 1000000
serve
section taken-over cat /tmp/served
section written wait $writer
must umount /mnt
must mount /dev/sda /mnt
section whole cmp /tmp/random /mnt/whole
# Killed, and not started again: commands end in errors, and nothing waits for ever. By default the kernel gives each of
# its tries 30 s.
echo 2 >/sys/block/sda/device/timeout
kill -KILL $drive
wait $drive
begin=$(cut -d. -f1 /proc/uptime)
section dead dd if=/dev/sda of=/dev/null bs=4k count=1 skip=90000 iflag=direct
section waited echo $(($(cut -d. -f1 /proc/uptime) - begin))
other() { section $1 anabranch serve --scsi drive1 --device demo --mode streams --unit 4MiB --size $2 --data $3; }
other other-size 128MiB /tmp/drive-128
other other-contents 384MiB /tmp/drive-384
other no-contents 384MiB memory
section unmounted umount -l /mnt
serve
section stopped stopped
gone() { ls -d /dev/sd* /sys/kernel/config/target/core/user_0/drive1 /sys/kernel/config/target/loopback/naa* 2>&1; }
section gone gone
# Contents that ended with their server are nobody's: the device is taken away as the error says.
data=memory
serve
kill -KILL $drive
wait $drive
other memory 384MiB memory
anabranch serve --scsi drive1 --device demo --mode streams --unit 4MiB --size 384MiB 2>/tmp/said
section by-hand eval "$(sed -n 's/.*by hand (\(.*\)), or .*/\1/p' /tmp/said)"
section gone-by-hand gone
section warnings sh -c 'dmesg | grep -E "WARNING|BUG:|Oops|Call Trace"'
