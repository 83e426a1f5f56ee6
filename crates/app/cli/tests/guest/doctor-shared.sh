# A drive without namespaces: another configuration of its placement is chosen, then namespaces are made, two of which share a
# handle.
must nvme connect -t tcp -a 10.0.2.2 -s "$PORT" -n "$NQN" -q "$host_name" -I "$host_identifier"
await 10 test -c /dev/nvme0
# The second of those there are: half of the handles. CDW11 has the endurance group, CDW12 the index and "enabled".
must nvme set-feature /dev/nvme0 -f 0x1d -V 1 -c 0x101
controller=$(cat /sys/class/nvme/nvme0/cntlid)
made() {
    must nvme create-ns /dev/nvme0 --nsze=16384 --ncap=16384 --flbas=1 --nmic=1 --endg-id=1 --nphndls=2 --phndls="$2"
    must nvme attach-ns /dev/nvme0 --namespace-id="$1" --controllers="$controller"
    await 10 test -c "/dev/ng0n$1"
}
made 1 0,1
section alone anabranch doctor /dev/ng0n1 --json
made 2 2,1
section both anabranch doctor /dev/nvme0n1
section both-json anabranch doctor /dev/nvme0n1 --json
section other anabranch doctor /dev/ng0n2
steer --scheme baseline --shadow off --unwatched
section note cat /tmp/steer_error
unsteer
steer --scheme baseline --shadow off --unwatched --handles 0
section no-note cat /tmp/steer_error
unsteer
must nvme detach-ns /dev/nvme0 --namespace-id=2 --controllers="$controller"
await 10 test ! -e /dev/ng0n2
section hidden anabranch doctor /dev/ng0n1
must nvme disconnect -n "$NQN"
