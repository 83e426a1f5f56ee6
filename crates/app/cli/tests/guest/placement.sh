# Flexible Data Placement: nvme-cli's verbs, fio's passthrough, the kernel's write hints.
connect
section controller nvme id-ctrl /dev/nvme0 -o json
section namespace nvme id-ns /dev/nvme0n1 -o json
group=1
section configurations nvme fdp configs /dev/nvme0 -e $group -o json
section usage nvme fdp usage /dev/nvme0 -e $group -o json
section feature nvme fdp feature /dev/nvme0 -e $group
section statistics-before nvme fdp stats /dev/nvme0 -e $group -o json
section status-before nvme fdp status /dev/nvme0n1 -o json

placed() {
    fio --name=write --filename=/dev/ng0n1 --ioengine=io_uring_cmd --cmd_type=nvme --rw=write --bs=64k --iodepth=4 \
        --dataplacement=fdp --plids="$1" --offset="$2" --size="$3"
}
section fio-1 placed 1 0 4M
section fio-2 placed 2 4M 2M
section status-placed nvme fdp status /dev/nvme0n1 -o json

# Without a directive: placement identifier 0. Reads change nothing.
must dd if=/dev/zero of=/dev/nvme0n1 bs=64k count=16 seek=128 oflag=direct
must dd if=/dev/nvme0n1 of=/dev/null bs=64k count=64 iflag=direct
section status-default nvme fdp status /dev/nvme0n1 -o json

# Events, where they were enabled; an identifier that is none is not fatal.
must nvme fdp set-events /dev/nvme0n1 -p 0 -e 1 -t 0,3
must nvme fdp set-events /dev/nvme0n1 -p 1 -e 1 -t 0
must nvme write /dev/nvme0n1 -s 4096 -c 0 -z 4096 -d /dev/zero -T 2 -S 60000
# An update gives whole units.
must nvme fdp update /dev/nvme0n1 -p 1,2
section status-updated nvme fdp status /dev/nvme0n1 -o json
section events nvme fdp events /dev/nvme0 -e $group -E -o json
section statistics-after nvme fdp stats /dev/nvme0 -e $group -o json

# The kernel's own write streams (since 6.16): a write lifetime hint becomes one.
section kernel-streams cat /sys/block/nvme0n1/queue/max_write_streams
section hinted fio --name=hint --filename=/dev/nvme0n1 --ioengine=psync --direct=1 --rw=write --bs=64k --offset=16M --size=1M --write_hint=short
section status-hinted nvme fdp status /dev/nvme0n1 -o json

# PRACT (dword 12, bit 29), which fio sets in all it passes through since 3.41: there is nothing to protect.
section protected-write nvme io-passthru /dev/nvme0n1 -O 1 -n 1 --cdw12=0x20000000 -l 4096 -w -i /dev/zero
section protected-read nvme io-passthru /dev/nvme0n1 -O 2 -n 1 --cdw12=0x20000000 -l 4096 -r
disconnect
