"""The host half on drives with Flexible Data Placement: `anabranch+fdp` beside the same rivals, by number of handles.

Use: fdp_handles.py ANABRANCH [-o FOLDER] [NAME...]      (markdown on standard output)
  ANABRANCH  the command
  -o         keeps each result under FOLDER/HANDLES-ISOLATION, rivals' apart from ours; what is there already is not made again
  NAME       only these recordings

Each recording of traces/held-out on the drive of its table, with 2, 4 and 8 reclaim unit handles, all of them initially isolated (their
copies share a unit) and all of them persistently isolated (each handle's copies have a unit of their own). Persistently isolated
handles keep units back, for which the table's drives have too few; so reclaim units are a quarter of the table's. A drive that still has
too few refuses its handles, says so, and is not among the rows.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from contests import HALVES, TRACES, Row, asking, beside, by_program, mean, named, replay, rows

HANDLES = (2, 4, 8)
OURS = "anabranch+fdp"
RIVALS = ["baseline+fdp", *(f"{half}+fdp" for half in HALVES)]
# The drive that the recordings' table names, `demo`, with handles.
PROFILE = """description = "demo with {handles} reclaim unit handles, {isolation} isolated"
source = "lab/bench/fdp_handles.py"

[geometry]
channels = 1
dies_per_channel = 1
pages_per_block = 512
page_bytes = 4096
logical_bytes = 1_073_741_824
over_provisioning = 0.07

[streams]
host = {handles}
internal = {internal}

[fdp]
nruh = {handles}
nrg = 1
runs = 2_097_152
persistently_isolated = {persistent}
"""


def profile(folder: Path, handles: int, isolation: str) -> Path:
    """Writes the device profile of a drive with so many handles."""
    persistent = handles if isolation == "persistently" else 0
    path = folder / "device.toml"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(PROFILE.format(handles=handles, isolation=isolation, internal=persistent or 1, persistent=persistent))
    return path


def line(handles: int, isolation: str, found: dict[Row, dict[str, float]]) -> str:
    """A drive's line: what ours copies beside the best of the rivals, and the bounds."""
    row_list = list(found)
    copies = {name: by_program({row: found[row][name] - 1 for row in row_list}) for name in [*RIVALS, OURS]}
    means = {name: mean(programs.values()) for name, programs in copies.items()}
    best = min(RIVALS, key=means.__getitem__)
    ratios = {row: found[row][OURS] / min(found[row][name] for name in RIVALS) - 1 for row in row_list}
    worst = max(row_list, key=ratios.__getitem__)
    behind = sum(found[row][OURS] > 1.005 * found[row]["baseline+fdp"] for row in row_list)
    return (
        f"| {handles} | {isolation} | {len(row_list)} | {means['baseline+fdp']:.4f} | {means[best]:.4f} `{best}` | {means[OURS]:.4f} "
        f"| {beside(means[OURS], means[best])} | {sum(ratio <= 0.01 for ratio in ratios.values())} "
        f"| {100 * ratios[worst]:+.1f} % {worst.name} | {behind} |"
    )


def main() -> None:
    """Prints a line for each drive."""
    parser = asking("out/fdp-handles")
    options = parser.parse_intermixed_args()
    row_list = [row.on(4, None) for row in named(rows(TRACES / "held-out"), options.names, parser)]
    print(
        f"| handles | isolated | rows | `baseline+fdp` | best single other | `{OURS}` | beside it | within 1 % of the best other "
        "| at worst | more than 0.5 % above `baseline+fdp` |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for isolation in ("initially", "persistently"):
        for handles in HANDLES:
            folder = options.output / f"{handles}-{isolation}"
            device = profile(folder, handles, isolation)
            found = {}
            for row in row_list:
                print(f"{handles} {isolation}: {row.name}", file=sys.stderr)
                on_drive = row._replace(drive=(*row.drive, "--device", str(device)))
                try:
                    result = replay(options.anabranch, on_drive, RIVALS, folder / row.file)
                except subprocess.CalledProcessError:
                    continue
                result |= replay(options.anabranch, on_drive, [OURS], folder / "ours" / row.file)
                found[row] = {name: scheme["waf"] for name, scheme in result.items()}
            if found:
                print(line(handles, isolation, found), flush=True)


if __name__ == "__main__":
    main()
