# A whole life of streams, by nvme-cli and by fio's passthrough.
section discover nvme discover -t tcp -a 10.0.2.2 -s "$PORT" -q "$host_name" -I "$host_identifier"
connect
section controller nvme id-ctrl /dev/nvme0 -o json
section namespace nvme id-ns /dev/nvme0n1 -o json
section list nvme list -o json
section smart-before nvme smart-log /dev/nvme0 -o json

receive() { nvme dir-receive /dev/nvme0n1 "$@"; }
send() { nvme dir-send /dev/nvme0n1 "$@"; }
stream_write() {
    fio --name=write --filename=/dev/ng0n1 --ioengine=io_uring_cmd --cmd_type=nvme --rw=write --bs=64k --iodepth=4 \
        --dataplacement=streams --plids="$1" --offset="$2" --size="$3"
}

# Nothing until it is enabled.
raw_section directives-before receive -D 0 -O 1 -l 4096 -b
section status-before receive -D 1 -O 2 -l 64
must send -D 0 -O 1 -e 1 -T 1
raw_section directives-enabled receive -D 0 -O 1 -l 4096 -b
raw_section parameters receive -D 1 -O 1 -l 32 -b
section readable receive -D 1 -O 1 -l 32 -H

# A write with a new identifier opens it; identifiers are sparse.
raw_section none-open receive -D 1 -O 2 -l 64 -b
section fio-3 stream_write 3 0 4M
section fio-65535 stream_write 65535 4M 8M
section fio-700 stream_write 700 12M 2M
dd if=/dev/urandom of=/tmp/page bs=4096 count=1 2>/dev/null
must nvme write /dev/nvme0n1 -s 8192 -c 0 -z 4096 -d /tmp/page -T 1 -S 9
raw_section four-open receive -D 1 -O 2 -l 64 -b

# What was written reads back.
must nvme read /dev/nvme0n1 -s 8192 -c 0 -z 4096 -d /tmp/back
must cmp /tmp/page /tmp/back

# One is released, and one that is not open: no error.
must send -D 1 -O 1 -S 700
must send -D 1 -O 1 -S 4242
raw_section three-open receive -D 1 -O 2 -l 64 -b

# Resources: fewer may be granted, and not twice.
section allocate receive -D 1 -O 3 -r 2
raw_section allocated receive -D 1 -O 1 -l 32 -b
section allocate-again receive -D 1 -O 3 -r 1
must send -D 1 -O 2
must send -D 1 -O 2
raw_section released receive -D 1 -O 1 -l 32 -b

# Disabled and enabled again: all are released.
must stream_write 5 0 1M
must send -D 0 -O 1 -e 0 -T 1
section disabled receive -D 1 -O 2 -l 64
must send -D 0 -O 1 -e 1 -T 1
raw_section enabled-again receive -D 1 -O 2 -l 64 -b

# A controller reset disables.
must nvme reset /dev/nvme0
await 10 nvme id-ctrl /dev/nvme0
raw_section directives-after-reset receive -D 0 -O 1 -l 4096 -b

# What is not supported is refused, by its name.
section bad-opcode nvme admin-passthru /dev/nvme0 --opcode=0xc7
section bad-log nvme get-log /dev/nvme0 --log-id=0xc5 --log-len=512
section bad-directive send -D 0 -O 1 -e 1 -T 5
section smart-after nvme smart-log /dev/nvme0 -o json
section errors nvme error-log /dev/nvme0 -e 4 -o json
disconnect
