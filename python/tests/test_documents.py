"""What the documentation shows, works."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import subprocess
import sys
from typing import Any

import matplotlib
import pytest

import anabranch
from anabranch import plots

from conftest import DEMO, ROOT

matplotlib.use("agg")
MODULES = ["anabranch"] + [
    f"anabranch.{found.name}"
    for found in pkgutil.iter_modules(anabranch.__path__)
    if found.name not in ("_core", "__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_true(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def test_examples_in_the_manual_are_true() -> None:
    failed, tried = doctest.testfile(str(ROOT / "docs/python.md"), module_relative=False)
    assert failed == 0 and tried > 5


def test_types_are_checked() -> None:
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def shown(notebook: Any) -> list[str]:
    """The texts below a notebook's cells, of results and of what they print."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    texts = [output.get("text") or output.get("data", {}).get("text/plain") for output in outputs]
    return [text for text in texts if text]


def test_the_notebook_runs_from_its_first_cell_to_its_last_and_shows_what_it_shows_in_the_tree() -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(ROOT / "python/notebooks/pcstream.ipynb", as_version=4)
    before = shown(notebook)
    assert len(before) > 10 and not any("/tmp/" in text for text in before)
    client = NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(ROOT / "python/notebooks")}}
    )
    client.execute()
    assert shown(notebook) == before
    drawn = [
        output
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]
    assert len(drawn) >= 3


def test_every_plot_draws_every_scheme() -> None:
    result = anabranch.replay(DEMO, ["baseline+gc", "pcstream"])
    assert len(plots.waf(result).lines) == 2
    assert len(plots.waf(result, window=False).lines) == 2
    assert len(plots.bars(result).patches) == 2
    assert len(plots.lifetimes(result).patches) == 2
    with pytest.raises(anabranch.UsageError, match="against an ordinary drive"):
        plots.lifetimes(anabranch.replay(DEMO, "pcstream", quick=True))
    with pytest.raises(anabranch.UsageError, match="no comparison 3"):
        result.plot_waf(comparison=3)
