# Two programs side by side on one steered drive, each in a directory of its own. FIRST and SECOND are what they write.
connect
formatted
steer --scheme pcstream-fcfs:samples=0,tenants=3 --shadow off --json --yes
must mount /dev/ublkb0 /mnt
must mkdir /mnt/tenant-1 /mnt/tenant-2
# shellcheck disable=SC2086 # words
/job/paths /mnt/tenant-1 $FIRST &
first=$!
# shellcheck disable=SC2086 # words
/job/paths /mnt/tenant-2 $SECOND &
must wait $!
must wait $first
must sync
counted
disconnect
