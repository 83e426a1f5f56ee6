"""What each part of our scheme is worth: its copies without it, over all recordings that a choice was made by.

Use: ablation.py ANABRANCH [-o FOLDER] [--seeds N] [NAME...]      (markdown on standard output)
  ANABRANCH  the command
  -o         keeps each result under FOLDER; what is there already is not made again
  --seeds    seeds of our scheme, from 1 on [default: 3]
  NAME       only these recordings

Recordings, drives and contests are those of contests.py; means are means by program.
"""

from __future__ import annotations

import sys

from contests import CHOSEN_BY, PLACEMENT, asking, beside, by_program, interval, mean, named, recordings, replay, spec

# What is left out, and the setting that leaves it out.
PARTS = {
    "nothing": "",
    "contexts, classes of files, hints; rules and objects with them": "ablate=writers",
    "lives before at the address": "ablate=history",
    "both: one writer, no past": "ablate=both",
    "the choice of a setting: six classes": "setting=classes",
    "choice and lives before": "setting=classes,ablate=history",
    "choice and contexts": "setting=classes,ablate=writers",
}


def main() -> None:
    """Prints the table."""
    parser = asking("out/ablation", seeds=True)
    options = parser.parse_intermixed_args()
    found = named(recordings(CHOSEN_BY), options.names, parser)
    seeds = range(1, options.seeds + 1)
    specs = {(c, part): [spec(c, setting, seed) for seed in seeds] for c in PLACEMENT for part, setting in PARTS.items()}
    names = [name for one in specs.values() for name in one]
    results = {}
    for row in found:
        print(row.name, file=sys.stderr)
        results[row] = replay(options.anabranch, row, names, options.output / f"ablation-{options.seeds}" / row.file)
    copies = {
        key: by_program({row: mean(results[row][name]["waf"] for name in names) - 1 for row in found}) for key, names in specs.items()
    }
    print("| without | " + " | ".join(f"`{c.ours}` | beside it | 95 % of resamplings" for c in PLACEMENT) + " |")
    print("|---|" + "---|" * 3 * len(PLACEMENT))
    for part in PARTS:
        cells = []
        for contest in PLACEMENT:
            ours, whole = copies[contest, part], copies[contest, "nothing"]
            least, most = interval(ours, {"": whole})
            change = [beside(mean(ours.values()), mean(whole.values())), f"{least} to {most}"]
            cells += [f"{mean(ours.values()):.4f}", *(change if ours is not whole else ["", ""])]
        print(f"| {part} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
