# What `anabranch export --to fio` writes, run by fio against two drives that are alike: each stream's
# writes by a job of its own, and the whole trace placed by the ranges of dp_scheme.
cd /job || exit 1
connect
section streams fio streams.fio
disconnect
PORT=$PORT_OF_RANGES
connect
section ranges fio --name=ranges --ioengine=io_uring_cmd --cmd_type=nvme --dataplacement=fdp --plid_select=scheme \
    --dp_scheme=dp_scheme --read_iolog=trace.iolog --replay_redirect=/dev/ng0n1 --iodepth=32 --thread=1
section job fio --parse-only ranges.fio
disconnect
