"""What it costs to ask from Python: `anabranch.replay` beside `anabranch replay`, in turns.

Use: target/venv/bin/python bench/python-overhead.py COMMAND [PAIRS]
Both must be built alike (`cargo build`, `maturin develop`, both with or without --release). Answers with
medians of paired ratios of processor time, which other work on the machine moves least: of the call, and of
the whole process, in which Python has to start and to import NumPy.
"""

import resource
import statistics
import subprocess
import sys

SCHEMES = "baseline,sepbit,pcstream,midas"
ARGUMENTS = ["traces/rocksdb-demo.parquet", "--scheme", SCHEMES, "--threads", "1", "--json"]
INSIDE = f"""
import sys, time, anabranch
began = time.process_time()
text = anabranch.replay("traces/rocksdb-demo.parquet", "{SCHEMES}".split(","), threads=1).to_json()
print(time.process_time() - began, file=sys.stderr)
sys.stdout.write(text)
"""


def measured(call: list[str]) -> tuple[float, str]:
    """Seconds of processor time that a process takes, and what it says beside its output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        call, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stderr


def main() -> None:
    command, pairs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 11
    calls, processes = [], []
    for _ in range(pairs):
        alone, _ = measured([command, "replay", *ARGUMENTS])
        whole, said = measured([sys.executable, "-c", INSIDE])
        calls.append(float(said) / alone)
        processes.append(whole / alone)
        print(f"command {alone:.3f} s, call {float(said):.3f} s, process {whole:.3f} s", flush=True)
    for what, ratios in (("call", calls), ("process", processes)):
        middle = statistics.median(ratios)
        print(f"{what}: {middle:.3f} ({min(ratios):.3f} to {max(ratios):.3f})")


if __name__ == "__main__":
    main()
