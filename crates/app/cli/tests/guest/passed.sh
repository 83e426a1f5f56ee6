# Programs that write past the block layer, by io_uring and by a call that waits, with and without placements; and one by
# the block device.
connect
cat >/tmp/load <<'LOAD'
exec >/tmp/words 2>&1
set -e
passed() {
    fio --name=pass --filename=/dev/ng0n1 --ioengine=io_uring_cmd --cmd_type=nvme --rw=write --bs=64k --iodepth=4 "$@"
}
passed --dataplacement=fdp --plids=1 --offset=0 --size=12M --loops=2
passed --dataplacement=fdp --plids=5 --offset=12M --size=8M
passed --offset=24M --size=2M
nvme write /dev/ng0n1 -s 10240 -c 15 -z 65536 -d /dev/zero -T 2 -S 3
fio --name=block --filename=/dev/nvme0n1 --ioengine=psync --direct=1 --rw=write --bs=64k --offset=32M --size=3M
LOAD
section kernel uname -r
section before nvme fdp stats /dev/nvme0 -e 1 -o json
section recorded anabranch -q record --device /dev/nvme0n1 -o /tmp/trace.parquet --json -- sh /tmp/load
section after nvme fdp stats /dev/nvme0 -e 1 -o json
section words cat /tmp/words
section contexts anabranch -q contexts /tmp/trace.parquet --json
raw_section trace cat /tmp/trace.parquet
section replayed anabranch -q replay /tmp/trace.parquet --device fdp-8ruh --unit 8MiB -s placed+fdp,baseline+gc --json
disconnect
