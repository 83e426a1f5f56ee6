# Instructions of requests on two drives in the guest's memory: the kernel's NVMe/TCP target with a block device in memory, and
# `anabranch serve`. The host is the guest's own kernel, with one queue.
must modprobe nvmet-tcp
memory=/sys/kernel/config/nullb/memory
must mkdir "$memory"
echo 1 >"$memory/memory_backed"
echo "$DRIVE_MIB" >"$memory/size"
echo 4096 >"$memory/blocksize"
echo 1 >"$memory/power"
await 10 test -b /dev/memory
subsystem=/sys/kernel/config/nvmet/subsystems/kernel
port=/sys/kernel/config/nvmet/ports/1
must mkdir "$subsystem" "$subsystem/namespaces/1" "$port"
echo 1 >"$subsystem/attr_allow_any_host"
printf /dev/memory >"$subsystem/namespaces/1/device_path"
echo 1 >"$subsystem/namespaces/1/enable"
echo tcp >"$port/addr_trtype"
echo ipv4 >"$port/addr_adrfam"
echo 127.0.0.1 >"$port/addr_traddr"
echo 4430 >"$port/addr_trsvcid"
must ln -s "$subsystem" "$port/subsystems/kernel"
anabranch serve --device demo --mode streams --size "${DRIVE_MIB}MiB" --unit 4MiB --nqn "$NQN" --listen 127.0.0.1:4420 \
    >/dev/null 2>/tmp/served &
await_word 60 serving /tmp/served $! 'not served'
must nvme connect -t tcp -a 127.0.0.1 -s 4430 -n kernel -i 1 -k 600
await 60 test -b /dev/nvme0n1
must nvme connect -t tcp -a 127.0.0.1 -s 4420 -n "$NQN" -i 1 -k 600
await 60 test -b /dev/nvme1n1
run_fio() { fio --name=j --direct=1 --ioengine=io_uring --size="$USED" "$@" --minimal >/tmp/fio 2>&1 || { cat /tmp/fio; exit 1; }; }
load() {
    run_fio --filename="$2" --rw="$kind" --bs="$block" --iodepth="$depth" --io_size=1T --number_ios="$1" --randrepeat=1 --norandommap \
        --random_generator=lfsr
}
calibrate
drives='bare:/dev/memory nvmet:/dev/nvme0n1 serve:/dev/nvme1n1'
for drive in $drives; do run_fio --filename="${drive#*:}" --rw=write --bs=128k --iodepth=4; done
for _ in $(seq "$ROUNDS"); do
    for one in $LOADS; do
        IFS=, read -r kind block depth requests <<EOL
$one
EOL
        for drive in $drives; do count "$kind,$block,$depth,${drive%%:*}" "$requests" "${drive#*:}"; done
    done
done
