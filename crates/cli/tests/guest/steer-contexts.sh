# A server killed between the write and the writing out: the next one still knows who wrote.
connect
# Where writers are kept while no server is there.
must mount -t bpf bpf /sys/fs/bpf
OPTIONS="--scheme pcstream-fcfs:samples=0 --shadow off --json"
formatted
# shellcheck disable=SC2086 # words
steer $OPTIONS --yes
must mount /dev/ublkb0 /mnt
must xfs_io -f -c 'pwrite -q -b 64k -S 3 0 8m' /mnt/later
kill -9 $server
sync &
usleep 500000
# shellcheck disable=SC2086 # words
steer $OPTIONS
must sync
must umount /mnt
kill -INT $server
wait $server
section taken-over cat /tmp/steered
disconnect
