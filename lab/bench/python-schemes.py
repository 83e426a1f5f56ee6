"""What a scheme written in Python costs a write: asked about each one, and about many at once.

Use: target/venv/bin/python lab/bench/python-schemes.py [ROUNDS]      (markdown on standard output)
Replays the shipped trace with `hints+substream`, and with two copies of it in Python, in turns. The cost is what a copy takes beyond the
built-in scheme, for each write: the median of the rounds, least and most in parentheses.
"""

import statistics
import sys
import time

import anabranch
import numpy as np

TRACE = "traces/rocksdb-demo.parquet"


class Each:
    """Asked about each write."""

    relocation = "substream"

    def begin(self, drive):
        self.streams = drive["host_streams"]

    def assign(self, write):
        return min(max(write.hint - 1, 0), self.streams - 1)


class Many:
    """Asked about many writes at once."""

    relocation = "substream"
    writes = 0

    def begin(self, drive):
        self.streams = drive["host_streams"]

    def assign_batch(self, writes):
        Many.writes += len(writes.hint)
        return np.clip(writes.hint.astype(int) - 1, 0, self.streams - 1)


def seconds(scheme) -> float:
    """The time of a replay with a scheme alone."""
    began = time.perf_counter()
    anabranch.replay(TRACE, [scheme], threads=1)
    return time.perf_counter() - began


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    seconds(Many)
    writes = Many.writes
    taken = [[seconds(scheme) for scheme in ("hints+substream", Each, Many)] for _ in range(rounds)]
    print(f"{writes} writes, {rounds} rounds\n\n| scheme | seconds | microseconds a write beyond `hints` |\n|---|---:|---:|")
    for at, name in enumerate(("`hints+substream`, built in", "`assign`", "`assign_batch`")):
        whole = statistics.median(round[at] for round in taken)
        beyond = [1e6 * (round[at] - round[0]) / writes for round in taken]
        cost = f"{statistics.median(beyond):.2f} ({min(beyond):.2f} to {max(beyond):.2f})" if at else ""
        print(f"| {name} | {whole:.2f} | {cost} |")


if __name__ == "__main__":
    main()
