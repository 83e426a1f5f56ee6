# Both ways compared by the drive's own log in periods of PERIOD seconds, under a load of LOAD seconds.
connect
steer --scheme dac --json --metrics 127.0.0.1:9470 --compare-every "$PERIOD" --compare-pairs 6 --tbw 100TB --price 100
must dd if=/dev/zero of=/dev/ublkb0 bs=1M count=32 oflag=direct
section load fio --name=load --filename=/dev/ublkb0 --rw=randwrite --bs=16k --direct=1 --ioengine=io_uring --iodepth=8 \
    --random_distribution=zipf:1.1 --time_based --runtime="$LOAD"
sleep 2
anabranch top | cat >/tmp/top
unsteer
section top cat /tmp/top
section steered cat /tmp/steered
disconnect
