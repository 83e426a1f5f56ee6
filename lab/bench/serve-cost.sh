#!/usr/bin/env bash
# Instructions that a request costs on `anabranch serve` and on the kernel's own NVMe/TCP target (nvmet, over null_blk in
# memory), in a Linux guest whose kernel is the host, over loopback; and on that null_blk without a target.
# QEMU counts: an instruction of the one processor takes a nanosecond of the guest's time, kernel and programs together.
# Medians (least to most) of the rounds. Use: lab/bench/serve-cost.sh [ROUNDS [LOAD…]]      a load: KIND,BLOCK,DEPTH,COUNT, as randwrite,4k,16,4000
# ANABRANCH: the program; else it is built, released. GUEST_KERNEL as for scripts/guest.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."
rounds=${1:-3}
shift || true
[ $# -gt 0 ] || set -- randwrite,4k,1,6000 randwrite,4k,16,6000 randread,4k,1,6000 randread,4k,16,6000 write,128k,16,1500
. lab/bench/in-guest.sh
cc -O2 -static -o "$work/spin" lab/bench/instructions/spin.c
{
    printf "%s='%s'\n" PORT '' NQN nqn.2014-08.org.example:cost ROUNDS "$rounds" LOADS "$*" DRIVE_MIB 256 USED 192m
    cat crates/app/cli/tests/guest/prelude.sh lab/bench/instructions/guest.sh lab/bench/serve-cost/guest.sh
} >"$work/script"
GUEST_QEMU="-smp 1 -m 1536 -icount shift=0" in_guest "$work/spin" >"$work/told" || { cat "$work/told"; exit 1; }
awk '
    /^@cost/ { split($2, what, ","); load = what[1] " " what[2] ", depth " what[3]; drive = what[4]
               if (!(load in known)) { known[load]; order[++loads] = load }
               key = load SUBSEP drive
               for (at = ++count[key]; at > 1 && value[key, at - 1] > $3; at--) value[key, at] = value[key, at - 1]
               value[key, at] = $3 }
    function median(key) { return value[key, int((count[key] + 1) / 2)] }
    function told(key) { return sprintf("%d (%d to %d)", median(key), value[key, 1], value[key, count[key]]) }
    END { print "| load | null_blk alone | nvmet | serve | serve of nvmet |\n|---|---:|---:|---:|---:|"
          for (i = 1; i <= loads; i++) { load = order[i]; kernel = load SUBSEP "nvmet"; ours = load SUBSEP "serve"
              printf "| %s | %s | %s | %s | %.2f |\n", load, told(load SUBSEP "bare"), told(kernel), told(ours),
                  median(ours) / median(kernel) } }' "$work/told"
