# A mirror of two steered drives by the guide (docs/steer-stacks.md): units, links, mdadm.conf, fstab. Then all units end, as when a
# machine is shut down, and start again, as when it boots. The drives stay connected.
by_id=/dev/disk/by-id
state() {
    section "$1-array" cat /proc/mdstat
    section "$1-links" ls $by_id
    section "$1-sums" sh -c 'cd /data && md5sum direct buffered'
}

if [ ! -e /state/unit ]; then
    connect
    # Before 253 udev did not look into these devices.
    must sed -i 's/|ublkb\*//' /usr/lib/udev/rules.d/60-persistent-storage.rules
    must mkdir -p /etc/mdadm /data
    installed anabranch-steer@.service anabranch-steer.target 61-anabranch.rules
    section drives ls $by_id
    for drive in $(ls $by_id | grep '^nvme-.*_[12]$'); do
        steered "$drive" '--yes --scheme pcstream-fcfs:samples=0'
    done
    must mdadm --create /dev/md0 --run --level=1 --raid-devices=2 --assume-clean --bitmap=internal $by_id/anabranch-*_[12]
    await 10 test -b /dev/md0
    must mkfs.ext4 -q -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 /dev/md0
    { echo 'DEVICE /dev/disk/by-id/anabranch-*'; mdadm --detail --brief /dev/md0; } >/etc/mdadm/mdadm.conf
    {
        echo '/dev/md0  /data  ext4  nofail,x-systemd.requires=anabranch-steer.target  0 2'
        # A drive alone, as docs/steer-operation.md has it.
        echo "$block  /alone  ext4  nofail,noauto,x-systemd.requires=$unit  0 2"
    } >/etc/fstab
    must systemctl daemon-reload
    section alone systemctl show --property=Requires --property=After alone.mount
    must systemctl start data.mount
    must /job/paths /data direct:5 buffered:3
    state before
    reboot_softly
fi

section ended sh -c "dmesg | grep -E 'systemd|md0'"
await_active data.mount 240
state after
must /job/paths /data synced:4
# In use: the server says by what, and waits.
unit=$(cat /state/unit)
must systemctl stop --no-block "$unit"
await 60 grep 'is in use by md0' /state/log
section waits systemctl show --property=ActiveState "$unit"
must systemctl stop data.mount
must systemctl stop anabranch-steer.target
must mdadm --stop /dev/md0
for unit in /etc/systemd/system/anabranch-steer.target.wants/*; do
    unit=${unit##*/}
    await 90 sh -c "[ \"\$(systemctl is-active '$unit')\" != deactivating ]"
    section "end-of-$unit" systemctl show --property=ActiveState --property=Result "$unit"
done
section log cat /state/log
section nodes sh -c 'ls /dev /dev/disk/by-id'
section kernel sh -c "dmesg | grep -E 'I/O error|EXT4-fs error|Buffer I/O|hung'; true"
disconnect
