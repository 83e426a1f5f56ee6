"""What it costs to ask from Python: `anabranch.replay` beside `anabranch replay`, in turns.

Use: target/venv/bin/python bench/python-overhead.py COMMAND [PAIRS]
Both must be built alike (`cargo build`, `maturin develop`, both with or without --release). Answers with
medians of paired ratios: of processor time, which other work on the machine hardly moves, and of time.
"""

import resource
import statistics
import subprocess
import sys
import time

ARGUMENTS = ["traces/rocksdb-demo.parquet", "--threads", "1", "--json"]
INSIDE = """
import anabranch
result = anabranch.replay("traces/rocksdb-demo.parquet", threads=1)
import sys
sys.stdout.write(result.to_json())
"""


def measured(call: list[str]) -> tuple[float, float]:
    """Seconds of processor time and of time that a process takes."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(call, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return processor, time.perf_counter() - began


def main() -> None:
    command, pairs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 11
    ratios: list[tuple[float, float]] = []
    for _ in range(pairs):
        alone = measured([command, "replay", *ARGUMENTS])
        inside = measured([sys.executable, "-c", INSIDE])
        ratios.append((inside[0] / alone[0], inside[1] / alone[1]))
        print(f"command {alone[0]:.2f} s, Python {inside[0]:.2f} s of processor time", flush=True)
    for place, what in enumerate(("processor time", "time")):
        found = sorted(ratio[place] for ratio in ratios)
        print(f"{what}: {statistics.median(found):.3f} ({found[0]:.3f} to {found[-1]:.3f})")


if __name__ == "__main__":
    main()
