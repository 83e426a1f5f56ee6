"""Replays recordings in three contests, whole schemes, the host half, and collected by the host, and compares them.

Use: host_collection.py ANABRANCH [-o FOLDER] [--parts N] [--victim RULE] [--spare SHARE] [--folder NAME] [--option WORD]... [NAME...]
     host_collection.py ANABRANCH [-o FOLDER] --data NAME [--handles]
  --parts   cuts each erase unit in so many [default: 1]
  --victim  the drive's victim rule [default: greedy]
  --folder  `.`, `held-out`, `looked-at`, `generations` or `fresh` below traces/; more than one with commas [default: .]
  --scheme  the scheme whose contests these are [default: anabranch]
  --option  one more word for each replay, `--option=--streams --option=4`
  --data    in place of one table: all recordings that choices were made by, and those of `fresh`, on drives as recorded, of eight times as
            many units, and of a quarter as many with 28 % of spare, for both kinds of victims; a row each in lab/data/NAME.csv, for
            scripts/tables.py
  --handles with --data: these recordings on drives of eight times as many units and greedy victims, with 2, 4 and 8 handles, initially
            and persistently isolated (the drives of fdp_handles.py)
Markdown on standard output: WAF of each row, mean copies by program, and rows beyond a bound.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
from pathlib import Path
from statistics import median

from contests import CHOSEN_BY, FRESH, LATE, TRACES, Row, keep, mean_copies, recordings, replay
from fdp_handles import HANDLES, profile

SETS = ((CHOSEN_BY, "chosen by"), (FRESH, "fresh"))
# Parts of an erase unit, and over-provisioning: with four times larger units, fewer than 28 % leave no room for eight streams.
SIZES = ((1 / 4, "28%"), (1, None), (8, None))


def schemes(name: str, relocation: str = "gc") -> list[str]:
    """The schemes of each replay: whole, by the host always and by choice, the host half, and those of others."""
    always = f"{name}+host:host-collects=always"
    return [name, always, f"{name}+host", *(f"{half}+{relocation}" for half in (name, "manual", "baseline"))]


def change(ours: float, theirs: float) -> str:
    """The change of copies, in percent."""
    return f"{100 * (ours / theirs - 1):+.1f} %" if theirs > 0 else "-"


def table(results: dict[Row, dict[str, dict]], names: list[str]) -> None:
    """WAF of each recording."""
    print("| recording | units | " + " | ".join(f"`{name}`" for name in names) + " | drive copied | gave up at |")
    print("|---" * (len(names) + 4) + "|")
    for row, result in results.items():
        always, chosen = result[names[1]]["collected"], result[names[2]]["collected"]
        up = chosen["given_up_at_bytes"]
        cells = [row.name, str(result["units"]), *(f"{result[name]['waf']:.3f}" for name in names)]
        cells += [f"{always['copied_bytes'] / result[names[1]]['host_page_bytes']:.4f}", "-" if up is None else f"{up / result['logical']:.2f}"]
        print("| " + " | ".join(cells) + " |")


def summary(results: dict[Row, dict[str, dict]], names: list[str]) -> None:
    """Mean copies by program, and the worst rows beside the host half once the schemes had time to learn."""
    print()
    half = names[3]
    for name in names:
        copies = mean_copies({row: result[name]["waf"] for row, result in results.items()})
        base = mean_copies({row: result[half]["waf"] for row, result in results.items()})
        late = {row.name: result[name][LATE] / result[half][LATE] - 1 for row, result in results.items()}
        whole = {row.name: result[name]["waf"] / result[half]["waf"] - 1 for row, result in results.items()}
        worst, beyond = max(late, key=late.get), sum(one > 0.005 for one in late.values())
        print(f"- `{name}`: mean copies {copies:.4f} ({change(copies, base)} beside `{half}`); WAF from the second capacity on more than 0.5 % "
              f"above the host half in {beyond} of {len(late)}, at worst {100 * late[worst]:+.2f} % ({worst}); of the whole run at worst "
              f"{100 * max(whole.values()):+.2f} % ({max(whole, key=whole.get)})")


def replayed(
    given: argparse.Namespace, names: list[str], folders: tuple[Path, ...], parts: float, spare: str | None, victim: str, drive: tuple[str, ...] = ()
) -> dict[Row, dict[str, dict]]:
    """The results of each recording whose drive a host can collect on; `drive` are words of its own for each replay."""
    results = {}
    for row in recordings(folders):
        if given.names and row.name not in given.names:
            continue
        row = row.on(parts, spare, victim)
        # The binary, the schemes and the drive's own words decide what is there already.
        key = hashlib.sha256(repr((Path(given.anabranch).stat().st_mtime_ns, names, given.option, drive)).encode()).hexdigest()[:8]
        output = given.output / key / row.file
        try:
            result = replay(given.anabranch, row._replace(drive=(*row.drive, *given.option, *drive)), names, output)
        except subprocess.CalledProcessError:
            # The command has told why: the drive has too few units for a host that collects.
            continue
        device = json.loads(output.read_text())["device"]
        results[row] = {**result, "units": device["physical_units"], "logical": device["logical_bytes"]}
    return results


HEAD = "| " + " | ".join(
    ("recordings", "units, median", "victims", "whole", "host half", "collected", "beside the half", "always", "above the half", "at worst", "gave up")
) + " |"


def above_half(results: dict[Row, dict[str, dict]], ours: str, half: str) -> list[str]:
    """How many recordings are above the half, by more than 0.5 % of the WAF from the second capacity on; the worst; how many gave up."""
    late = {row.name: one[ours][LATE] / one[half][LATE] - 1 for row, one in results.items()}
    worst = max(late, key=late.get)
    gave_up = sum(one[ours]["collected"]["given_up_at_bytes"] is not None for one in results.values())
    return [str(sum(one > 0.005 for one in late.values())), f"{100 * late[worst]:+.2f} % {worst}", str(gave_up)]


def cases(given: argparse.Namespace, names: list[str]) -> list[str]:
    """Mean copies by program in the three contests, a line for each kind of drive."""
    lines = []
    for folders, title in SETS:
        for parts, spare in SIZES:
            for victim in ("greedy", "cost-benefit"):
                results = replayed(given, names, folders, parts, spare, victim)
                whole, always, ours, half = names[:4]
                copies = {name: mean_copies({row: one[name]["waf"] for row, one in results.items()}) for name in names}
                cells = [f"{len(results)} {title}", str(int(median(one["units"] for one in results.values()))), victim]
                cells += [f"{copies[name]:.4f}" for name in (whole, half, ours)]
                cells += [change(copies[ours], copies[half]), change(copies[always], copies[half]), *above_half(results, ours, half)]
                lines.append("| " + " | ".join(cells) + " |")
    return lines


HANDLES_HEAD = "| " + " | ".join(
    ("recordings", "handles", "isolated", "`baseline+fdp`", "`manual+fdp`", "host half", "collected", "whole", "half beside `manual+fdp`")
    + ("collected beside the half", "above the half", "at worst", "gave up")
) + " |"


def by_handles(given: argparse.Namespace) -> list[str]:
    """Mean copies by program of the contests, a line for each drive with handles. Firmware of its own has streams in place of handles."""
    lines = []
    for folders, title in SETS:
        for handles in HANDLES:
            firmware = replayed(given, [given.scheme], folders, 8, None, "greedy", ("--streams", str(handles)))
            for isolation in ("initially", "persistently"):
                names = schemes(given.scheme, "fdp")[2:]
                device = profile(given.output / f"{handles}-{isolation}", handles, isolation)
                results = replayed(given, names, folders, 8, None, "greedy", ("--device", str(device)))
                ours, half, manual, ordinary = names
                copies = {name: mean_copies({row: one[name]["waf"] for row, one in results.items()}) for name in names}
                whole = mean_copies({row: firmware[row][given.scheme]["waf"] for row in results})
                cells = [f"{len(results)} {title}", str(handles), isolation]
                cells += [*(f"{copies[name]:.4f}" for name in (ordinary, manual, half, ours)), f"{whole:.4f}"]
                cells += [change(copies[half], copies[manual]), change(copies[ours], copies[half]), *above_half(results, ours, half)]
                lines.append("| " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    """Replays and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("anabranch")
    parser.add_argument("-o", "--output", type=Path, default=Path("out/host-collection"))
    parser.add_argument("--parts", type=int, default=1)
    parser.add_argument("--spare")
    parser.add_argument("--victim", default="greedy")
    parser.add_argument("--folder", default=".")
    parser.add_argument("--scheme", default="anabranch")
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--data")
    parser.add_argument("--handles", action="store_true")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    names = schemes(given.scheme)
    if given.data:
        keep(given.data, given.anabranch, [HANDLES_HEAD, *by_handles(given)] if given.handles else [HEAD, *cases(given, names)])
        return
    results = replayed(given, names, tuple(TRACES / folder for folder in given.folder.split(",")), given.parts, given.spare, given.victim)
    table(results, names)
    summary(results, names)


if __name__ == "__main__":
    main()
