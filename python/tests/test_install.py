"""`pip install .` from the tree into an environment of its own: what a user does first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from conftest import DEMO, ROOT

REPLAY = f"""
import sys
import anabranch
loaded = [name for name in ("numpy", "pandas", "pyarrow") if name in sys.modules]
assert not loaded, loaded
result = anabranch.replay({DEMO!r}, ["baseline", "pcstream"], quick=True)
print(anabranch.__file__)
print(result.schemes["scheme"].tolist())
"""


def pip(python: Path, *arguments: str) -> None:
    """Calls pip. The development profile shares what the other tests have built."""
    environment = {**os.environ, "MATURIN_PEP517_ARGS": "--profile dev"}
    for name in ("VIRTUAL_ENV", "PYTHONPATH"):
        environment.pop(name, None)
    call = [str(python), "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(call, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_pip_installs_from_the_tree_and_what_it_installs_replays(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv/bin/python"
    pip(python, "install", ".")
    (installed,) = tmp_path.glob("venv/lib/python*/site-packages")
    is_abi3(installed)
    call = [str(python), "-c", REPLAY]
    # From the tree's root, where the trace lies, and not the package: that is below python/.
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    where, schemes = done.stdout.splitlines()
    assert where.startswith(str(tmp_path / "venv"))
    assert schemes == "['baseline', 'pcstream']"


def is_abi3(installed: Path) -> None:
    """One wheel for every Python from 3.10 on, by its name, its tag, and the symbols it needs."""
    modules = [path.name for path in (installed / "anabranch").glob("**/*.so")]
    assert modules == ["_core.abi3.so"]
    (tags,) = installed.glob("anabranch-*.dist-info/WHEEL")
    assert "Tag: cp310-abi3-" in tags.read_text()
    assert not (installed / "anabranch/tests").exists()
    audit = [sys.executable, "-m", "abi3audit", "--strict", "--assume-minimum-abi3", "3.10"]
    module = str(installed / "anabranch" / modules[0])
    done = subprocess.run([*audit, module], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
