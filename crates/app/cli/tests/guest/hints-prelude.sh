# Hints of files on a SCSI drive, as tests of them share it: the rules by name, and who sets the hints.
modprobe sd_mod
# Streams of files by their names.
file_rules() {
    cat <<END
[[rule]]
file = "*.log"
stream = 1
[[rule]]
file = "*.idx"
stream = 2
[[rule]]
file = "*.sst"
stream = 3
[[rule]]
file = "*.ibd"
stream = 4
END
}
# MiB of a file, buffered unless more is said.
fill() { must dd if=/dev/urandom of="/mnt/$1" bs=256k count=$((4 * $2)) conv=notrunc $3; }
# Waits until a file that was opened has been seen to: the daemon reads its queue within a moment.
seen() { usleep 500000; }
hints() {
    : >/tmp/said
    /job/ld-linux-x86-64.so.2 --library-path /job /job/anabranch steer --mount /mnt --scheme manual:rules=/tmp/rules.toml \
        --json "$@" >/tmp/hinted 2>/tmp/said &
    server=$!
    await_word 30 'setting the hints' /tmp/said $server 'no hints'
}
