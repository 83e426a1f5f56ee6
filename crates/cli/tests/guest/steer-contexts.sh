# A server killed between the write and the writing out: the next one still knows who wrote.
formatted_by_writer
must mount /dev/ublkb0 /mnt
must xfs_io -f -c 'pwrite -q -b 64k -S 3 0 8m' /mnt/later
kill -9 $server
sync &
usleep 500000
steer_by_writer
must sync
must umount /mnt
kill -INT $server
wait $server
section taken-over cat /tmp/steered
disconnect
