"""Writes a second of each kind as shares of the drive's own in the same round; then the time, calls and switches of a write.

Use: iops.py TOLD     (called by steer-cost.sh)
"""

import statistics
import sys
from pathlib import Path

# Behind writes a second.
COLUMNS = ("mean µs", "median µs", "io_uring_enter", "switches of the server", "switches")

rates: dict[str, list[float]] = {}
others: dict[str, list[list[float]]] = {}
for line in Path(sys.argv[1]).read_text(errors="replace").splitlines():
    match line.split():
        case ["@iops", kind, rate, *rest]:
            rates.setdefault(kind, []).append(float(rate))
            others.setdefault(kind, []).append([float(one) for one in rest])


def told(values: list[float], form: str) -> str:
    """The median, and between what the middle half of the values lies."""
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle:{form}} ({low:{form}} to {high:{form}})"


# A round that was cut off has not all kinds.
rounds = min(map(len, rates.values()), default=0)
if rounds < 2:
    sys.exit("fewer than two whole rounds")
rates = {kind: found[:rounds] for kind, found in rates.items()}
print(f"writes a second: medians of {rounds} rounds (the middle half), and shares of the raw drive's in the same round")
for kind, found in rates.items():
    shares = [rate / raw for rate, raw in zip(found, rates["raw"], strict=True)]
    print(f"{kind:10} {told(found, '.0f')}  {told(shares, '.2f')}, all from {min(shares):.2f} to {max(shares):.2f}")
print("a write:", ", ".join(COLUMNS))
for kind, found in others.items():
    columns = zip(*found[:rounds], strict=True)
    forms = (".0f", ".0f", ".2f", ".2f", ".2f")
    print(f"{kind:10}", "; ".join(told(list(values), form) for values, form in zip(columns, forms, strict=True)))
