"""The documents: every link leads somewhere, and the tutorials do what they say.

A tutorial is run block by block in a directory of its own where `traces` lies:

- `console`: each `$ command` must end well;
- a block with `file=NAME` is written to that file;
- a comment `<!-- prints: A | B -->` after a block: its last command prints A and B, and the figures
  among them stand in the text, too.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ROOT

TUTORIALS = sorted((ROOT / "docs/tutorials").glob("*.md"))
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"")
STEP = re.compile(
    r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$|^<!-- prints: (?P<prints>[^\n]*) -->$",
    re.MULTILINE | re.DOTALL,
)


def documents() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).exists()]


def anchors(document: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub and mdBook make them."""
    text = FENCE.sub("", document.read_text())
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    words = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower() for title in titles)
    return {re.sub(r"[^\w\- ]", "", title).strip().replace(" ", "-") for title in words}


def broken(document: Path) -> Iterator[str]:
    site = ROOT / "docs"
    text = re.sub(r"`[^`\n]*`", "", FENCE.sub("", document.read_text()))
    for found in LINK.finditer(text):
        link = found.group(1) or found.group(2)
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        if not target.exists():
            yield f"{document.name}: {link} is not there"
        elif anchor and anchor not in anchors(target):
            yield f"{document.name}: {link}: no such heading"
        elif document.is_relative_to(site) and not target.is_relative_to(site):
            yield f"{document.name}: {link} leads out of the site"


def test_every_link_of_the_documents_leads_somewhere() -> None:
    documented = documents()
    assert ROOT / "README.md" in documented
    assert [complaint for document in documented for complaint in broken(document)] == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "whole.md").write_text("# Two, and `three`\n")
    page = tmp_path / "page.md"
    page.write_text(
        "# One\n[a](none.md) [b](#one) [c](#two) [d](whole.md#two-and-three) `[e](f.md)`\n"
        '<img src="none.png">\n'
    )
    assert list(broken(page)) == [
        "page.md: none.md is not there",
        "page.md: #two: no such heading",
        "page.md: none.png is not there",
    ]


def test_the_site_has_every_page_of_the_documents() -> None:
    pages = {page for page in (ROOT / "docs").rglob("*.md") if page.name != "SUMMARY.md"}
    summary = (ROOT / "docs/SUMMARY.md").read_text()
    listed = {ROOT / "docs" / found.group(1) for found in LINK.finditer(summary)}
    assert listed == pages


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: str(path.stem))
def test_a_tutorial_does_what_it_says(tutorial: Path, tmp_path: Path, command: str) -> None:
    text = tutorial.read_text()
    (tmp_path / "traces").symlink_to(ROOT / "traces")
    folders = [str(Path(command).parent), str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = {**os.environ, "PATH": os.pathsep.join(folders)}
    printed = ""
    for step in STEP.finditer(text):
        if step["prints"]:
            for part in step["prints"].split(" | "):
                assert part in printed, f"{part} is not in:\n{printed}"
                if part[0].isdigit():
                    assert text.count(part) > 1, f"{part} does not stand in the text"
            continue
        named = re.search(r"file=(\S+)", step["info"])
        if named:
            (tmp_path / named[1]).write_text(step["body"])
        elif step["info"] == "console":
            for line in re.findall(r"^\$ (.*)$", step["body"], re.MULTILINE):
                ended = subprocess.run(
                    ["bash", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True
                )
                printed = ended.stdout + ended.stderr
                assert ended.returncode == 0, f"{line}\n{printed}"


def test_there_are_tutorials() -> None:
    assert [tutorial.stem for tutorial in TUTORIALS] == ["database", "first", "fleet", "scheme"]
