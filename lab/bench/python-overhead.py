"""What it costs to ask from Python: `anabranch.replay` beside `anabranch replay`, in turns.

Use: target/venv/bin/python lab/bench/python-overhead.py COMMAND [PAIRS]
Both must be built alike (`cargo build`, `maturin develop`, both with or without --release). Replays the shipped
trace on one thread, briefly (4 schemes on one drive) and longer (the same on 16 drives), and answers with a table
in markdown: medians of paired ratios, least and most in parentheses. *Call* is `anabranch.replay` by itself,
*process* all of `python -c 'import anabranch; …'`; *Python* is a process that does nothing, which no package can
save. Processor time is what other work on the machine moves least; elapsed time is what a person waits.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import time

TRACE = "traces/rocksdb-demo.parquet"
SCHEMES = ["baseline", "sepbit", "pcstream", "midas"]
#: What is replayed: a name, and the options as the command and as Python have them.
LOADS = {
    "short": {},
    "long": {"streams": [4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 64]},
}
INSIDE = """
import json, sys, time, anabranch
options = json.loads(sys.argv[1])
began = time.process_time(), time.perf_counter()
text = anabranch.replay(%r, %r, threads=1, **options).to_json()
ended = time.process_time(), time.perf_counter()
sys.stderr.write(json.dumps([ended[0] - began[0], ended[1] - began[1]]))
sys.stdout.write(text + chr(10))
""" % (TRACE, SCHEMES)


def arguments(options: dict[str, list[int]]) -> list[str]:
    """The options as the command has them."""
    found = [TRACE, "--scheme", ",".join(SCHEMES), "--threads", "1", "--json"]
    for name, values in options.items():
        found += ["--" + name.replace("_", "-"), ",".join(map(str, values))]
    return found


def measured(call: list[str]) -> tuple[tuple[float, float], str, str]:
    """Seconds of processor and elapsed time that a process takes, what it prints, what it says beside that."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(call, check=True, capture_output=True, text=True)
    after, ended = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (processor, ended - began), done.stdout, done.stderr


def told(values: list[float]) -> str:
    """The median, least and most."""
    return f"{statistics.median(values):.3f} ({min(values):.3f} .. {max(values):.3f})"


def main() -> None:
    command, pairs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 11
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before, {pairs} pairs\n")
    print("| replay | time | command, s | call / command | process / command | Python, s |")
    print("|---|---|---|---|---|---|")
    for name, options in LOADS.items():
        rows = []
        for _ in range(pairs):
            alone, printed, _ = measured([command, "replay", *arguments(options)])
            whole, same, said = measured([sys.executable, "-c", INSIDE, json.dumps(options)])
            bare, _, _ = measured([sys.executable, "-c", "pass"])
            if json.loads(printed) != json.loads(same):
                raise SystemExit("the command and Python do not find the same")
            rows.append((alone, json.loads(said), whole, bare))
        for kind, what in enumerate(("processor", "elapsed")):
            alone = [row[0][kind] for row in rows]
            columns = [
                f"{statistics.median(alone):.3f}",
                told([row[1][kind] / row[0][kind] for row in rows]),
                told([row[2][kind] / row[0][kind] for row in rows]),
                f"{statistics.median([row[3][kind] for row in rows]):.3f}",
            ]
            print(f"| {name} | {what} | " + " | ".join(columns) + " |", flush=True)


if __name__ == "__main__":
    main()
