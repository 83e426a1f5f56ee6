# DH-HMAC-CHAP by the kernel: drives at PORT, PORT_384 and PORT_512, whose secrets are SECRET, SECRET_384, SECRET_512, the drives' own OWN.
try() {
    port=$1
    shift
    nvme connect -t tcp -a 10.0.2.2 -s "$port" -n "$NQN" "$@"
}
ours="-q $host_name -I $host_identifier"
# Connects, writes and reads back what was written, and goes.
works() {
    try "$@" || return
    await 10 test -b /dev/nvme0n1
    fio --name=work --filename=/dev/nvme0n1 --ioengine=io_uring --direct=1 --rw=randwrite --bs=16k --iodepth=8 --size="$SIZE" \
        --verify=crc32c --verify_fatal=1 || return
    disconnect
}
# A host that is refused is left with nothing.
gone() {
    try "$@"
    status=$?
    [ ! -e /dev/nvme0n1 ] || echo "a drive is there"
    [ ! -e /dev/nvme0n1 ] || disconnect
    return $status
}
# shellcheck disable=SC2086 # words
{
section one-way works "$PORT" $ours --dhchap-secret="$SECRET"
section mutual works "$PORT" $ours --dhchap-secret="$SECRET" --dhchap-ctrl-secret="$OWN"
section sha384 works "$PORT_384" $ours --dhchap-secret="$SECRET_384" --dhchap-ctrl-secret="$OWN"
section sha512 works "$PORT_512" $ours --dhchap-secret="$SECRET_512"
section wrong gone "$PORT" $ours --dhchap-secret="$OWN"
section none gone "$PORT" $ours
section wrong-drive gone "$PORT" $ours --dhchap-secret="$SECRET" --dhchap-ctrl-secret="$SECRET"
section no-drive-secret gone "$PORT_512" $ours --dhchap-secret="$SECRET_512" --dhchap-ctrl-secret="$OWN"
section stranger gone "$PORT" -q nqn.2014-08.org.nvmexpress:uuid:00000000-0000-4000-8000-000000000001 \
    -I 00000000-0000-4000-8000-000000000001 --dhchap-secret="$SECRET"
section again works "$PORT" $ours --dhchap-secret="$SECRET"
}
section kernel dmesg
