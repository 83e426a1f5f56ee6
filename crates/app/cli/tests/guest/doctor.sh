# What the doctor says of a drive, and what becomes of a write through each conduit. PORT2 has a drive with streams, PORT3 one
# with neither streams nor placement.
connect
section kernel uname -r
section free anabranch doctor /dev/nvme0n1
section proved anabranch doctor /dev/nvme0n1 --prove --json
must mkfs.ext4 -q /dev/nvme0n1
section holds anabranch doctor /dev/ng0n1 --prove
section anyway anabranch doctor /dev/ng0n1 --prove --yes
section clean e2fsck -fn /dev/nvme0n1
must mount /dev/nvme0n1 /mnt
section mounted anabranch doctor /dev/nvme0n1
section disturbed anabranch doctor /dev/nvme0n1 --prove --yes
must umount /mnt
sleep 1000 </dev/ng0n1 &
held=$!
section open anabranch doctor /dev/nvme0n1
kill $held
wait $held 2>/dev/null
must rmmod ublk_drv
section without-ublk anabranch doctor /dev/ng0n1
must modprobe ublk_drv

# One piece after the other is taken away, and given back.
echo 'nobody:x:65534:65534::/:/bin/sh' >/etc/passwd
as_nobody() { su nobody -c "/job/ld-linux-x86-64.so.2 --library-path /job /job/anabranch $*"; }
section unprivileged as_nobody doctor /dev/nvme0n1
section unprivileged-json as_nobody doctor /dev/nvme0n1 --json
chmod 666 /dev/ublk-control
section without-tracing as_nobody doctor /dev/nvme0n1
chmod 600 /dev/ublk-control
must mount -t tmpfs none /sys/kernel/btf
section without-btf anabranch doctor /dev/nvme0n1
must umount /sys/kernel/btf
echo 2 >/proc/sys/kernel/io_uring_disabled
section without-io-uring anabranch doctor /dev/nvme0n1
echo 0 >/proc/sys/kernel/io_uring_disabled
must mv /dev/ng0n1 /dev/away
section without-character anabranch doctor /dev/nvme0n1
must mv /dev/away /dev/ng0n1
must mkswap /dev/nvme0n1
must swapon /dev/nvme0n1
section swap anabranch doctor /dev/nvme0n1
must swapoff /dev/nvme0n1
must modprobe loop
must losetup /dev/loop0 /dev/nvme0n1
section loop anabranch doctor /dev/nvme0n1
must losetup -d /dev/loop0
must modprobe dm_mod
echo "0 8192 linear /dev/nvme0n1 0" >/tmp/table
must dmsetup create --noudevsync above /tmp/table
section mapped anabranch doctor /dev/nvme0n1
must dmsetup remove --noudevsync above
printf 'o\nn\np\n1\n\n\nw\n' | fdisk /dev/nvme0n1 >/tmp/fdisk 2>&1
await 10 test -b /dev/nvme0n1p1
section parted anabranch doctor /dev/nvme0n1
section part anabranch doctor /dev/nvme0n1p1
must dd if=/dev/zero of=/dev/nvme0n1 bs=1M count=2 conv=fsync
disconnect
section nothing anabranch doctor /dev/ng0n1
section host anabranch doctor
PORT=$PORT2
connect
section streams anabranch doctor /dev/ng0n1 --prove --json
disconnect
PORT=$PORT3
connect
section plain anabranch doctor /dev/nvme0n1
section plain-proof anabranch doctor /dev/nvme0n1 --prove
disconnect
