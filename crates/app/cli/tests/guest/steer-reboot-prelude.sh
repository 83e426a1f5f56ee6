# Both boots: what is steered is namespace 1; namespace 2 has what the machine keeps elsewhere, as its own disk would.
# The kernel numbers namespaces as it finds them.
connect
await 10 test -b /dev/nvme0n2
# The block device of a namespace, without its directory.
named() { grep -l "^$1$" /sys/block/nvme0n*/nsid | cut -d/ -f4; }
steered=$(named 1)
DRIVE=/dev/ng${steered#nvme}
await 10 test -c "$DRIVE"
kept=/dev/$(named 2)
mkdir -p /tmp/kept
begin() { steer --scheme "$SCHEME" --lifetimes /tmp/kept/lifetimes.json --shadow off --json "$@"; }
