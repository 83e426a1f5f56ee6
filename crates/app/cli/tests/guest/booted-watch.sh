# A drive is watched by one unit, and recorded by another.
connect
installed anabranch-watch.service anabranch-record@.service
must mkfs.ext4 -q -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 /dev/nvme0n1
must mount /dev/nvme0n1 /mnt
echo 'DEVICES=/dev/nvme0n1' >/etc/default/anabranch-watch
must systemctl start anabranch-watch
must /job/paths /mnt direct:5 buffered:3
must sync
# It looks at what it was sent from time to time, and keeps within its budget of a processor.
await 120 sh -c "wget -qO- http://127.0.0.1:9471/metrics | awk '/^anabranch_watch_written_bytes_total/ { exit !(\$NF >= 8 * 1024 * 1024) }'"
section metrics wget -qO- http://127.0.0.1:9471/metrics
must systemctl reload anabranch-watch
await 60 test -s /var/lib/anabranch/watch.state
await 60 test -s /run/anabranch/watch.json
section kept ls /var/lib/anabranch
section snapshot cat /run/anabranch/watch.json
must systemctl stop anabranch-watch
section watch-end systemctl show --property=ActiveState --property=Result anabranch-watch

echo 'OPTIONS=--for 20s' >/etc/default/anabranch-record
must systemctl start anabranch-record@nvme0n1
must /job/paths /mnt direct:5 buffered:3
must sync
await 180 sh -c '[ "$(systemctl is-active anabranch-record@nvme0n1)" = inactive ]'
section record-end systemctl show --property=ActiveState --property=Result anabranch-record@nvme0n1
section contexts anabranch contexts /var/lib/anabranch/nvme0n1.parquet
must umount /mnt
disconnect
