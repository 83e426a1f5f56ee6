"""What the tests share: they run from the tree's root, where the shipped trace lies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEMO = "traces/rocksdb-demo.parquet"


@pytest.fixture(autouse=True, scope="session")
def at_the_root() -> None:
    """Doctests and tests name the shipped trace from the root."""
    os.chdir(ROOT)


@pytest.fixture(scope="session")
def command() -> str:
    """The `anabranch` command that was built with the package."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    for profile in ("debug", "release"):
        if (target / profile / "anabranch").exists():
            return str(target / profile / "anabranch")
    raise AssertionError("build the command first: cargo build -p anabranch")
