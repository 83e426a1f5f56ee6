# A server killed between the write and the writing out: what is asked for before the next one's probe is loaded has no known
# writer and does not wait for it; what is written later has one. Then one program runs in two control groups at once. FIRST and SECOND are what it writes, OTHER is the second group's name.
formatted_by_writer
must mount /dev/ublkb0 /mnt
must xfs_io -f -c 'pwrite -q -b 64k -S 3 0 8m' /mnt/later
kill -9 $server
sync &
usleep 500000
steer_by_writer
must sync
# The program lives on for two seconds: under emulation, looking at it takes longer than a request waits for that.
(echo 'pwrite -q -b 64k -S 3 0 4m'; sleep 2; echo quit) | must xfs_io -f /mnt/after >/dev/null
must sync
must umount /mnt
kill -INT $server
wait $server
section taken-over cat /tmp/steered

must mkdir -p /tmp/groups
must mount -t cgroup2 none /tmp/groups
must mkdir "/tmp/groups/one" "/tmp/groups/$OTHER"
steer --scheme pcstream-fcfs:samples=0,tenants=3 --shadow off --json --yes --tenant one --tenant silent --tenant 'two*'
must mount /dev/ublkb0 /mnt
must mkdir /mnt/one /mnt/two
grouped() { sh -c 'echo 0 >"/tmp/groups/$1/cgroup.procs" && shift && exec /job/paths "$@"' sh "$@"; }
# shellcheck disable=SC2086 # words
grouped one /mnt/one $FIRST &
first=$!
# shellcheck disable=SC2086 # words
grouped "$OTHER" /mnt/two $SECOND &
must wait $!
must wait $first
must sync
must umount /mnt
kill -INT $server
wait $server
section grouped cat /tmp/steered
disconnect
