#!/usr/bin/env python3
"""What the probe costs, by two counts. Loads on ext4 on a loop device over tmpfs.

By the kernel's own (kernel.bpf_stats_enabled): nanoseconds that each program of the probe takes a run, and for each
4 KiB written; beside them the reader's processor time. Without hints: where the kernel cannot watch
fcntl alone, their program looks at each system call of the machine, others' too.

With --pairs N by what is done in a second, without the probe and with it (hints too), in turns: the median of the paired
slow-downs; and what all processors were at work beyond that, the reader's own time apart. PostgreSQL must be installed.

Use, as root: lab/bench/probe-cost.py [--rounds 7 [--sample 1/64] | --pairs 15] [--core 0] [--command target/release/anabranch]
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

SWITCH = pathlib.Path("/proc/sys/kernel/bpf_stats_enabled")
MIB = 192
DB_BENCH = [
    "db_bench", "--benchmarks=fillrandom,overwrite", "--num=100000", "--value_size=800", "--compression_type=none",
    "--write_buffer_size=4194304", "--target_file_size_base=4194304", "--max_bytes_for_level_base=16777216",
    "--bytes_per_sync=1048576", "--wal_bytes_per_sync=262144", "--db={place}/db",
]
FIO = ["fio", "--name=a", "--directory={place}", "--size=256m", "--randrepeat=1", "--output-format=json", "--eta=never"]
LOADS = {
    "dd, 4 KiB writes": ["dd", "if=/dev/zero", "of={place}/a", "bs=4k", f"count={MIB * 256}", "conv=fsync"],
    "dd, 1 MiB writes": ["dd", "if=/dev/zero", "of={place}/b", "bs=1M", f"count={MIB}", "conv=fsync"],
    "fio, 4 KiB at random": ["fio", "--name=a", "--directory={place}", "--size=128m", "--rw=randwrite", "--bs=4k", "--end_fsync=1"],
    "fio, 9 reads for a write": FIO + ["--rw=randrw", "--rwmixread=90", "--bs=4k", "--end_fsync=1", "--loops=4"],
    "dd, direct, 4 KiB": ["dd", "if=/dev/zero", "of={place}/c", "bs=4k", f"count={MIB * 64}", "oflag=direct"],
    "db_bench": DB_BENCH,
}


POSTGRES = pathlib.Path(__file__).parent.parent / "workloads/postgres-pgbench"
# What is paired: the call, and what it has done in a second by what it printed.
PAIRED = {
    "`db_bench`": (
        DB_BENCH[:2] + ["--num=300000"] + DB_BENCH[3:],
        lambda text: 2 / sum(1 / float(rate) for rate in re.findall(r"op (\d+) ops/sec", text)),
    ),
    "PostgreSQL, `pgbench`": (
        [str(POSTGRES / "run.sh"), "{place}"],
        lambda text: float(re.search(r"tps = ([\d.]+)", text)[1]),
    ),
    "`fio`, buffered writes of 4 KiB at random": (
        FIO + ["--rw=randwrite", "--bs=4k", "--end_fsync=1", "--io_size=512m"],
        lambda text: json.loads(text)["jobs"][0]["write"]["iops"],
    ),
    "`fio`, cached reads of 4 KiB at random": (
        FIO + ["--rw=randread", "--bs=4k", "--invalidate=0", "--loops=16"],
        lambda text: json.loads(text)["jobs"][0]["read"]["iops"],
    ),
    "`fio`, direct writes of 4 KiB at random, 16 at once": (
        FIO + ["--rw=randwrite", "--bs=4k", "--direct=1", "--ioengine=io_uring", "--iodepth=16", "--io_size=512m"],
        lambda text: json.loads(text)["jobs"][0]["write"]["iops"],
    ),
}
PGBENCH = {"BUFFERS": "32MB", "LOG_MOST": "64MB", "SCALE": "10", "SECONDS_RUN": "4", "SEED": "1"}


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


@contextlib.contextmanager
def recording(command, device, place, *options):
    """A recording that has begun; ends with the block."""
    with subprocess.Popen(
        [command, "-q", "record", *options, "--device", device, "-o", f"{place}/../t.parquet", "--for", "1h"],
        stdout=subprocess.DEVNULL,
    ) as probe:
        # All its programs are loaded once no more come for a second: on a busy machine loading takes that long.
        loaded, since = set(), time.monotonic()
        while len(loaded) < 2 or time.monotonic() - since < 1:
            if probe.poll() is not None:
                raise SystemExit(f"the recording has ended, status {probe.returncode}")
            time.sleep(0.1)
            if (now := set(programs(probe.pid))) != loaded:
                loaded, since = now, time.monotonic()
        try:
            yield probe
        finally:
            probe.terminate()


def one(command, device, place, call, options):
    """Nanoseconds for each 4 KiB written: of the programs, and of the reader; and the programs' runs and nanoseconds, as
    they were loaded: for pages made dirty, for reads of files, for what is mapped, for requests, and two more."""
    with recording(command, device, place, "--no-hints", *options) as probe:
        before, cpu, pages = programs(probe.pid), used(probe.pid), written(device)
        subprocess.run([word.format(place=place) for word in call], check=True, capture_output=True)
        os.sync()
        time.sleep(0.5)
        after, cpu, pages = programs(probe.pid), used(probe.pid) - cpu, written(device) - pages
    # One that was loaded later than all others has run for the load alone.
    runs = {number: tuple(now - then for now, then in zip(after[number], before.get(number, (0, 0)))) for number in after}
    return sum(took for _, took in runs.values()) / pages, cpu / pages, [runs[number] for number in sorted(runs)]


def at_work():
    """Nanoseconds that the machine's processors have been at work."""
    fields = [int(field) for field in pathlib.Path("/proc/stat").read_text(encoding="utf-8").split("\n")[0].split()[1:]]
    return (sum(fields[:7]) - fields[3] - fields[4]) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def cleared(place):
    """The drive without what a load left, all of it written out."""
    subprocess.run(f"rm -rf {place}/db {place}/a.*; sync -f {place}", shell=True, check=True)


def rate(device, place, call, done):
    """What a load does in a second, and nanoseconds that all processors were at work for each 4 KiB written; how many 4 KiB."""
    worked, pages = at_work(), written(device)
    ran = subprocess.run([word.format(place=place) for word in call], check=True, capture_output=True, text=True)
    os.sync()
    pages = written(device) - pages
    return done(ran.stdout), (at_work() - worked) / max(pages, 1), pages


def pair(command, device, place, call, done, with_first):
    """One run without the probe and one with it: the slow-down, percent; the rate without; nanoseconds that all processors
    were at work for each 4 KiB beyond those without, and of them the reader's."""
    found, reader = {}, 0
    for probed in (with_first, not with_first):
        with recording(command, device, place) if probed else contextlib.nullcontext() as probe:
            before = used(probe.pid) if probed else 0
            found[probed] = rate(device, place, call, done)
            if probed:
                reader = (used(probe.pid) - before) / max(found[probed][2], 1)
        cleared(place)
    (without, worked, _), (slower, harder, _) = found[False], found[True]
    return 100 * (without / slower - 1), without, harder - worked, reader


def told(values):
    """The median, and how far the rounds are apart."""
    return f"{statistics.median(values):.0f} ({min(values):.0f} to {max(values):.0f})"


@contextlib.contextmanager
def drive():
    """A mounted drive: its device, and where it is."""
    with tempfile.TemporaryDirectory() as directory, tempfile.NamedTemporaryFile(dir="/dev/shm") as image:
        image.truncate(4 << 30)
        device = subprocess.check_output(["losetup", "--find", "--show", image.name], text=True).strip()
        place = pathlib.Path(directory, "mnt")
        place.mkdir()
        pathlib.Path(directory).chmod(0o755)
        try:
            subprocess.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", device], check=True)
            subprocess.run(["mount", device, place], check=True)
            yield device, place
        finally:
            subprocess.run(["umount", place], check=False)
            subprocess.run(["losetup", "--detach", device], check=False)


def counted(command, rounds, options):
    """The table by the kernel's count."""
    was, found = SWITCH.read_text(encoding="utf-8"), {name: [] for name in LOADS}
    with drive() as (device, place):
        try:
            SWITCH.write_text("1", encoding="utf-8")
            for _ in range(rounds):
                for name, call in LOADS.items():
                    found[name].append(one(command, device, place, call, options))
                    subprocess.run(f"rm -rf {place}/*; sync -f {place}", shell=True, check=True)
        finally:
            SWITCH.write_text(was, encoding="utf-8")
    print(f"{rounds} rounds, load {os.getloadavg()[0]:.1f}; ns, medians and their span")
    print("| load | programs, for each 4 KiB | reader, for each 4 KiB | a page made dirty | a read | a request |")
    print("|---|---|---|---|---|---|")
    for name, each in found.items():
        runs = [[took / max(count, 1) for count, took in one[2]] for one in each]
        columns = [told([run[at] for run in runs]) for at in (0, 1, -3)]
        print(f"| {name} | {told([one[0] for one in each])} | {told([one[1] for one in each])} | {' | '.join(columns)} |")


def paired(command, pairs):
    """The table by what is done in a second."""
    found = {name: [] for name in PAIRED}
    os.environ |= PGBENCH
    with drive() as (device, place):
        subprocess.run([POSTGRES / "setup.sh", place], check=True)
        try:
            for name, (call, done) in PAIRED.items():
                rate(device, place, call, done)  # warms caches
                cleared(place)
            for number in range(pairs):
                for name, (call, done) in PAIRED.items():
                    # Whoever goes first alternates, so that a drifting machine favours neither.
                    found[name].append(pair(command, device, place, call, done, number % 2 == 1))
                    slower, *rest = found[name][-1]
                    print(f"{name}: {slower:+.1f} %, {', '.join(f'{value:.0f}' for value in rest)}", flush=True)
        finally:
            subprocess.run([POSTGRES / "teardown.sh", place], check=True)
    print(f"{pairs} pairs, load {os.getloadavg()[0]:.1f}; medians, and the middle half")
    print("| load | in a second without | slower, % | at work beyond that, ns for each 4 KiB | of it the reader |")
    print("|---|---|---|---|---|")
    for name, each in found.items():
        slower, without, beyond, reader = zip(*each)
        low, middle, high = statistics.quantiles(slower, n=4)
        print(f"| {name} | {statistics.median(without):,.0f} | {middle:.1f} ({low:.1f} to {high:.1f}) "
              f"| {statistics.median(beyond):,.0f} | {statistics.median(reader):,.0f} |")


def main():
    """One of the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--pairs", type=int)
    parser.add_argument("--sample", help="of what is counted, as in 1/64")
    parser.add_argument("--core", type=int, help="load and reader on this processor alone; the kernel's threads where they like")
    target = os.environ.get("CARGO_TARGET_DIR", "target")
    parser.add_argument("--command", default=f"{target}/release/anabranch")
    asked = parser.parse_args()
    # So that one who is asked to end cleans up.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if asked.core is not None:
        os.sched_setaffinity(0, {asked.core})
    if asked.pairs and asked.sample:
        parser.error("--sample goes with what is counted, not with --pairs")
    if asked.pairs:
        paired(asked.command, asked.pairs)
    else:
        counted(asked.command, asked.rounds, ["--sample", asked.sample] if asked.sample else [])


if __name__ == "__main__":
    main()
