"""Writes the reference of the documents, as the command itself prints it: scripts/reference.py COMMAND [DIR].

A page for each verb, and the lists of schemes and profiles. DIR is docs/reference by default.
"""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

REFERENCE = Path(__file__).resolve().parent.parent / "docs/reference"


def printed(command: str, *arguments: str) -> str:
    environment = {**os.environ, "COLUMNS": "100"}
    done = subprocess.run([command, *arguments], stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return done.stdout


def verbs(command: str) -> list[str]:
    listed = printed(command, "--help").partition("Commands:\n")[2].partition("\n\n")[0]
    return [verb for verb in re.findall(r"^  (\w+)", listed, re.MULTILINE) if verb != "help"]


def cell(text: str) -> str:
    return re.sub(r"([|*<])", r"\\\1", text)


def table(command: str, verb: str) -> str:
    header, *rows = csv.reader(printed(command, verb, "--csv").splitlines())
    lines = [header, ["---"] * len(header), *([cell(one) for one in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def pages(command: str) -> dict[str, str]:
    """The text of each page, by the name of its file."""
    made = {}
    for verb in verbs(command):
        lines = [line.rstrip() for line in printed(command, verb, "--help").splitlines()]
        made[f"{verb}.md"] = "\n".join([f"# anabranch {verb}", "", "```text", *lines, "```", ""])
    schemes, devices = table(command, "schemes"), table(command, "devices")
    made["catalogue.md"] = (
        f"# Schemes and profiles\n\n## Schemes\n\n{schemes}\n\n"
        f"## Profiles of drives\n\nStreams: host + internal.\n\n{devices}\n"
    )
    return made


if __name__ == "__main__":
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else REFERENCE
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages(sys.argv[1]).items():
        (folder / name).write_text(text)
