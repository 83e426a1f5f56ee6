# What the doctor says of a drive, and what becomes of a write through each conduit. PORT2 has a drive with streams.
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
disconnect
section nothing anabranch doctor /dev/ng0n1
section host anabranch doctor
PORT=$PORT2
connect
section streams anabranch doctor /dev/ng0n1 --prove --json
disconnect
