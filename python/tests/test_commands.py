"""Commands in the documents: what a reader copies, works.

- Each verb and option of `anabranch` that a document writes as code is one of the program's (docs/reference).
- A block `console` is run, outside of the tutorials line by line: what stands below a `$ command` is printed by it, in
  this order. `…` leaves lines or words out. With `console fails` the command ends badly.
- A block `console slow` is run by `make docs-test` alone.
- A block `console by-hand` needs root, a drive, a cluster, or a file of the reader's.
- `wide` is for the site: lines are not wrapped.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ROOT
from test_site import FENCE, TUTORIALS, documents

BLOCK = re.compile(r"^ *```(?P<info>[^\n]*)\n(?P<body>.*?)^ *```$", re.MULTILINE | re.DOTALL)
CALL = re.compile(r"(?<!\.py )(?<![\w.-])anabranch ([a-z]+)\b([^\n`;|)]*)")
OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]+)")
INLINE = re.compile(r"`([^`]+)`")
# Verbs that print what other programs read; they have no page.
PLAIN = {"completions", "man", "help"}
BY_HAND = "by-hand"
SLOW = os.environ.get("ANABRANCH_DOCS") == "slow"


def reference() -> dict[str, set[str]]:
    """The options of each verb."""
    pages = {page.stem: page.read_text() for page in (ROOT / "docs/reference").glob("*.md")}
    verbs = {verb: set(OPTION.findall(text)) for verb, text in pages.items() if verb != "catalogue"}
    return {**verbs, **{verb: set() for verb in PLAIN}}


def code(text: str) -> Iterator[str]:
    """The code of a document, a command on one line."""
    for block in BLOCK.finditer(text):
        yield block["body"].replace("\\\n", " ")
    for inline in INLINE.findall(FENCE.sub("", text)):
        yield " ".join(inline.split())


def unknown(text: str, verbs: dict[str, set[str]]) -> list[str]:
    """Verbs and options in a document that the program does not have."""
    found = []
    for part in code(text):
        for verb, rest in CALL.findall(part):
            # Behind the two strokes are options of another program; behind # is a note.
            own = re.split(r" -- | #", f"{rest} ")[0]
            if verb not in verbs:
                found.append(f"anabranch {verb}")
                continue
            known = verbs[verb] | {"--help", "--version"}
            found += [f"anabranch {verb} {option}" for option in OPTION.findall(own) if option not in known]
    return found


def test_every_verb_and_option_that_a_document_names_is_the_programs() -> None:
    verbs = reference()
    assert len(verbs) > 20 and "--fill" in verbs["replay"]
    # The reference is printed by the program, and the log of changes names what went.
    pages = [page for page in documents() if page.parent.name != "reference" and page.stem != "CHANGELOG"]
    found = {page.name: unknown(page.read_text(), verbs) for page in pages}
    found = {page: what for page, what in found.items() if what}
    assert found == {}


def test_a_verb_and_an_option_that_the_program_does_not_have_are_found() -> None:
    text = "`anabranch repaly t` `anabranch replay\nt --fil 1`\n```\n$ anabranch run \\\n  --unit 1 -- fio --other\n```\n"
    verbs = {"replay": {"--fill"}, "run": {"--unit"}}
    assert sorted(unknown(text, verbs)) == ["anabranch repaly", "anabranch replay --fil"]


Block = tuple[Path, int, set[str], str]


def blocks() -> list[Block]:
    """Blocks of console of the documents but the tutorials: page, line, words behind `console`, and text."""
    found = []
    for page in documents():
        text = page.read_text()
        if page in TUTORIALS:
            continue
        for block in BLOCK.finditer(text):
            if block["info"].startswith("console"):
                line = text.count("\n", 0, block.start()) + 1
                found.append((page, line, set(block["info"].split()[1:]), block["body"]))
    return found


def test_a_block_with_a_prompt_is_run_or_says_that_it_is_not() -> None:
    found = [
        f"{page.name}: {block['body'].splitlines()[0]}"
        for page in documents()
        for block in BLOCK.finditer(page.read_text())
        if re.match(r" *[$#] \S", block["body"]) and not block["info"].startswith(("console", "toml", "sh"))
    ]
    assert found == []
    words = set().union(*(words for _, _, words, _ in blocks()))
    assert words <= {"fails", "slow", "wide", BY_HAND}


def steps(body: str) -> Iterator[tuple[str, list[str]]]:
    """Commands of a block, each with what it prints."""
    for step in re.split(r"^ *\$ ", body.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
        command, *printed = step.splitlines()
        yield command, printed


def missing(expected: list[str], printed: str) -> list[str]:
    """Parts between `…` that were not printed, or not in this order. White space counts as one blank."""
    whole, at, lost = " ".join(printed.split()), 0, []
    for part in "\n".join(expected).split("…"):
        wanted = " ".join(part.split())
        place = whole.find(wanted, at)
        if place < 0:
            lost.append(wanted)
        else:
            at = place + len(wanted)
    return lost


def test_a_line_that_is_not_printed_is_found() -> None:
    assert missing(["a  b", "…", "c … e"], "a b\nx\nc d\n e\n") == []
    assert missing(["b", "…", "a"], "a\nb\n") == ["a"]
    assert missing(["a", "c"], "a\nb\nc\n") == ["a c"]
    assert list(steps("$ one \\\n  two\nits line\n$ three\n")) == [("one    two", ["its line"]), ("three", [])]


RUN = [block for block in blocks() if BY_HAND not in block[2] and ("slow" in block[2]) == SLOW]


@pytest.mark.parametrize("block", RUN, ids=lambda block: f"{block[0].stem}-{block[1]}")
def test_a_command_of_a_document_prints_what_stands_below_it(
    block: Block, tmp_path: Path, command: str
) -> None:
    page, line, words, body = block
    for name in ("traces", "crates", "lab"):
        (tmp_path / name).symlink_to(ROOT / name)
    folders = [str(Path(command).parent), str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = {**os.environ, "PATH": os.pathsep.join(folders)}
    for call, expected in steps(body):
        ended = subprocess.run(
            ["bash", "-c", call], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        printed = ended.stdout + ended.stderr
        where = f"{page.name}:{line}: {shlex.quote(call)}\n{printed}"
        assert (ended.returncode != 0) == ("fails" in words), where
        assert missing(expected, printed) == [], where
