#!/usr/bin/env python3
"""What each program of the probe takes in the kernel, by the kernel's own count (kernel.bpf_stats_enabled): nanoseconds
a run, and for each 4 KiB written; beside them the reader's processor time. Without hints: their program looks at
each system call of the machine, others' too. Loads on ext4 on a loop device over tmpfs.

Use, as root: bench/probe-cost.py [--rounds 7] [--command target/release/anabranch]
"""

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

SWITCH = pathlib.Path("/proc/sys/kernel/bpf_stats_enabled")
MIB = 192
DB_BENCH = [
    "db_bench", "--benchmarks=fillrandom,overwrite", "--num=100000", "--value_size=800", "--compression_type=none",
    "--write_buffer_size=4194304", "--target_file_size_base=4194304", "--max_bytes_for_level_base=16777216",
    "--bytes_per_sync=1048576", "--wal_bytes_per_sync=262144", "--db={place}/db",
]
LOADS = {
    "dd, 4 KiB writes": ["dd", "if=/dev/zero", "of={place}/a", "bs=4k", f"count={MIB * 256}", "conv=fsync"],
    "dd, 1 MiB writes": ["dd", "if=/dev/zero", "of={place}/b", "bs=1M", f"count={MIB}", "conv=fsync"],
    "dd, direct, 4 KiB": ["dd", "if=/dev/zero", "of={place}/c", "bs=4k", f"count={MIB * 64}", "oflag=direct"],
    "db_bench": DB_BENCH,
}


def programs(process):
    """Runs and nanoseconds of each program that a process holds, by its number."""
    found = {}
    for number in os.listdir(f"/proc/{process}/fdinfo"):
        try:
            text = pathlib.Path(f"/proc/{process}/fdinfo/{number}").read_text(encoding="utf-8")
        except FileNotFoundError:
            continue
        told = dict(re.findall(r"^(\w+):\s+(\d+)$", text, re.MULTILINE))
        if "run_cnt" in told and "prog_id" in told:
            found[int(told["prog_id"])] = (int(told["run_cnt"]), int(told["run_time_ns"]))
    return found


def used(process):
    """Processor time of a process, nanoseconds."""
    fields = pathlib.Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def written(device):
    """4 KiB written to a device so far."""
    return int(pathlib.Path(f"/sys/class/block/{pathlib.Path(device).name}/stat").read_text().split()[6]) // 8


def one(command, device, place, call):
    """Nanoseconds for each 4 KiB written: of the programs, and of the reader; and the programs' runs and nanoseconds, as
    they were loaded: for pages made dirty, for requests."""
    with subprocess.Popen(
        [command, "-q", "record", "--no-hints", "--device", device, "-o", f"{place}/../t.parquet", "--for", "1h"],
        stdout=subprocess.DEVNULL,
    ) as probe:
        while len(programs(probe.pid)) < 2:
            time.sleep(0.1)
        time.sleep(0.5)
        before, cpu, pages = programs(probe.pid), used(probe.pid), written(device)
        subprocess.run([word.format(place=place) for word in call], check=True, capture_output=True)
        os.sync()
        time.sleep(0.5)
        after, cpu, pages = programs(probe.pid), used(probe.pid) - cpu, written(device) - pages
        probe.terminate()
    runs = {number: tuple(now - then for now, then in zip(after[number], before[number])) for number in after}
    return sum(took for _, took in runs.values()) / pages, cpu / pages, [runs[number] for number in sorted(runs)]


def told(values):
    """The median, and how far the rounds are apart."""
    return f"{statistics.median(values):.0f} ({min(values):.0f} to {max(values):.0f})"


def main():
    """Loads in turns, and a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--command", default="target/release/anabranch")
    asked = parser.parse_args()
    was, found = SWITCH.read_text(encoding="utf-8"), {name: [] for name in LOADS}
    with tempfile.TemporaryDirectory() as directory, tempfile.NamedTemporaryFile(dir="/dev/shm") as image:
        image.truncate(2 << 30)
        device = subprocess.check_output(["losetup", "--find", "--show", image.name], text=True).strip()
        place = pathlib.Path(directory, "mnt")
        place.mkdir()
        try:
            SWITCH.write_text("1", encoding="utf-8")
            subprocess.run(["mkfs.ext4", "-q", device], check=True)
            subprocess.run(["mount", device, place], check=True)
            for _ in range(asked.rounds):
                for name, call in LOADS.items():
                    found[name].append(one(asked.command, device, place, call))
                    subprocess.run(f"rm -rf {place}/*; sync -f {place}", shell=True, check=True)
        finally:
            SWITCH.write_text(was, encoding="utf-8")
            subprocess.run(["umount", place], check=False)
            subprocess.run(["losetup", "--detach", device], check=False)
    print(f"{asked.rounds} rounds, load {os.getloadavg()[0]:.1f}; ns, medians and their span")
    print("| load | programs, for each 4 KiB | reader, for each 4 KiB | a page made dirty | a request |")
    print("|---|---|---|---|---|")
    for name, rounds in found.items():
        runs = [[took / max(count, 1) for count, took in one[2]] for one in rounds]
        columns = [told([each[at] for each in runs]) for at in (0, 1)]
        print(f"| {name} | {told([one[0] for one in rounds])} | {told([one[1] for one in rounds])} | {' | '.join(columns)} |")


if __name__ == "__main__":
    main()
