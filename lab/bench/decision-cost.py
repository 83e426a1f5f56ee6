"""What criterion measured of each scheme, and the memory it holds -> a table in markdown.

Use: decision-cost.py MEMORY CRITERION_FOLDER...     (called by decision-cost.sh)
"""

import csv
import json
import pathlib
import statistics
import sys

GROUP = "assign_1_pages"


def measured(folder):
    """Nanoseconds a page by scheme: criterion's median of one round."""
    found = {}
    for path in pathlib.Path(folder).glob("**/new/benchmark.json"):
        benchmark = json.loads(path.read_text())
        if benchmark["group_id"] == GROUP:
            estimates = json.loads(path.with_name("estimates.json").read_text())
            pages = benchmark["throughput"]["Elements"]
            found[benchmark["function_id"]] = estimates["median"]["point_estimate"] / pages
    return found


def told(kib):
    """KiB as people read them."""
    return "0" if kib < 0.05 else f"{kib / 1024:.1f} MiB" if kib >= 1024 else f"{kib:.3g} KiB"


def main():
    memory, *folders = sys.argv[1:]
    rounds = [measured(folder) for folder in folders]
    print("| scheme | ns a page | least to most | memory | for each GiB |")
    print("|---|---:|---:|---:|---:|")
    with open(memory, encoding="utf-8") as lines:
        for name, whole, each in list(csv.reader(lines, skipinitialspace=True))[1:]:
            times = [round[name] for round in rounds]
            middle, least, most = statistics.median(times), min(times), max(times)
            print(
                f"| `{name}` | {middle:.0f} | {least:.0f} to {most:.0f} "
                f"| {told(float(whole))} | {told(float(each))} |"
            )


main()
