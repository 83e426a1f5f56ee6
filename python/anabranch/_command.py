"""The ``anabranch`` command, for what a module cannot do: watching the kernel needs root and a
process of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections import deque
from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from anabranch._core import UsageError, WorkError

#: Names the command where it lies neither beside the interpreter nor on PATH.
VARIABLE = "ANABRANCH_COMMAND"
#: Lines of standard error that an exception tells, at most.
_LINES = 20
_WRONG_USE = 2
#: Options that are given once for each of several.
_REPEATED = {"tenant"}


def command() -> str:
    """The command: what ``ANABRANCH_COMMAND`` names, else what lies beside the interpreter (a wheel
    may bring it), else what is on ``PATH``."""
    named = os.environ.get(VARIABLE)
    beside = Path(sysconfig.get_path("scripts")) / "anabranch"
    found = named or (str(beside) if beside.exists() else shutil.which("anabranch"))
    if found is None or not os.access(found, os.X_OK):
        where = f"{VARIABLE} names {named}, which is no program" if named else "it is not on PATH"
        raise UsageError(
            "this needs the command `anabranch`, which watches the kernel as root, and "
            f"{where}: install it (cargo install --path crates/app/cli, or a package that brings it), "
            f"or name it in the variable {VARIABLE}"
        )
    return found


def words(options: Mapping[str, Any]) -> list[str]:
    """Keyword arguments as the command's options: lists are joined by commas, ``True`` is a flag. What
    may have a comma in it is repeated instead."""
    made: list[str] = []
    for key, value in options.items():
        option = "--" + key.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            made.append(option)
        elif isinstance(value, (str, bytes, PathLike)) or not isinstance(value, Iterable):
            made += [option, _text(value)]
        elif key in _REPEATED:
            for one in value:
                made += [option, _text(one)]
        else:
            made += [option, ",".join(map(_text, value))]
    return made


def call(
    verb: str, arguments: Iterable[str], *, until_interrupted: bool = False
) -> tuple[dict[str, Any], int]:
    """Calls a verb with ``--json``, and answers with what it printed and its exit status. What it says
    on standard error goes on to ours, line by line.

    With ``until_interrupted`` an interruption ends the verb and not the caller.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8") as printed:
        started = subprocess.Popen(
            [command(), verb, "--json", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        said: deque[str] = deque(maxlen=_LINES)
        try:
            _listen(started, said)
        except KeyboardInterrupt:
            # In a terminal the command has had the signal, too, and ends as it would have ended.
            started.send_signal(signal.SIGINT)
            _listen(started, said)
            if not until_interrupted:
                raise
        printed.seek(0)
        found = printed.read()
    status = started.returncode
    if not found.strip():
        told = "".join(said).strip() or f"it ended with status {status}"
        raise (UsageError if status == _WRONG_USE else WorkError)(f"anabranch {verb}: {told}")
    answer: dict[str, Any] = json.loads(found)
    return answer, status


def _listen(started: subprocess.Popen[str], said: deque[str]) -> None:
    assert started.stderr is not None
    for line in started.stderr:
        said.append(line)
        sys.stderr.write(line)
    started.wait()


def _text(value: Any) -> str:
    return fspath(value) if isinstance(value, PathLike) else str(value)
