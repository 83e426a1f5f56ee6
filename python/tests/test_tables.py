"""Figures that the documents show are those of their data."""

from __future__ import annotations

import importlib.util
import re
from typing import Any

from conftest import ROOT

MADE = re.compile(r"<!-- (?:table|experiment) (\S+) -->\n.*?<!-- end of \1 -->\n", re.DOTALL)
CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
TABLE = re.compile(r"(?:^ *\|.*\n)+", re.MULTILINE)
FIGURE = re.compile(r"[*`(+−-]*\d")
# The share of a typed table's cells that may begin with a number. Our choice: tables of arguments have 2 % of such, those of
# figures beside much text 44 %.
TYPED_FIGURES = 1 / 3
# Pages of results, and lines of the longest; each answers one question.
MOST_RESULTS, MOST_LINES = 9, 250


def script() -> Any:
    """scripts/tables.py as a module."""
    specified = importlib.util.spec_from_file_location("tables", ROOT / "scripts/tables.py")
    assert specified is not None and specified.loader is not None
    module = importlib.util.module_from_spec(specified)
    specified.loader.exec_module(module)
    return module


tables = script()


def cells(line: str) -> list[str]:
    """The cells of a line of a table."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]


def typed(page: str) -> list[str]:
    """First lines of tables of figures that neither data nor an experiment made."""
    found = TABLE.findall(CODE.sub("", MADE.sub("", page)))
    rows = {lines: [cells(line) for line in lines.splitlines()] for lines in found}
    shown = {lines: [cell for row in rows[lines][2:] for cell in row if cell] for lines in found}
    figures = {lines: sum(bool(FIGURE.match(cell)) for cell in shown[lines]) for lines in found}
    return [lines.splitlines()[0] for lines in found if figures[lines] > TYPED_FIGURES * len(shown[lines])]


def rows_below(header: list[str], page: str) -> list[list[str]]:
    """The rows of the table of a page that has such a header."""
    found = TABLE.findall((ROOT / page).read_text())
    rows = [[cells(line) for line in lines.splitlines()] for lines in found]
    return next(table[2:] for table in rows if table[0] == header)


def in_a_line(text: str) -> str:
    """A text without the breaks of its lines."""
    return " ".join(text.replace("\\\n", " ").split())


def test_tables_of_the_documents_are_those_of_their_data() -> None:
    pages = [path.read_text() for path in tables.pages()]
    assert sum("<!-- table " in page for page in pages) > 0
    assert [tables.written(page) for page in pages] == pages


def test_data_that_are_shown_have_a_command_that_their_page_names_a_commit_and_a_machine() -> None:
    for path in tables.pages():
        page = path.read_text()
        for name in tables.PLACE.findall(page):
            heading, rows = tables.data(name)
            assert len({len(row) for row in rows}) == 1, f"{name} has rows of several lengths"
            assert headless(heading, page) == [], f"{path.name}, {name}"


def headless(heading: dict[str, str], page: str) -> list[str]:
    """Complaints about the heading of data that a page shows."""
    if "source" in heading:
        own = [key for key in ("command", "commit", "machine", "rounds") if key in heading]
        named = heading["source"] in in_a_line(page)
        return [f"{key} beside a source" for key in own] + ([] if named else ["the source is not named"])
    missing = [f"no {key}" for key in ("command", "commit", "machine") if not heading.get(key)]
    commands = [] if "no command" in missing else heading["command"].split("; ")
    lost = [f"no command: {command}" for command in commands if command.startswith("not kept")]
    unnamed = [f"not named: {command}" for command in commands if command not in in_a_line(page)]
    return missing + (lost or unnamed)


def test_figures_that_no_command_makes_again_are_refused() -> None:
    own = {"command": "make it; make more", "commit": "0123abc", "machine": "any"}
    assert headless(own, "`make it`, then") == ["not named: make more"]
    assert headless(own, "`make it`, then `make more`") == []
    assert headless(own | {"command": "not kept (a build)"}, "") == ["no command: not kept (a build)"]
    assert headless(own | {"commit": ""}, "`make it`, `make more`") == ["no commit"]
    assert headless({"source": "A Paper (FAST'26)"}, "Of A Paper:") == ["the source is not named"]
    assert headless({"source": "A Paper (FAST'26)"}, "Of A Paper (FAST'26):") == []
    assert headless(own | {"source": "A"}, "A") == [f"{key} beside a source" for key in own]


def test_no_table_of_figures_is_typed_into_a_page_of_results() -> None:
    sample = "| | WAF |\n|---|---:|\n| none | 1.35 |\n| streams | **-0.02** |\n"
    assert typed(f"Seen:\n\n{sample}\nSo.\n") == ["| | WAF |"]
    assert typed(f"<!-- table seen -->\n{sample}<!-- end of seen -->\n") == []
    assert typed(f"```\n{sample}```\n") == []
    assert typed("| option | does |\n|---|---|\n| `-o` | writes 1 file |\n") == []
    found = {path.name: typed(path.read_text()) for path in (ROOT / "docs/results").glob("*.md")}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_results_are_nine_pages_that_are_read_to_their_end() -> None:
    lines = {path.name: len(path.read_text().splitlines()) for path in (ROOT / "docs/results").glob("*.md")}
    assert len(lines) <= MOST_RESULTS
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def test_summaries_of_our_scheme_have_the_figures_of_the_pages() -> None:
    rows = {}
    for name in ("by-drive-contests", "by-drive-fresh"):
        header, *lines = tables.data(name)[1]
        rows.update({(name, line[0], line[1]): dict(zip(header, line)) for line in lines})

    beside = [
        [rows[name, drives, contest]["beside it"] for contest in ("whole schemes", "the host half")]
        for name in ("by-drive-contests", "by-drive-fresh")
        for drives in ("as recorded", "units an eighth as large")
    ]
    scheme = rows_below(["programs", "whole", "host half"], "docs/anabranch-scheme.md")
    assert [row[1:] for row in scheme] == beside

    readme = rows_below(["", "beside it", "the best other", "95 % of resamplings"], "README.md")
    for contest, (_, beside_it, other, interval) in zip(("the host half", "whole schemes"), readme):
        row = rows["by-drive-fresh", "as recorded", contest]
        assert [beside_it, interval] == [row["beside it"], row["95 % of resamplings"]]
        assert other.split("`")[1] == row["best single other"].split("`")[1].removesuffix("+gc" if contest == "the host half" else "")


def test_the_replay_that_readme_shows_is_that_of_the_demos_page() -> None:
    demo = {(row[0], row[1]): row[2:] for row in tables.data("demo-schemes")[1]}
    lines = [cells(line) for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("|")]
    shown = {(row[0], row[1]): row[4:7] + row[8:] for row in lines if len(row) == 10}
    both = (demo.keys() & shown.keys()) - {("scheme", "streams")}
    assert len(both) > 3
    assert {key: demo[key] for key in both} == {key: shown[key] for key in both}


def test_shares_inside_their_bars_are_those_of_sampled_drives() -> None:
    inside = {
        name: {line[0].split()[-1]: line[-1].removesuffix(" %") for line in tables.data(name)[1][1:]}
        for name in ("sampled-drives-held-out", "sampled-drives-shipped")
    }
    shown = rows_below(["traces", "pages a unit", "whole WAFs inside, of 100"], "docs/sampling.md")
    names = ("sampled-drives-held-out",) * 2 + ("sampled-drives-shipped",) * 2
    assert [row[2] for row in shown] == [inside[name][row[1]] for name, row in zip(names, shown)]
