"""Results of comparisons -> `anabranch` beside the best of all other schemes, in markdown.

Use: schemes.py [--ours NAME] [--others FOLDER] TRACE@UNIT.json...
With --ours, NAME stands in for `anabranch`; where it has a relocation (`anabranch+gc`), others are `baseline` and those with
the same one. With --others, the other schemes may also have the WAF they have in the result of the same name there.
"""

import json
import os
import sys

OURS = "anabranch"


def copies(scheme):
    """Pages copied for each page the host wrote: WAF - 1."""
    return scheme["waf"] - 1


def read(path, others):
    """Schemes of a result by name, bounds apart; the better of both results for others."""
    schemes = json.load(open(path))["schemes"]
    known = {scheme["name"]: scheme for scheme in schemes if not scheme["is_bound"]}
    known.pop("fk", None)
    _, plus, relocation = OURS.partition("+")
    half = plus + relocation
    known = {name: scheme for name, scheme in known.items()
             if name == "baseline" or (name.endswith(half) if half else "+" not in name or name == "baseline+gc")}
    bounds = {scheme["name"]: scheme for scheme in schemes if scheme["is_bound"]}
    second = others and os.path.join(others, os.path.basename(path))
    if second and os.path.exists(second):
        for scheme in json.load(open(second))["schemes"]:
            name = scheme["name"]
            if name in known and name != OURS and scheme["waf"] < known[name]["waf"]:
                known[name] = scheme
    return known, bounds


def gap(known, bounds):
    """Share of the gap from baseline to oracle that `anabranch` closes; none below 0.005 copies."""
    if "oracle" not in bounds:
        return ""
    wide = copies(known["baseline"]) - copies(bounds["oracle"])
    if wide < 0.005:
        return "-"
    return f"{100 * (copies(known['baseline']) - copies(known[OURS])) / wide:.1f} %"


def row(path, known, bounds):
    """One line of the table, and whether ours is within 1 % of the best other."""
    trace, unit = os.path.basename(path).removesuffix(".json").rsplit("@", 1)
    best = min((known[name]["waf"], name) for name in known if name != OURS)
    ratio = known[OURS]["waf"] / best[0] - 1
    oracle = f"{bounds['oracle']['waf']:.3f}" if "oracle" in bounds else ""
    cells = [
        trace,
        unit.replace("iB", " iB").replace("M iB", " MiB").replace("K iB", " KiB"),
        f"{known['baseline']['waf']:.3f}",
        f"{best[0]:.3f} `{best[1]}`",
        f"{known[OURS]['waf']:.3f}",
        f"{100 * ratio:+.1f} %" + ("" if ratio <= 0.01 else " (above)"),
        oracle,
        gap(known, bounds),
    ]
    return "| " + " | ".join(cells) + " |", ratio <= 0.01


def main(arguments):
    """Prints the table and the means."""
    global OURS
    others = None
    if arguments and arguments[0] == "--ours":
        OURS, arguments = arguments[1], arguments[2:]
    if arguments and arguments[0] == "--others":
        others, arguments = arguments[1], arguments[2:]
    results = [(path, *read(path, others)) for path in arguments]
    print(f"| trace | unit | `baseline` | best other | `{OURS}` | beside it | `oracle` | gap to `oracle` closed |")
    print("|---|---|---|---|---|---|---|---|")
    within = 0
    for path, known, bounds in results:
        line, close = row(path, known, bounds)
        within += close
        print(line)
    count = len(results)
    every = set.intersection(*(set(known) for _, known, _ in results))
    mean = {name: sum(copies(known[name]) for _, known, _ in results) / count for name in every}
    best = min((mean[name], name) for name in every if name != OURS)
    apart = sum(min(copies(known[n]) for n in known if n != OURS) for _, known, _ in results) / count
    worst = max(known[OURS]["waf"] / min(known[n]["waf"] for n in known if n != OURS) for _, known, _ in results)
    behind = sum(known[OURS]["waf"] > 1.005 * known["baseline"]["waf"] for _, known, _ in results)
    print(f"\nWithin 1 % of the best other: {within} of {count}, at worst {100 * (worst - 1):+.1f} %; "
          f"more than 0.5 % above `baseline`: {behind}. Mean copies: `{OURS}` {mean[OURS]:.4f}, "
          f"best single other `{best[1]}` {best[0]:.4f} ({100 * (mean[OURS] / best[0] - 1):+.1f} %), "
          f"best other of each row {apart:.4f}.")


main(sys.argv[1:])
