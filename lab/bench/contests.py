"""Replays every recording in three contests, and compares our scheme with the best other of each.

Use: contests.py ANABRANCH [-o FOLDER] [--seeds N] [--fresh] [--parts N] [--spare SHARE] [--victim RULE] [--data NAME] [NAME...]
  ANABRANCH  the command (markdown on standard output)
  -o         keeps each result under FOLDER, rivals' apart from ours; what is there already is not made again
  --seeds    seeds of our scheme, from 1 on [default: 3]
  --fresh    the recordings of traces/fresh, which had no part in anything; without it those that choices were made by
  --parts    cuts each erase unit in so many, so that there are as many times more [default: 1]
  --spare    the drives' over-provisioning, 28% for example, in place of their own
  --victim   the drives' victim rule [default: greedy]
  --data     writes the tables to lab/data/NAME-whole.csv, NAME-host-half.csv and NAME-collected.csv, for scripts/tables.py
  --drives   in place of rows: a line for each contest on drives as recorded, of eight times as many units, of 28 % of spare, and of
             both, in lab/data/NAME.csv
  NAME       only these recordings

Recordings, and units and drives unless others are asked for, are those of the tables in the README.md of traces/,
traces/held-out, traces/looked-at and traces/generations, or of traces/fresh.
A program is what stands before the first hyphen of a recording's name; all means are means by program. The contests: whole schemes, which
need their own firmware; the host half, beside a drive that keeps all copies in one open unit (`+gc`); and whole schemes whose host
collects on such a drive (`+host`), where there is room for it. What a scheme does while it learns is its WAF until the end of the second
capacity of writes, what it does once it had the time to, its WAF from there on. *Best held* is the setting of ours that copies least if it
leads throughout, known by hindsight; what ours is above it is the price of choosing.
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
from typing import Iterable, NamedTuple

TRACES = Path(__file__).resolve().parents[2] / "traces"
# Recordings that a choice was made by, or may be; those of `fresh` had no part in any. Programs that merge files were recorded again
# once the probe told generations: those stand in place of the others of their names.
CHOSEN_BY = (TRACES, TRACES / "held-out", TRACES / "looked-at", TRACES / "generations")
FRESH = (TRACES / "fresh",)
# Settings of our scheme, each of which may lead throughout (`docs/anabranch-scheme.md`).
WHOLE_SETTINGS = tuple(
    "rules rules-age rules-classes classes classes-age classes-copies-age two-classes-emptiest single single-chain-age single-emptiest objects".split()
)
HALF_SETTINGS = ("rules", "rules-classes", "classes", "three-classes", "single", "objects")
# Whole schemes, whose second half a host can do.
WHOLE = "pcstream dac eti fadac warcip multilog sfs sepbit midas dogi".split()
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

    def on(self, parts: float, spare: str | None, victim: str | None = None) -> Row:
        """The recording on a drive whose units are cut in so many parts (or, below 1, are larger), with another over-provisioning and victim
        rule if they are named."""
        number, name = re.fullmatch(r"(\d+)([KMG]iB)", self.unit).groups()
        unit_kib = int(number) * 1024 ** "KMG".index(name[0])
        unit = self.unit if parts == 1 else f"{int(unit_kib / parts)}KiB"
        kept = self.drive[: self.drive.index(SPARE)] if SPARE in self.drive else self.drive
        drive = (*kept, SPARE, spare) if spare else self.drive
        return self._replace(unit=unit, drive=(*drive, "--victim", victim) if victim else drive)


class Contest(NamedTuple):
    """Schemes that decide about the same things."""

    name: str
    title: str
    ours: str
    relocation: str
    settings: tuple[str, ...]

    def bounds(self) -> list[str]:
        """What no scheme can do: one that knows every death, and one that knows how often each page is rewritten."""
        return [f"{bound}+{self.relocation}" if self.relocation else bound for bound in BOUNDS]

    def admits(self, name: str) -> bool:
        """Whether a scheme of a result takes part, ours apart."""
        scheme, _, settings = name.partition(":")
        base, _, relocation = scheme.partition("+")
        if settings or base in ("anabranch", "fk", *BOUNDS):
            return False
        return base == "baseline" and relocation in ("", "gc") or relocation == self.relocation

    def rivals(self) -> list[str]:
        """What the others are asked for as."""
        if not self.relocation:
            return ["all"]
        others = HALVES if self.name == "host-half" else WHOLE
        return [f"{one}+{self.relocation}" for one in (*others, *BOUNDS)] + [UNPLACED, "baseline"]

    def specs(self, seeds: Iterable[int]) -> dict[int, str]:
        """Our scheme's name with each seed, as results have it: without what is the default."""
        return {seed: spec(self, "", seed) for seed in seeds}

    def held(self) -> list[str]:
        """Our scheme's name with each setting that leads throughout."""
        return [spec(self, f"setting={setting}", 1) for setting in self.settings]


CONTESTS = (
    Contest("whole", "Whole schemes", "anabranch", "", WHOLE_SETTINGS),
    Contest("host-half", "The host half", "anabranch+gc", "gc", HALF_SETTINGS),
    Contest("collected", "Collected by the host", "anabranch+host", "host", ()),
)
# Without the contest that has a question of its own.
PLACEMENT = CONTESTS[:2]


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
    middle = next((point for point in series if point["host_page_bytes"] >= bound), series[-1])

    def waf(begin: dict, end: dict) -> float:
        written = end["host_page_bytes"] - begin["host_page_bytes"]
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


# WAFs of a row by the name of a scheme, and by our seed.
Rivals = dict[Row, dict[str, float]]
Ours = dict[Row, dict[int, float]]


class Table:
    """A contest's rows: the WAF of rivals, and ours by seed, each in all spans of a run; ours with the best setting held throughout, that
    of `oracle`, and those of the contest's own bounds by name."""

    def __init__(
        self,
        spans: dict[str, tuple[Rivals, Ours]],
        held: dict[Row, tuple[float, str]],
        oracle: dict[Row, float],
        bounds: dict[str, dict[Row, float]],
    ):
        self.spans, self.held, self.oracle, self.bounds = spans, held, oracle, bounds
        self.rivals, ours = spans[ALL]
        self.rows = list(self.rivals)
        self.seeds = sorted(next(iter(ours.values())))

    def waf(self, row: Row, seed: int | None = None, span: str = ALL) -> float:
        """Ours of a seed, or the mean of all."""
        wafs = self.spans[span][1][row]
        return mean(wafs[n] for n in (self.seeds if seed is None else [seed]))

    def ratio(self, row: Row, span: str = ALL) -> float:
        """By how much ours is above the best other in a span of the run."""
        return self.waf(row, span=span) / min(self.spans[span][0][row].values()) - 1

    def single(self) -> dict[str, dict[str, float]]:
        """Copies by program of each rival that is in every row."""
        names = set.intersection(*(set(self.rivals[row]) for row in self.rows))
        return {name: by_program({row: self.rivals[row][name] - 1 for row in self.rows}) for name in sorted(names)}

    def beside_single(self) -> tuple[dict[str, float], dict[str, dict[str, float]], str, dict[str, float]]:
        """Copies by program: ours, those of each rival that is in every row, and the name and copies of the best of them."""
        ours, single = by_program({row: self.waf(row) - 1 for row in self.rows}), self.single()
        return ours, single, *min(single.items(), key=lambda item: mean(item[1].values()))

    def lines(self, title: str) -> list[str]:
        """One line a row."""
        held = " best held | beside it |" if self.held else ""
        lines = [
            f"| trace | unit | `{UNPLACED}` | best other | `{title}` | its seeds | beside it | after {LEARNING} capacities |{held} `oracle` | gap closed |",
            "|---" * (10 + 2 * bool(self.held)) + "|",
        ]
        for row in self.rows:
            best, name = min((waf, name) for name, waf in self.rivals[row].items())
            wafs = [self.waf(row, seed) for seed in self.seeds]
            plain, oracle = self.rivals[row][UNPLACED], self.oracle[row]
            # Of a gap below 0.005 copies nothing is told.
            gap = f"{100 * (plain - self.waf(row)) / (plain - oracle):.0f} %" if plain - oracle >= 0.005 else "-"
            waf, setting = self.held.get(row, (0.0, ""))
            held = f" {waf:.3f} `{setting}` | {100 * (self.waf(row) / waf - 1):+.1f} % |" if self.held else ""
            lines.append(
                f"| {row.name} | {row.unit} | {plain:.3f} | {best:.3f} `{name}` | {self.waf(row):.3f} | {min(wafs):.3f} to {max(wafs):.3f} "
                f"| {above(self.ratio(row))} | {above(self.ratio(row, LATE))} |{held} {oracle:.3f} | {gap} |"
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

    def unplaced(self) -> str:
        """Ours beside a drive without a host that places, over the whole run and while it learns."""
        told = []
        for span, title in ((ALL, "Over the whole run"), (EARLY, f"In the first {LEARNING} capacities")):
            plain = {row: self.spans[span][0][row][UNPLACED] for row in self.rows}
            ours = {row: self.waf(row, span=span) for row in self.rows}
            copies = mean_copies(ours), mean_copies(plain)
            above_plain = beyond({row.name: ours[row] / plain[row] - 1 for row in self.rows}, 0.005)
            told.append(
                f"{title} `{UNPLACED}` copies {copies[1]:.4f} and ours {copies[0]:.4f} ({beside(*copies)}); more than 0.5 % above it: {above_plain}. "
            )
        return "".join(told)

    def price(self) -> str:
        """What choosing costs: ours beside the setting that is best in each row if it leads throughout."""
        if not self.held:
            return ""
        best = mean_copies({row: waf for row, (waf, _) in self.held.items()})
        ours = mean_copies({row: self.waf(row) for row in self.rows})
        ratios = {row.name: self.waf(row) / self.held[row][0] - 1 for row in self.rows}
        return (
            f"With the best setting of each row held throughout, known by hindsight, ours would copy {best:.4f} ({beside(ours, best)} now); "
            f"more than 1 % above that: {beyond(ratios, 0.01)}; below it: {sum(ratio < 0 for ratio in ratios.values())}. "
        )

    def line(self, contest: Contest) -> str:
        """The contest in a line: means, rows beyond bounds, and the price of choosing."""
        ours, single, name, rival = self.beside_single()
        copies = mean(ours.values())
        plain = {row.name: self.waf(row) / self.rivals[row][UNPLACED] - 1 for row in self.rows}
        held = mean_copies({row: waf for row, (waf, _) in self.held.items()}) if self.held else 0.0
        cells = [
            contest.title.lower(),
            f"{copies:.4f}",
            f"{mean(rival.values()):.4f} `{name}`",
            beside(copies, mean(rival.values())),
            " to ".join(interval(ours, single)),
            f"{sum(self.ratio(row) <= 0.01 for row in self.rows)} of {len(self.rows)}",
            f"{100 * max(self.ratio(row) for row in self.rows):+.1f} %",
            f"{sum(ratio > 0.005 for ratio in plain.values())}, {100 * max(plain.values()):+.1f} %",
            beside(copies, held),
            *(f"{mean_copies(wafs):.4f}" for wafs in self.bounds.values()),
        ]
        return "| " + " | ".join(cells) + " |"

    def summary(self, title: str) -> str:
        """The bounds and the means."""
        ratios = [self.ratio(row) for row in self.rows]
        late = beyond({row.name: self.ratio(row, LATE) for row in self.rows}, 0.01)
        ours, single, name, rival = self.beside_single()
        least, most = interval(ours, single)
        seeds = [mean_copies({row: self.waf(row, seed) for row in self.rows}) for seed in self.seeds]
        single_mean = mean(rival.values())
        each = [beside(seed, single_mean) for seed in seeds]
        either = mean_copies({row: min(self.waf(row), *self.rivals[row].values()) for row in self.rows})
        bounds = (f"`{name}` {mean_copies(wafs):.4f}" for name, wafs in self.bounds.items())
        return (
            f"{len(self.rows)} rows, {len(ours)} programs. Within 1 % of the best other: {sum(r <= 0.01 for r in ratios)}, at worst "
            f"{100 * max(ratios):+.1f} %; after {LEARNING} capacities more than 1 % above it: {late}. Mean copies by program: `{title}` "
            f"{mean(ours.values()):.4f}, best single other `{name}` {single_mean:.4f} ({beside(mean(ours.values()), single_mean)}; "
            f"by seed {', '.join(each)}; 95 % of resamplings of the programs {least} to {most}). {self.held_out()}{self.unplaced()}"
            f"{self.price()}Best of each row by hindsight, ours among them: {either:.4f}; bounds: {', '.join(bounds)}."
        )


def keep(name: str, anabranch: str, lines: list[str]) -> None:
    """Writes the lines of a table to a file of data, with the command that made it and the commit of `anabranch`."""
    about = subprocess.run([anabranch, "--version"], capture_output=True, text=True, check=True).stdout
    commit = about.partition("commit: ")[2].splitlines()[0]
    # Where results are kept is nobody's but the caller's.
    words = ["FOLDER" if before == "-o" else word for before, word in zip(sys.argv[1:], sys.argv[2:])]
    command = " ".join(["python3", f"lab/bench/{Path(sys.argv[0]).name}", "anabranch", *words])
    with (TRACES.parent / f"lab/data/{name}.csv").open("w", newline="") as file:
        file.write(f"# command: {command}\n# commit: {commit}\n# machine: any (counts of a replay)\n")
        rows = [line.strip("| ").split(" | ") for line in lines if not line.startswith("|---")]
        csv.writer(file, lineterminator="\n").writerows(rows)


# The kinds of drives of one table: their name, parts of an erase unit, over-provisioning.
DRIVES = (("as recorded", 1, None), ("units an eighth as large", 8, None), ("28 % of spare", 1, "28%"), ("both", 8, "28%"))
HEAD = "| " + " | ".join(
    ("drives", "contest", "ours", "best single other", "beside it", "95 % of resamplings", "within 1 % of the best other", "at worst")
    + (f"more than 0.5 % above `{UNPLACED}`, at worst", "above the best held", "`oracle`", "`oracle-rate`")
) + " |"


def contest_of(contest: Contest, found: list[Row], options: argparse.Namespace) -> Table:
    """The rows of a contest, from results that are there or made now."""
    seeds = contest.specs(range(1, options.seeds + 1))
    rivals, ours = {}, {}
    for row in found:
        print(contest.name, row.name, file=sys.stderr)
        try:
            rivals[row] = replay(options.anabranch, row, contest.rivals(), options.output / contest.name / row.file)
            names = [*seeds.values(), *contest.held()]
            ours[row] = replay(options.anabranch, row, names, options.output / f"{contest.name}-{options.seeds}" / row.file)
        except subprocess.CalledProcessError:
            # The command told why: the drive has too few units for a host that collects. In other contests that is no reason.
            if contest.relocation != "host":
                raise
            rivals.pop(row, None)
    spans = {
        span: (
            {row: {name: s[span] for name, s in one.items() if not s["is_bound"] and contest.admits(name)} for row, one in rivals.items()},
            {row: {seed: one[name][span] for seed, name in seeds.items()} for row, one in ours.items()},
        )
        for span in SPANS
    }
    held = {row: min((one[name]["waf"], name.partition("=")[2]) for name in contest.held()) for row, one in ours.items() if contest.settings}
    bounds = {name: {row: one[name]["waf"] for row, one in rivals.items()} for name in contest.bounds()}
    return Table(spans, held, bounds[contest.bounds()[0]], bounds)


def main() -> None:
    """Prints the contests."""
    parser = asking("out/contests", seeds=True)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--parts", type=at_least_one, default=1)
    parser.add_argument("--spare")
    parser.add_argument("--victim")
    parser.add_argument("--data")
    parser.add_argument("--drives")
    options = parser.parse_intermixed_args()
    found = named(recordings(FRESH if options.fresh else CHOSEN_BY), options.names, parser)
    if options.drives:
        lines = []
        for title, parts, spare in DRIVES:
            on = [row.on(parts, spare, options.victim) for row in found]
            lines += [f"| {title} {contest_of(contest, on, options).line(contest)}" for contest in CONTESTS]
        keep(options.drives, options.anabranch, [HEAD, *lines])
        return
    found = [row.on(options.parts, options.spare, options.victim) for row in found]
    for contest in CONTESTS:
        table = contest_of(contest, found, options)
        lines = table.lines(contest.ours)
        print(f"**{contest.title}**\n", *lines, "", table.summary(contest.ours), "", sep="\n")
        if options.data:
            keep(f"{options.data}-{contest.name}", options.anabranch, lines)


if __name__ == "__main__":
    main()
