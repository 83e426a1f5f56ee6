"""One row for each result: workloads-table.py DIR NAME..., where DIR/NAME.json is a result of `anabranch run`."""

import json
import os
import sys

GIB = 1 << 30


def row(name: str, result: dict, schemes: list[str]) -> list[str]:
    """The cells: bytes written, drive, WAF of the last capacity of writes, steady or not."""
    drive, source = result["device"], result["source"]
    windows = {scheme["name"]: scheme["waf_window"] for scheme in result["schemes"]}
    return [
        name,
        f"{source['write_bytes'] / GIB:.2f}",
        f"{drive['logical_bytes'] / (1 << 20):,.0f}",
        f"{drive['unit_bytes'] / (1 << 20):g}",
        *(f"{windows[scheme]:.3f}" if scheme in windows else "-" for scheme in schemes),
        "yes" if result["steady"] else "no",
    ]


def main(folder: str, names: list[str]) -> None:
    results = {}
    for name in names:
        path = os.path.join(folder, f"{name}.json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                results[name] = json.load(file)
    schemes = list(dict.fromkeys(one["name"] for result in results.values() for one in result["schemes"]))
    header = ["workload", "host GiB", "drive MiB", "unit MiB", *schemes, "steady"]
    print("| " + " | ".join(header) + " |")
    print("|---" + "|---:" * (len(header) - 1) + "|")
    for name, result in results.items():
        print("| " + " | ".join(row(name, result, schemes)) + " |")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
