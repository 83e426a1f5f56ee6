# What scripts under systemd begin with, behind the prelude: the command where the packages have it, and files of theirs.
await_active() { await "$2" sh -c "[ \"\$(systemctl is-active '$1')\" = active ]"; }
installed() {
    printf '#!/bin/sh\nexec /job/ld-linux-x86-64.so.2 --library-path /job /job/anabranch "$@"\n' >/usr/bin/anabranch
    chmod +x /usr/bin/anabranch
    must mkdir -p /etc/default
    for name in "$@"; do
        case $name in
            *.rules) must cp "/job/$name" /usr/lib/udev/rules.d/ ;;
            *) must cp "/job/$name" /usr/lib/systemd/system/ ;;
        esac
    done
    # No journal here.
    must mkdir -p /etc/systemd/system/anabranch-steer@.service.d
    printf '[Service]\nStandardError=append:/state/log\n' >/etc/systemd/system/anabranch-steer@.service.d/log.conf
    must systemctl daemon-reload
    must udevadm control --reload
    must udevadm trigger
    must udevadm settle
}

# Steers a drive, by its name below /dev/disk/by-id, as the guides have it: `unit` and `block` are the unit and the block device.
steered() {
    unit=$(systemd-escape --template anabranch-steer@.service --path "disk/by-id/$1")
    block=/dev/disk/by-id/anabranch-${1#nvme-}
    must mkdir -p /etc/default/anabranch-steer/disk/by-id
    echo "OPTIONS=$2" >"/etc/default/anabranch-steer/disk/by-id/$1"
    must systemctl enable --now "$unit"
    await 180 test -b "$block"
}

# All units end, and start again: the script, too, which finds `/state/unit`, the last unit.
reboot_softly() {
    echo "$unit" >/state/unit
    dmesg -c >/dev/null
    must systemctl soft-reboot
    sleep 600
    exit 1
}
