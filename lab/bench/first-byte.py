#!/usr/bin/env python3
"""How long `run`, `record` and `watch` are silent, and from when they see writes. As root.

Use: lab/bench/first-byte.py [--rounds 5] [--command target/release/anabranch]
Each verb is started anew, on a loop device over tmpfs; of its standard error the first byte and the line that says so
are timed. Markdown on standard output: the median of the rounds, and how far they are apart, in milliseconds.
"""

import argparse
import contextlib
import signal
import statistics
import subprocess
import tempfile
import time


@contextlib.contextmanager
def device():
    """A loop device of 256 MiB."""
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as image:
        image.truncate(256 << 20)
        name = subprocess.check_output(["losetup", "--find", "--show", image.name], text=True).strip()
        try:
            yield name
        finally:
            subprocess.run(["losetup", "--detach", name], check=False)


def times_ms(words, ready):
    """Milliseconds to the first byte, and to the line that begins with `ready`; the command is ended then."""
    began = time.monotonic()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    found = []
    for line in process.stderr:
        now = 1000 * (time.monotonic() - began)
        found = found or [now]
        if line.startswith(b"anabranch: " + ready):
            found.append(now)
            break
    process.send_signal(signal.SIGINT)
    process.stderr.read()
    process.wait()
    if len(found) != 2:
        raise SystemExit(f"{words} did not become ready")
    return found


def told(values):
    """The median, and how far the rounds are apart."""
    return f"{statistics.median(values):.0f} ({min(values):.0f} to {max(values):.0f})"


def main():
    """Prints the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--command", default="target/release/anabranch")
    arguments = options.parse_args()
    print("| verb | first byte | ready |\n|---|---:|---:|")
    with tempfile.TemporaryDirectory() as place, device() as name:
        own = ["--device", name, "-t", f"{place}/trace.parquet"]
        verbs = {
            "record": (["record", *own], b"recording"),
            "record --no-hints": (["record", *own, "--no-hints"], b"recording"),
            "watch": (["watch", name], b"watching"),
            "run": (["run", "--size", "256MiB", "--no-trace", "--chdir", "--", "sleep", "1"], b"recording"),
        }
        for verb, (words, ready) in verbs.items():
            rounds = [times_ms([arguments.command, *words], ready) for _ in range(arguments.rounds)]
            first, last = zip(*rounds)
            print(f"| `{verb}` | {told(first)} | {told(last)} |")


if __name__ == "__main__":
    main()
