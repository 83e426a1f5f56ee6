# The work on a fresh drive: with RECORD on the drive as it is, and recorded; else on the drive as it is steered.
# One queue for I/O: by several, requests under way overtake each other, and the drive takes them in an order that the
# recording does not have.
connect --nr-io-queues=1
work() { sh /job/chain-work.sh "$1" "$FILE_SYSTEM" "$PROGRAM"; }
if [ -n "$RECORD" ]; then
    section work anabranch -q record --device /dev/nvme0n1 -o /tmp/trace.parquet --json -- \
        sh /job/chain-work.sh /dev/nvme0n1 "$FILE_SYSTEM" "$PROGRAM"
    raw_section trace cat /tmp/trace.parquet
else
    steer --scheme anabranch --spare "$SPARE" --metadata "$METADATA" --collect "$COLLECT" --json
    section work work /dev/ublkb0
    kill -INT $server
    wait $server
    section steered cat /tmp/steered
fi
section log nvme fdp stats /dev/nvme0 -e 1 -o json
disconnect
