# A server that is stopped, one of whose queues is, one whose watchdog is killed, one without memory, and a whole group of processes killed.
connect
OPTIONS="--scheme autostream-sfr --shadow off --watchdog 8"
# As the service does: whoever ended is followed by another.
keep() {
    while :; do
        /job/ld-linux-x86-64.so.2 --library-path /job /job/anabranch steer --device /dev/ng0n1 $OPTIONS >/tmp/kept 2>>/tmp/kept_error &
        echo $! >/tmp/server
        wait $! && break
        usleep 100000
    done
}
# The server's processor time does not tell; who it is, is told by a file.
current() { server=$(cat /tmp/server); }
load() {
    fio --name="$1" --directory=/mnt --rw=randwrite --bs=16k --size=8M --io_size="$2" --numjobs=2 --direct=1 --ioengine=io_uring --iodepth=8 \
        --verify=crc32c --verify_fatal=1 --verify_state_save=0 --norandommap --fsync=64 --fallocate=none --group_reporting >/tmp/load 2>&1 &
    load=$!
}
: >/tmp/kept_error
keep &
await 60 grep -q ublkb0 /tmp/kept_error
must mkfs.ext4 -q /dev/ublkb0
must mount /dev/ublkb0 /mnt
load stopped "$WRITTEN"
usleep 1500000
current
stopped=$server
begin=$(cut -d . -f 1 /proc/uptime)
kill -STOP $stopped
await 60 grep -q 'going on with' /tmp/kept_error
section silent_s echo $(($(cut -d . -f 1 /proc/uptime) - begin))
wait $load
loaded=$?
section load-stopped sh -c "cat /tmp/load; exit $loaded"
section told grep 'was silent for 8 s and was killed' /tmp/kept_error
section is-dead test ! -e /proc/$stopped

# One of its queues alone: the thread is frozen, all others go on.
must mkdir /tmp/groups
must mount -t cgroup2 groups /tmp/groups
must mkdir /tmp/groups/stuck
echo threaded >/tmp/groups/stuck/cgroup.type
current
stuck=$server
: >/tmp/kept_error
queue=$(grep -l '^steer-0-0$' /proc/"$stuck"/task/*/comm)
queue=${queue%/comm}
load queue "$WRITTEN"
usleep 1000000
echo "${queue##*/}" >/tmp/groups/stuck/cgroup.threads
echo 1 >/tmp/groups/stuck/cgroup.freeze
await 10 grep -q 'frozen 1' /tmp/groups/stuck/cgroup.events
section queues sh -c "grep -c '^steer-0-' /proc/$stuck/task/*/comm | grep -c ':1$'"
section queue-alone grep State: /proc/"$stuck"/status
await 60 grep -q 'going on with' /tmp/kept_error
wait $load
loaded=$?
section load-queue sh -c "cat /tmp/load; exit $loaded"
section told-queue grep 'was silent for 8 s and was killed' /tmp/kept_error
section queue-is-dead test ! -e /proc/"$stuck"

# Stopped for a moment is not stuck; and a watchdog that is killed says so.
current
kept=$server
kill -STOP $kept
sleep 2
kill -CONT $kept
must dd if=/dev/zero of=/mnt/goes-on bs=64k count=16 conv=fsync
sleep 6
current
section not-stuck test "$kept" = "$server"
for one in /proc/[0-9]*; do
    # The process that reads programs' files is the server's child as well.
    if grep -q inspector "$one/cmdline" 2>/dev/null; then continue; fi
    case $(sed -n 's/^PPid:[^0-9]*//p' "$one/status" 2>/dev/null) in "$server") guard=${one#/proc/} ;; esac
done
must kill -9 $guard
await 20 grep -q 'the watchdog was killed' /tmp/kept_error
section lives test -e /proc/$server

# The kernel needs memory and kills; it is not the server that is chosen. What kills a whole group of processes is survived.
must mkdir /tmp/groups/steer
echo $server >/tmp/groups/steer/cgroup.procs
sleep 300 &
echo 1000 >/proc/$!/oom_score_adj
echo f >/proc/sysrq-trigger
await 20 grep -q . /proc/$server/status
section spared test -e /proc/$server
load grouped 16M
usleep 1000000
: >/tmp/kept_error
echo 1 >/tmp/groups/steer/cgroup.kill
await 60 grep -q 'going on with' /tmp/kept_error
wait $load
loaded=$?
section load-grouped sh -c "cat /tmp/load; exit $loaded"
must umount /mnt
section checked e2fsck -fn /dev/ublkb0
current
must kill -INT $server
await 20 test ! -e /dev/ublkb0
section ended test ! -e /dev/ublkb0
await 60 sh -c "! grep -l '[a]nabranch' /proc/[0-9]*/cmdline"
section no-guard true
section kernel sh -c "dmesg | grep -E 'I/O error|EXT4-fs error|Buffer I/O|hung'; true"
disconnect
