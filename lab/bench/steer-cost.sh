#!/usr/bin/env bash
# Instructions that a write costs in a Linux guest: on the drive itself, through a ublk device that only passes on
# (--unwatched --scheme baseline), with the program context of each page (--scheme baseline), with its control group beside
# (--tenant), with the scheme anabranch, with the models of the drive beside it (--shadow on), and with a host that collects
# (--collect host).
# QEMU counts: an instruction of the one processor takes a nanosecond of the guest's time, kernel and programs together.
# Use: lab/bench/steer-cost.sh [ROUNDS [WRITES [BLOCK [DEPTH]]]]      (3 20000 4k 32)
# COUNT=1: also, by the kernel's functions, what they are (slower).
# IOPS=pcie (or 1), IOPS=tcp: in place of instructions, by the machine's clock: writes a second, as shares of the drive's own in the
# same round; microseconds of a write; io_uring_enter and context switches a write. Medians of the whole rounds of an hour (15
# of 5,000 writes unless told otherwise, 2 at least). The drive is QEMU's own behind PCIe (scripts/guest-qemu.sh), or that of
# `anabranch serve`. QEMU emulates the processor: these are shares of emulated work.
# KINDS="ublk anabranch": only these beside the raw drive. PROCESSORS: the guest's (1).
# ANABRANCH: the program; else it is built, released. GUEST_KERNEL as for scripts/guest.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."
rounds=${1:-${IOPS:+15}} writes=${2:-${IOPS:+5000}} block=${3:-4k} depth=${4:-32}
rounds=${rounds:-3} writes=${writes:-20000}
. lab/bench/in-guest.sh
nqn=nqn.2014-08.org.example:cost
drive=''
if [ "${IOPS:-tcp}" = tcp ]; then
    served --nqn "$nqn" --device fdp-8ruh --size 1GiB --unit 16MiB
else
    newer=$(scripts/guest-qemu.sh)
    PATH=$newer:$PATH
    truncate -s 1G "$work/drive"
    drive="-device nvme-subsys,id=subsystem,nqn=$nqn,fdp=on,fdp.runs=16777216,fdp.nrg=1,fdp.nruh=8 \
        -device nvme,id=controller,serial=cost,subsys=subsystem \
        -drive file=$work/drive,id=contents,if=none,format=raw,cache=unsafe,discard=unmap \
        -device nvme-ns,drive=contents,bus=controller,logical_block_size=4096,physical_block_size=4096,fdp.ruhs=0;1;2;3;4;5;6;7"
fi
cc -O2 -static -o "$work/spin" lab/bench/instructions/spin.c
plugin=
if [ -n "${COUNT:-}" ]; then
    cc -O2 -shared -fPIC -fvisibility=hidden -o "$work/count.so" lab/bench/instructions/count.c
    plugin="-plugin $work/count.so"
fi
{
    printf "%s='%s'\n" PORT "$port" NQN "$nqn" ROUNDS "$rounds" WRITES "$writes" BLOCK "$block" DEPTH "$depth" COUNT "${COUNT:-}" IOPS "${IOPS:-}" KINDS "${KINDS:-}"
    cat crates/app/cli/tests/guest/prelude.sh crates/app/cli/tests/guest/steer-prelude.sh lab/bench/instructions/guest.sh lab/bench/steer-cost/guest.sh
} >"$work/script"
hardware="-icount shift=0 $plugin"
[ -z "${IOPS:-}" ] || hardware=$drive
GUEST_QEMU="-smp ${PROCESSORS:-1} $hardware" in_guest "$work/spin" >"$work/told" 2>"$work/blocks" || {
    status=$?
    cat "$work/told"
    grep -v '^@' "$work/blocks" || true
    # Of writes a second the rounds before the end of the time count.
    [ -n "${IOPS:-}" ] && [ $status = 124 ] || exit 1
}
if [ -n "${IOPS:-}" ]; then
    python3 lab/bench/steer-cost/iops.py "$work/told"
    exit
fi
awk '
    /^@cost/ { if (!($2 in count)) order[++kinds] = $2
               value[$2, ++count[$2]] = $3; sum[$2] += $3
               if (count[$2] == 1 || $3 < least[$2]) least[$2] = $3
               if ($3 > most[$2]) most[$2] = $3 }
    END { print "instructions a write: mean (least to most), and writes a second of a processor, of the raw drive"
          for (i = 1; i <= kinds; i++) { kind = order[i]
              printf "%-10s %7.0f (%d to %d)  %.2f\n", kind, sum[kind] / count[kind], least[kind], most[kind],
                  sum["raw"] / count["raw"] / (sum[kind] / count[kind])
              if (kind != "raw" && kind != "ublk" && count["ublk"])
                  printf "%-10s beyond the bare ublk device: %.0f\n", "", sum[kind] / count[kind] - sum["ublk"] / count["ublk"] }
          if (count["collects"] && count["models"])
              printf "a host that collects beyond the models: %.0f\n",
                  sum["collects"] / count["collects"] - sum["models"] / count["models"] }' "$work/told"
[ -z "$plugin" ] || python3 lab/bench/steer-cost/where.py "$work/told" "$work/blocks"
