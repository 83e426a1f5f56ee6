#!/bin/sh
# The guest's first and only process: mounts, modules, network, then the job, then power off. See scripts/guest.sh.
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
export PATH=/usr/sbin:/usr/bin HOME=/tmp
while read -r module; do modprobe "$module" 2>/dev/null; done </etc/modules
# A module's.
mount -t configfs config /sys/kernel/config 2>/dev/null

# QEMU's user network: the machine is 10.0.2.2.
ip link set lo up
ip address add 10.0.2.15/24 dev eth0
ip link set eth0 up
ip route add default via 10.0.2.2

# Whom the kernel asks for what mounting needs.
echo /usr/bin/modprobe >/proc/sys/kernel/modprobe

# A guest without a job waits for it: its disk is empty until a run goes on from here (scripts/guest.sh).
if [ ! -e /job/script ]; then
    echo "guest: waits"
    until [ "$(dd if=/dev/vda bs=6 count=1 2>/dev/null)" = 070701 ]; do
        usleep 100000
        blockdev --flushbufs /dev/vda
    done
    (cd / && cpio -i -d -u </dev/vda 2>/dev/null)
    # Scripts see a machine without that disk, and today's time.
    basename "$(readlink /sys/block/vda/device)" >/sys/bus/virtio/drivers/virtio_blk/unbind
    date -s "@$(cat /job/.now)" >/dev/null
fi

# The kernel speaks on the first serial line, the job on the second, as it is.
stty -F /dev/ttyS1 raw -echo
cd /job || exit
# A job may bring a first process of its own, which runs the script and ends the guest as below.
[ ! -e ./first.sh ] || exec sh ./first.sh
sh ./script </dev/ttyS1 >/dev/ttyS1 2>&1
status=$?
sync
echo "guest: status $status"
# QEMU's debug exit: the port takes the status and the machine is gone.
printf "\\$(printf %03o "$status")" | dd of=/dev/port bs=1 seek=244 2>/dev/null
poweroff -f
