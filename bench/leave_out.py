"""Replays every recording and judges each program by the setting that the other programs chose.

Use: leave_out.py ANABRANCH [-o FOLDER] [--seeds N] [--fresh] [--parts N] [--spare SHARE] [--data NAME] [NAME...]      (markdown on standard output)
  ANABRANCH  the command
  -o         keeps each result under FOLDER, rivals' apart from ours; what is there already is not made again
  --seeds    seeds of our scheme, from 1 on [default: 3]
  --fresh    the recordings of traces/fresh, which had no part in anything, with our scheme as it is set by default
  --parts    cuts each erase unit in so many, so that there are as many times more [default: 1]
  --spare    the drives' over-provisioning, 28% for example, in place of their own
  --data     writes the tables to lab/data/NAME-whole.csv and NAME-host-half.csv as well, for scripts/tables.py
  NAME       only these recordings

Recordings, and units and drives unless others are asked for, are those of the tables in the README.md of traces/,
traces/held-out, traces/looked-at and traces/generations, or of traces/fresh.
A program is what stands before the first hyphen of a recording's name; all means are means by program. There are two contests:
whole schemes, and the host half beside a drive that keeps all copies in one open unit (`+gc`). What a scheme does while it learns is its
WAF until the end of the second capacity of writes, what it does once it had the time to, its WAF from there on.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

TRACES = Path(__file__).resolve().parents[1] / "traces"
# Recordings that a choice was made by, or may be; those of `fresh` had no part in any. Programs that merge files were recorded again
# once the probe told generations: those stand in place of the others of their names.
CHOSEN_BY = (TRACES, TRACES / "held-out", TRACES / "looked-at", TRACES / "generations")
FRESH = (TRACES / "fresh",)
# What a program may be given, the plainest first: it is taken where another is no better.
SETTINGS = (
    "",
    "unit-pages=64",
    "unit-pages=256",
    "margin=1",
    "margin=4",
    "history=off",
    "rehearse=on",
)
HALVES = (
    "manual sequential fstream flashalloc vstream pcstream-fcfs pcstream* autostream-sfr autostream-mq dac eti fadac warcip multilog sepbit"
).split()
BOUNDS = ("oracle", "oracle-rate")
# The option of a drive's over-provisioning, the last in a row.
SPARE = "--over-provisioning"
# The capacities of writes that a scheme has to learn in.
LEARNING = 2
# What a run is told apart in: all of it, until the time to learn is over, and from there on.
SPANS = ALL, EARLY, LATE = "waf", "early_waf", "late_waf"
# What a drive does without a host that places, which nobody should be worse than while he learns.
UNPLACED = "baseline+gc"
RESAMPLINGS = 10_000


class Row(NamedTuple):
    """A recording on a drive."""

    name: str
    unit: str
    drive: tuple[str, ...]
    path: Path

    @property
    def program(self) -> str:
        """The program recorded: `rocksdb` of `rocksdb-fill`."""
        return self.name.partition("-")[0]

    @property
    def file(self) -> str:
        """The name of its results, another one for each drive."""
        return "@".join((self.name, self.unit, *(one for one in self.drive if one[0] != "-"))) + ".json"

    def on(self, parts: int, spare: str | None) -> Row:
        """The recording on a drive whose units are cut in so many parts, with another over-provisioning if one is named."""
        number, name = re.fullmatch(r"(\d+)([KMG]iB)", self.unit).groups()
        unit_kib = int(number) * 1024 ** "KMG".index(name[0])
        unit = self.unit if parts == 1 else f"{unit_kib // parts}KiB"
        kept = self.drive[: self.drive.index(SPARE)] if SPARE in self.drive else self.drive
        return self._replace(unit=unit, drive=(*kept, SPARE, spare) if spare else self.drive)


class Contest(NamedTuple):
    """Schemes that decide about the same things."""

    name: str
    title: str
    ours: str
    relocation: str

    def bounds(self) -> list[str]:
        """What no scheme can do: one that knows every death, and one that knows how often each page is rewritten."""
        return [f"{bound}+{self.relocation}" if self.relocation else bound for bound in BOUNDS]

    def admits(self, name: str) -> bool:
        """Whether a scheme of a result takes part, ours apart."""
        scheme, _, settings = name.partition(":")
        base, _, relocation = scheme.partition("+")
        if settings or base == "anabranch" or base == "fk":
            return False
        return base == "baseline" and relocation in ("", "gc") or relocation == self.relocation


CONTESTS = (
    Contest("whole", "Whole schemes", "anabranch", ""),
    Contest("host-half", "The host half", "anabranch+gc", "gc"),
)


def rows(folder: Path) -> list[Row]:
    """The rows of the table in a folder's README whose recordings are there."""
    found, columns = [], []
    for line in (folder / "README.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] == "trace":
            columns = cells
        row = dict(zip(columns, cells))
        path = folder / f"{cells[0]}.parquet"
        if "unit" in row and re.fullmatch(r"\d+[KMG]iB", row["unit"]) and path.exists():
            full = ("--fill", "0.9", SPARE, "10%") if "90 %" in row.get("drive", "") else ()
            found.append(Row(cells[0], row["unit"], full, path))
    return found


def recordings(folders: tuple[Path, ...]) -> list[Row]:
    """The rows of several folders; of one name the last."""
    return list({row.name: row for folder in folders for row in rows(folder)}.values())


def at_least_one(text: str) -> int:
    """The number that an option is given."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number from 1 on")
    return int(text)


def asking(output: str, seeds: bool = False) -> argparse.ArgumentParser:
    """What a program that replays recordings is asked with: the command, where it keeps results, of which recordings, with how many seeds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("anabranch")
    parser.add_argument("-o", "--output", type=Path, default=Path(output))
    if seeds:
        parser.add_argument("--seeds", type=at_least_one, default=3)
    parser.add_argument("names", nargs="*", metavar="NAME")
    return parser


def named(found: list[Row], names: list[str], parser: argparse.ArgumentParser) -> list[Row]:
    """Rows of these names, all if there are none; a name that no row has ends the program."""
    unknown = set(names) - {row.name for row in found}
    if unknown:
        parser.error(f"no such recording: {', '.join(sorted(unknown))}")
    return [row for row in found if row.name in names or not names]


def is_held_out(row: Row) -> bool:
    """Whether the program was kept aside when the scheme was made; it may have been recorded again."""
    return row.path.parent.name == "held-out" or (TRACES / "held-out" / row.path.name).exists()


def spec(contest: Contest, setting: str, seed: int) -> str:
    """The scheme's name with a setting and a seed, as results have it: without what is the default."""
    settings = [part for part in (setting, f"seed={seed}" if seed > 1 else "") if part]
    return ":".join([contest.ours, ",".join(settings)]).rstrip(":")


def replay(anabranch: str, row: Row, schemes: list[str], output: Path) -> dict[str, dict]:
    """A recording's result by scheme, made unless it is there; with the WAF until the time to learn is over, and from there on."""
    if not output.exists():
        output.parent.mkdir(parents=True, exist_ok=True)
        partial = output.with_suffix(".partial")
        command = [anabranch, "replay", str(row.path), "--unit", row.unit, *row.drive]
        command += ["--scheme", ",".join(schemes), "-o", str(partial)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        os.replace(partial, output)
    result = json.loads(output.read_text())
    begin = LEARNING * result["device"]["logical_bytes"]
    return {scheme["name"]: scheme | dict(zip((EARLY, LATE), parted(scheme, begin))) for scheme in result["schemes"]}


def parted(scheme: dict, bound: int) -> tuple[float, float]:
    """The WAFs of what the host wrote until it had written so many bytes, and from there on: the series is parted at its first point that
    has them."""
    series = scheme["series"]
    middle = next((point for point in series if point["host_bytes"] >= bound), series[-1])

    def waf(begin: dict, end: dict) -> float:
        written = end["host_bytes"] - begin["host_bytes"]
        return (end["media_bytes"] - begin["media_bytes"]) / written if written else 1.0

    return waf(series[0], middle), waf(middle, series[-1])


def by_program(values: dict[Row, float]) -> dict[str, float]:
    """Means over the rows of each program."""
    groups: dict[str, list[float]] = {}
    for row, value in values.items():
        groups.setdefault(row.program, []).append(value)
    return {program: sum(group) / len(group) for program, group in groups.items()}


def mean(values) -> float:
    """The arithmetic mean."""
    values = list(values)
    return sum(values) / len(values)


def mean_copies(wafs: dict[Row, float]) -> float:
    """The mean copies by program of rows with these WAFs."""
    return mean(by_program({row: waf - 1 for row, waf in wafs.items()}).values())


def choose(copies: dict[str, dict[str, float]], left_out: str | None) -> str:
    """The setting with the least mean copies over all programs but one; of equals the first."""
    return min(copies, key=lambda setting: mean(c for p, c in copies[setting].items() if p != left_out))


def beside(ours: float, rival: float) -> str:
    """How many more copies ours are; nothing where the rival copies none."""
    return f"{100 * (ours / rival - 1):+.1f} %" if rival > 0 else "-"


def above(ratio: float) -> str:
    """By how much we are above the best other; more than 1 % is said."""
    return f"{100 * ratio:+.1f} %{' (above)' if ratio > 0.01 else ''}"


def beyond(ratios: dict[str, float], bound: float) -> str:
    """How many rows are further above something than a bound, and the one that is furthest."""
    worst = max(ratios, key=ratios.__getitem__)
    return f"{sum(ratio > bound for ratio in ratios.values())}, at worst {100 * ratios[worst]:+.1f} % {worst}"


def interval(ours: dict[str, float], rivals: dict[str, dict[str, float]]) -> tuple[str, str]:
    """What 95 % of resamplings of the programs say of our mean copies beside those of the best single
    rival, which each resampling names anew."""
    drawn, programs, ratios = random.Random(1), sorted(ours), []
    for _ in range(RESAMPLINGS):
        sample = drawn.choices(programs, k=len(programs))
        best = min(sum(copies[p] for p in sample) for copies in rivals.values())
        if best > 0:
            ratios.append(sum(ours[p] for p in sample) / best)
    ratios.sort()
    tail = len(ratios) // 40
    return (beside(ratios[tail], 1), beside(ratios[-1 - tail], 1)) if ratios else ("-", "-")


# WAFs of a row: of rivals by name, and ours by setting and seed.
Rivals = dict[Row, dict[str, float]]
Ours = dict[Row, dict[tuple[str, int], float]]


class Table:
    """A contest's rows: the WAF of rivals, and ours by setting and seed, each in all spans of a run; that of `oracle`, and those of the
    contest's own bounds by name."""

    def __init__(
        self,
        spans: dict[str, tuple[Rivals, Ours]],
        oracle: dict[Row, float],
        bounds: dict[str, dict[Row, float]],
    ):
        self.spans, self.oracle, self.bounds = spans, oracle, bounds
        self.rivals, ours = spans[ALL]
        self.rows = list(self.rivals)
        self.seeds = sorted({seed for _, seed in next(iter(ours.values()))})
        settings = dict.fromkeys(setting for setting, _ in next(iter(ours.values())))
        copies = {s: by_program({r: mean(ours[r][s, n] for n in self.seeds) - 1 for r in self.rows}) for s in settings}
        programs = dict.fromkeys(row.program for row in self.rows)
        self.settings = copies
        self.chosen = {program: choose(copies, program if len(programs) > 1 else None) for program in programs}

    def waf(self, row: Row, seed: int | None = None, span: str = ALL) -> float:
        """Ours with the setting the other programs chose: of a seed, or the mean of all."""
        wafs = self.spans[span][1][row]
        return mean(wafs[self.chosen[row.program], n] for n in (self.seeds if seed is None else [seed]))

    def ratio(self, row: Row, span: str = ALL) -> float:
        """By how much ours is above the best other in a span of the run."""
        return self.waf(row, span=span) / min(self.spans[span][0][row].values()) - 1

    def single(self) -> dict[str, dict[str, float]]:
        """Copies by program of each rival that is in every row."""
        names = set.intersection(*(set(self.rivals[row]) for row in self.rows))
        return {name: by_program({row: self.rivals[row][name] - 1 for row in self.rows}) for name in sorted(names)}

    def lines(self, title: str) -> list[str]:
        """One line a row."""
        lines = [
            f"| trace | unit | `baseline` | best other | `{title}` | its seeds | beside it | after {LEARNING} capacities | setting | `oracle` | gap closed |",
            "|---|---|---|---|---|---|---|---|---|---|---|",
        ]
        for row in self.rows:
            best, name = min((waf, name) for name, waf in self.rivals[row].items())
            wafs = [self.waf(row, seed) for seed in self.seeds]
            plain, oracle = self.rivals[row]["baseline"], self.oracle[row]
            # Of a gap below 0.005 copies nothing is told.
            gap = f"{100 * (plain - self.waf(row)) / (plain - oracle):.0f} %" if plain - oracle >= 0.005 else "-"
            lines.append(
                f"| {row.name} | {row.unit} | {plain:.3f} | {best:.3f} `{name}` | {self.waf(row):.3f} | {min(wafs):.3f} to {max(wafs):.3f} "
                f"| {above(self.ratio(row))} | {above(self.ratio(row, LATE))} | {self.chosen[row.program] or 'default'} | {oracle:.3f} | {gap} |"
            )
        return lines

    def held_out(self) -> str:
        """Mean copies over the programs of traces/held-out alone: ours, and the least of a single rival there."""
        row_list = [row for row in self.rows if is_held_out(row)]
        if not row_list:
            return ""
        ours = mean_copies({row: self.waf(row) for row in row_list})
        single = {name: mean_copies({row: self.rivals[row][name] for row in row_list}) for name in self.single()}
        best = min(single, key=single.__getitem__)
        return f"Over the programs of traces/held-out alone: {ours:.4f}, best single other `{best}` {single[best]:.4f} ({beside(ours, single[best])}). "

    def learning(self) -> str:
        """What ours does while it learns, beside a drive without a host that places."""
        plain = {row: self.spans[EARLY][0][row][UNPLACED] for row in self.rows}
        ours = {row: self.waf(row, span=EARLY) for row in self.rows}
        copies = mean_copies(ours), mean_copies(plain)
        above_plain = beyond({row.name: ours[row] / plain[row] - 1 for row in self.rows}, 0.005)
        return (
            f"In the first {LEARNING} capacities `{UNPLACED}` copies {copies[1]:.4f} and ours {copies[0]:.4f} ({beside(*copies)}); "
            f"more than 0.5 % above it: {above_plain}. "
        )

    def summary(self, title: str) -> str:
        """The bounds and the means."""
        ratios = [self.ratio(row) for row in self.rows]
        late = beyond({row.name: self.ratio(row, LATE) for row in self.rows}, 0.01)
        behind = sum(self.waf(row) > 1.005 * self.rivals[row]["baseline"] for row in self.rows)
        ours = by_program({row: self.waf(row) - 1 for row in self.rows})
        single = self.single()
        name, rival = min(single.items(), key=lambda item: mean(item[1].values()))
        least, most = interval(ours, single)
        seeds = [mean_copies({row: self.waf(row, seed) for row in self.rows}) for seed in self.seeds]
        single_mean = mean(rival.values())
        each = [beside(seed, single_mean) for seed in seeds]
        either = mean_copies({row: min(self.waf(row), *self.rivals[row].values()) for row in self.rows})
        settings = ", ".join(f"{setting or 'default'} {mean(copies.values()):.4f}" for setting, copies in self.settings.items())
        choice = f" Mean copies of the settings to choose among: {settings}." if len(self.settings) > 1 else ""
        bounds = (f"`{name}` {mean_copies(wafs):.4f}" for name, wafs in self.bounds.items())
        return (
            f"{len(self.rows)} rows, {len(ours)} programs. Within 1 % of the best other: {sum(r <= 0.01 for r in ratios)}, at worst "
            f"{100 * max(ratios):+.1f} %; after {LEARNING} capacities more than 1 % above it: {late}; "
            f"more than 0.5 % above `baseline`: {behind}. Mean copies by program: `{title}` "
            f"{mean(ours.values()):.4f}, best single other `{name}` {single_mean:.4f} ({beside(mean(ours.values()), single_mean)}; "
            f"by seed {', '.join(each)}; 95 % of resamplings of the programs {least} to {most}). {self.held_out()}{self.learning()}"
            f"Best of each row by hindsight, ours among them: {either:.4f}; bounds: {', '.join(bounds)}.{choice}"
        )


def keep(name: str, anabranch: str, lines: list[str]) -> None:
    """Writes the lines of a table to a file of data, with the command that made it and the commit of `anabranch`."""
    about = subprocess.run([anabranch, "--version"], capture_output=True, text=True, check=True).stdout
    commit = about.partition("commit: ")[2].splitlines()[0]
    command = " ".join(["python3", f"bench/{Path(sys.argv[0]).name}", "anabranch", *sys.argv[2:]])
    with (TRACES.parent / f"lab/data/{name}.csv").open("w", newline="") as file:
        file.write(f"# command: {command}\n# commit: {commit}\n# machine: any (counts of a replay)\n")
        rows = [line.strip("| ").split(" | ") for line in lines if not line.startswith("|---")]
        csv.writer(file, lineterminator="\n").writerows(rows)


def main() -> None:
    """Prints both contests."""
    parser = asking("out/leave-out", seeds=True)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--parts", type=at_least_one, default=1)
    parser.add_argument("--spare")
    parser.add_argument("--data")
    options = parser.parse_intermixed_args()
    found = named(recordings(FRESH if options.fresh else CHOSEN_BY), options.names, parser)
    found = [row.on(options.parts, options.spare) for row in found]
    settings = SETTINGS[:1] if options.fresh else SETTINGS
    specs = {(c, s, n): spec(c, s, n) for c in CONTESTS for s in settings for n in range(1, options.seeds + 1)}
    rivals, ours = {}, {}
    for row in found:
        print(row.name, file=sys.stderr)
        schemes = ["all", *(f"{half}+gc" for half in (*HALVES, *BOUNDS))]
        rivals[row] = replay(options.anabranch, row, schemes, options.output / row.file)
        ours[row] = replay(options.anabranch, row, list(specs.values()), options.output / f"ours-{options.seeds}" / row.file)
    for contest in CONTESTS:
        spans = {
            span: (
                {row: {name: s[span] for name, s in rivals[row].items() if not s["is_bound"] and contest.admits(name)} for row in found},
                {row: {(s, n): ours[row][name][span] for (c, s, n), name in specs.items() if c == contest} for row in found},
            )
            for span in SPANS
        }
        bounds = {name: {row: rivals[row][name]["waf"] for row in found} for name in contest.bounds()}
        table = Table(spans, {row: rivals[row]["oracle"]["waf"] for row in found}, bounds)
        lines = table.lines(contest.ours)
        print(f"**{contest.title}**\n", *lines, "", table.summary(contest.ours), "", sep="\n")
        if options.data:
            keep(f"{options.data}-{contest.name}", options.anabranch, lines)


if __name__ == "__main__":
    main()
