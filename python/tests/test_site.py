"""The documents: every link leads somewhere, and the tutorials do what they say.

A tutorial is run block by block in a directory of its own where `traces` lies:

- `console`: each `$ command` must end well;
- a block with `file=NAME` is written to that file;
- a comment `<!-- prints: A | B -->` after a block: its last command prints A and B, and the figures
  among them stand in the text, too.
"""

from __future__ import annotations

import importlib.util
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


SOURCES = ("*.rs", "*.py", "*.c", "*.h", "*.sh", "*.js")
# Words in code with this many underscores are taken for names of tests; but for metrics and words of others.
TEST = re.compile(r"(?<![\w-])[a-z][a-z0-9]*(?:_[a-z0-9]+){3,}(?!\w)")
FOREIGN = re.compile(r".*_(total|ratio|threshold)|atomic_write_unit_max_opt|a_word_of_its_name")
FOLDERS = "bench|crates|docs|experiments|fuzz|lab|packaging|python|scripts|traces|workloads"
PLACE = re.compile(rf"(?<![\w/.-])(?:{FOLDERS})/[\w./@*{{}}$…-]+")
PLACEHOLDER = re.compile(r"[*{$…]|NAME|TRACE|@")
HERE = Path(__file__)


def code(text: str) -> str:
    """Blocks of code, and code within lines."""
    blocks = FENCE.findall(text)
    return "\n".join([*blocks, *re.findall(r"`([^`\n]+)`", FENCE.sub("", text))])


def unknown(text: str, sources: str, root: Path) -> Iterator[str]:
    """Tests and files that a document names and that are not there."""
    named = code(text)
    for test in TEST.findall(named):
        # A metric's name is put together of a prefix and its own.
        known = test.startswith("anabranch_") or test in sources
        if not FOREIGN.fullmatch(test) and not known:
            yield test
    for target in re.findall(r"--test (\w+)", named):
        if not any(root.glob(f"crates/*/*/tests/{target}.rs")) and not any(
            root.glob(f"crates/*/*/tests/{target}/main.rs")
        ):
            yield f"--test {target}"
    for place in PLACE.findall(named):
        if not PLACEHOLDER.search(place) and not (root / place.rstrip(".")).exists():
            yield place


def sources() -> str:
    listed = subprocess.run(
        ["git", "ls-files", *SOURCES], cwd=ROOT, capture_output=True, text=True, check=True
    )
    names = (ROOT / name for name in listed.stdout.splitlines())
    return "\n".join(name.read_text() for name in names if name.exists() and name != HERE)


def test_a_test_and_a_file_that_a_document_names_are_there() -> None:
    known = sources()
    missing = {
        document.name: found
        for document in documents()
        if (found := list(unknown(document.read_text(), known, ROOT)))
    }
    assert missing == {}


def test_a_test_and_a_file_that_are_not_there_are_found(tmp_path: Path) -> None:
    page = "`it_is_so_here` `so_it_is_there` `docs/none.md`\n```\ncargo test --test nothing\n```\n"
    assert list(unknown(page, "fn it_is_so_here()", tmp_path)) == [
        "so_it_is_there",
        "--test nothing",
        "docs/none.md",
    ]


def test_the_reference_is_what_the_command_prints(command: str) -> None:
    where = ROOT / "scripts/reference.py"
    found = importlib.util.spec_from_file_location("reference", where)
    assert found is not None and found.loader is not None
    reference = importlib.util.module_from_spec(found)
    found.loader.exec_module(reference)
    kept = {page.name: page.read_text() for page in (ROOT / "docs/reference").iterdir()}
    assert kept == reference.pages(command), f"scripts/reference.py {command}"


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
