# A drive with FDP, watched while programs write to it: what it counts itself stands beside the shadow drives'.
connect
written() { nvme fdp stats /dev/nvme0 -e 1 -o json; }
section before written
# Not by the function: the signal at the end must reach the command.
/job/ld-linux-x86-64.so.2 --library-path /job /job/anabranch -q watch /dev/nvme0n1 --device fdp-8ruh --unit 4MiB --sample 1/1 -s baseline,baseline+fdp,pcstream \
    --every 1s -o /tmp/snapshot.json >/tmp/words &
watcher=$!
for _ in $(seq 100); do
    [ -e /tmp/snapshot.json ] && break
    sleep 1
done
section kernel uname -r
section fill fio --name=fill --filename=/dev/nvme0n1 --rw=write --bs=256k --direct=1 --ioengine=io_uring --iodepth=8
section load fio --name=load --filename=/dev/nvme0n1 --rw=randwrite --bs=4k --direct=1 --ioengine=io_uring --iodepth=32 \
    --io_size="$AMOUNT" --norandommap --randseed=7
sync
section after written
kill -INT $watcher
wait $watcher
section ended echo $?
section watched cat /tmp/snapshot.json
section words cat /tmp/words
disconnect
