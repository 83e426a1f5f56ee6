"""Instructions a write by function, of ublk beyond the raw drive and of others beyond ublk: counts of count.c -> tables in markdown.

Use: where.py TOLD BLOCKS     (called by steer-cost.sh)
"""

import bisect
import collections
import sys

# Marks before the first measure, and of each: its begin, the end of the long load, the end of the short one.
BEFORE, EACH = 2, 3
SHOWN = 24
KERNEL = 1 << 63


def symbols_of(lines):
    """By kind of measure, the kernel's functions: first addresses and names, sorted. Those of "all" are of each."""
    found = collections.defaultdict(list)
    for line in lines:
        if line.startswith("@symbol"):
            _, kind, address, _, *name = line.split()
            found[kind].append((int(address, 16), " ".join(name)))
    return {kind: sorted(found["all"] + found[kind]) for kind in [*found, "raw"]}


def name_of(address, symbols):
    """The kernel's function; of programs, all are one."""
    if address < KERNEL:
        return "programs"
    at = bisect.bisect_right(symbols, (address, chr(sys.maxunicode))) - 1
    return symbols[at][1] if at >= 0 else "?"


def periods_of(lines):
    """What was counted up to each mark: address to instructions."""
    periods, counts = [], collections.Counter()
    for line in lines:
        if line.startswith("@block "):
            _, address, count = line.split()
            counts[int(address, 16)] += int(count)
        elif line.startswith("@mark"):
            periods.append(counts)
            counts = collections.Counter()
    return periods


def main():
    told, blocks = (open(path, encoding="utf-8", errors="replace").readlines() for path in sys.argv[1:])
    symbols, periods = symbols_of(told), periods_of(blocks)
    writes = next(int(line.split()[1]) for line in told if line.startswith("@writes"))
    sums, rounds = collections.defaultdict(collections.Counter), collections.Counter()
    kinds = [line.split()[1] for line in told if line.startswith("@cost")]
    for turn, kind in enumerate(kinds):
        _, long, short = periods[BEFORE + turn * EACH :][:EACH]
        rounds[kind] += 1
        for address in long | short:
            count = long[address] - short[address]
            sums[kind][name_of(address, symbols[kind])] += count
    for kind in (kind for kind in sums if kind != "raw"):
        base = "raw" if kind == "ublk" else "ublk"
        beyond = {
            name: (sums[kind][name] / rounds[kind] - sums[base][name] / rounds[base]) / writes
            for name in sums[kind] | sums[base]
        }
        # The spinner is a program too, and has what is left over.
        beyond.pop("programs", None)
        print(f"\n| the kernel's functions, {kind} beyond {base} | instructions a write |\n|---|---:|")
        probe = sum(count for name, count in beyond.items() if name.endswith("[bpf]"))
        print(f"| all eBPF programs | {probe:.0f} |")
        for name, count in sorted(beyond.items(), key=lambda row: -abs(row[1]))[:SHOWN]:
            print(f"| {name} | {count:.0f} |")


main()
