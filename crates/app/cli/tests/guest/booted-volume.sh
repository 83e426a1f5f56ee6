# A volume of LVM on a steered drive by the guides: unit, LVM's filter as `doctor` prints it, fstab. Then all units end, as when a
# machine is shut down, and start again, as when it boots. The drive stays connected.
state() {
    section "$1-volumes" lvm pvs --noheadings -o pv_name,vg_name
    section "$1-sums" sh -c 'cd /data && md5sum direct buffered'
}

if [ ! -e /state/unit ]; then
    connect
    must modprobe dm_mod
    must mkdir -p /etc/lvm /data
    # LVM's own configuration, as it is without a file.
    : >/etc/lvm/lvm.conf
    # Debian enables it with LVM.
    must systemctl enable --now blk-availability
    installed anabranch-steer@.service 61-anabranch.rules
    steered "$(ls /dev/disk/by-id | grep '^nvme-.*_1$')" --yes
    must lvm pvcreate -q -y "$block"
    section doctor anabranch doctor /dev/nvme0n1
    anabranch doctor /dev/nvme0n1 2>&1 | sed -n 's/.*\(devices { global_filter = .*\)/\1/p' >>/etc/lvm/lvm.conf
    section filter cat /etc/lvm/lvm.conf
    must lvm vgcreate -q group "$block"
    must lvm lvcreate -q -y -L 48M -n data group
    must mkfs.ext4 -q -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 /dev/group/data
    echo "/dev/group/data  /data  ext4  nofail,x-systemd.requires=$unit  0 2" >/etc/fstab
    must systemctl daemon-reload
    must systemctl start data.mount
    must /job/paths /data direct:5 buffered:3
    state before
    reboot_softly
fi

section ended sh -c "dmesg | grep -E 'systemd|group|dm-'"
section log cat /state/log
await_active data.mount 240
state after
must systemctl stop data.mount
must lvm vgchange -q -an group
unit=$(cat /state/unit)
must systemctl stop "$unit"
# The drive goes, and comes back.
disconnect
connect
await_active "$unit" 180
section again systemctl is-active "$unit"
# Its volumes are there again, and are let go.
await 90 test -e /dev/group/data
must lvm vgchange -q -an group
must systemctl stop "$unit"
section kernel sh -c "dmesg | grep -E 'I/O error|EXT4-fs error|Buffer I/O|hung'; true"
disconnect
