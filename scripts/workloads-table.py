"""One row for each result: workloads-table.py DIR NAME..., where DIR/NAME.json is a result of `anabranch run` and
DIR/coverage.json what `anabranch coverage --json` says of the traces."""

import json
import os
import sys

GIB = 1 << 30
MIB = 1 << 20


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def row(name: str, result: dict, covered: dict | None, schemes: list[str]) -> list[str]:
    """The cells: bytes written, drive, WAF of the last capacity of writes, steady or not, and coverage: bytes with an
    application's call path, and the variance of log2 lifetime that contexts, and contexts with files, explain."""
    drive, source = result["device"], result["source"]
    windows = {scheme["name"]: scheme["waf_window"] for scheme in result["schemes"]}
    cells = [
        name,
        f"{source['write_bytes'] / GIB:.2f}",
        f"{drive['logical_bytes'] / MIB:,.0f}",
        f"{drive['unit_bytes'] / MIB:g}",
        *(f"{windows[scheme]:.3f}" if scheme in windows else "-" for scheme in schemes),
        "yes" if result["steady"] else "no",
    ]
    if covered is None:
        return [*cells, "-", "-", "-"]
    shares = covered["application_share"], covered["context"]["explained"], covered["both"]["explained"]
    return [*cells, *map(percent, shares)]


def read(folder: str, name: str) -> dict | None:
    path = os.path.join(folder, f"{name}.json")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main(folder: str, names: list[str]) -> None:
    found = {name: read(folder, name) for name in names}
    results = {name: result for name, result in found.items() if result is not None}
    coverage = read(folder, "coverage") or {"traces": []}
    covered = {one["trace"]: one for one in coverage["traces"]}
    schemes = list(dict.fromkeys(one["name"] for result in results.values() for one in result["schemes"]))
    header = ["workload", "host GiB", "drive MiB", "unit MiB", *schemes, "steady", "call path", "context", "with file"]
    print("| " + " | ".join(header) + " |")
    print("|---" + "|---:" * (len(header) - 1) + "|")
    for name, result in results.items():
        print("| " + " | ".join(row(name, result, covered.get(name), schemes)) + " |")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
