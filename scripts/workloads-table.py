"""One row for each result: workloads-table.py quick|full DIR NAME..., where DIR/NAME.json is a result of `anabranch run`,
DIR/NAME.seconds what it took and DIR/coverage.json what `anabranch coverage --json` says of the traces, where there are any."""

import json
import os
import sys

GIB = 1 << 30
MIB = 1 << 20


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def drive(result: dict) -> list[str]:
    """What was written, and to which drive."""
    device = result["device"]
    sizes = f"{device['logical_bytes'] / MIB:,.0f}", f"{device['unit_bytes'] / MIB:g}"
    return [f"{result['source']['write_bytes'] / GIB:.2f}", *sizes]


def windows(result: dict) -> dict[str, float]:
    """Each scheme's WAF of the last capacity of writes."""
    return {one["name"]: one["waf_window"] for one in result["schemes"] if one["waf_window"] is not None}


def quick_row(result: dict, covered: dict | None, schemes: list[str]) -> list[str]:
    """Each scheme's WAF, steady or not, and coverage: bytes with an application's call path, and the variance of log2
    lifetime that contexts, and contexts with files, explain."""
    found = windows(result)
    figures = [f"{found[scheme]:.3f}" if scheme in found else "-" for scheme in schemes]
    cells = [*drive(result), *figures, "yes" if result["steady"] else "no"]
    if covered is None:
        return [*cells, "-", "-", "-"]
    shares = covered["application_share"], covered["context"]["explained"], covered["both"]["explained"]
    return [*cells, *map(percent, shares)]


def full_row(result: dict, seconds: int | None) -> list[str]:
    """What it took, the baseline, the best of the others, `anabranch`, steady or not."""
    found = windows(result)
    others = {name: waf for name, waf in found.items() if name not in ("baseline", "anabranch")}
    best = min(others, key=others.__getitem__, default=None)
    minutes = "-" if seconds is None else f"{seconds / 60:.1f}"
    figure = {name: f"{waf:.3f}" for name, waf in found.items()}
    return [
        minutes,
        *drive(result),
        figure.get("baseline", "-"),
        "-" if best is None else f"{figure[best]} `{best}`",
        figure.get("anabranch", "-"),
        "yes" if result["steady"] else "no",
    ]


def read(folder: str, name: str) -> dict | int | None:
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def show(header: list[str], rows: dict[str, list[str]]) -> None:
    print("| workload | " + " | ".join(header) + " |")
    print("|---" + "|---:" * len(header) + "|")
    for name, cells in rows.items():
        print(f"| {name} | " + " | ".join(cells) + " |")


def main(size: str, folder: str, names: list[str]) -> None:
    found = {name: read(folder, f"{name}.json") for name in names}
    results = {name: result for name, result in found.items() if result is not None}
    sizes = ["host GiB", "drive MiB", "unit MiB"]
    if size == "full":
        header = ["minutes", *sizes, "baseline", "best other", "anabranch", "steady"]
        show(header, {name: full_row(result, read(folder, f"{name}.seconds")) for name, result in results.items()})
        return
    coverage = read(folder, "coverage.json") or {"traces": []}
    covered = {one["trace"]: one for one in coverage["traces"]}
    schemes = list(dict.fromkeys(one["name"] for result in results.values() for one in result["schemes"]))
    header = [*sizes, *schemes, "steady", "call path", "context", "with file"]
    show(header, {name: quick_row(result, covered.get(name), schemes) for name, result in results.items()})


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
