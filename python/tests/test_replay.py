"""The comparison: the command's figures and words, and schemes of one's own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import anabranch
from anabranch import Scheme, Trace, UsageError

from conftest import DEMO


def printed(command: str, *arguments: str) -> str:
    """What the command prints as JSON."""
    whole = [command, "replay", *arguments, "--json", "--quick"]
    return subprocess.run(whole, check=True, capture_output=True, text=True).stdout


def test_a_result_is_the_command_s_to_the_byte(command: str) -> None:
    ours = anabranch.replay(
        DEMO, ["baseline", "pcstream:samples=100", "oracle"], streams=[2, 8], seed=3, quick=True
    )
    theirs = printed(
        command, DEMO, "--scheme", "baseline,pcstream:samples=100,oracle", "--streams", "2,8",
        "--seed", "3",
    )  # fmt: skip
    assert ours.to_json() == theirs


def test_fill_time_and_size_mean_what_they_mean_to_the_command(command: str) -> None:
    ours = anabranch.replay(DEMO, "baseline", unit="1MiB", fill=0.9, time="closed", quick=True)
    theirs = printed(
        command, DEMO, "--scheme", "baseline", "--unit", "1MiB", "--fill", "0.9",
        "--time", "closed",
    )  # fmt: skip
    assert ours.to_json() == theirs


def test_a_trace_in_memory_counts_as_its_file_does() -> None:
    file = anabranch.replay(DEMO, ["baseline", "pcstream"])
    memory = anabranch.replay(Trace.read(DEMO), ["baseline", "pcstream"])
    assert memory.to_json() == file.to_json()


def test_what_is_wrong_is_said_in_the_command_s_words(command: str) -> None:
    for options in (["--scheme", "sepbitt"], ["--unit", "3"], ["--device", "nope"]):
        ended = subprocess.run(
            [command, "replay", DEMO, *options], capture_output=True, text=True, check=False
        )
        words = ended.stderr.removeprefix("anabranch: ").strip()
        keyword = {options[0].removeprefix("--").replace("scheme", "schemes"): options[1]}
        with pytest.raises(UsageError) as raised:
            anabranch.replay(DEMO, **keyword)
        assert str(raised.value) == words and ended.returncode == 2


class Single(Scheme):
    """What `baseline` does."""

    def assign(self, write: anabranch.Write) -> int:
        return 0


class ByHint(Scheme):
    """What `hints` does: the kernel's number less one."""

    relocation = "substream"

    def begin(self, drive: dict[str, int]) -> None:
        self.streams = drive["host_streams"]

    def assign(self, write: anabranch.Write) -> int:
        return min(max(write.hint - 1, 0), self.streams - 1)


class ByHints:
    """The same for many writes at once."""

    relocation = "substream"

    def begin(self, drive: dict[str, int]) -> None:
        self.streams = drive["host_streams"]
        self.asked = 0

    def assign_batch(self, writes: anabranch.Writes) -> np.ndarray:
        assert len(writes.first_page) == len(writes.now_pages) <= 16_384
        self.asked += 1
        return np.clip(writes.hint.astype(int) - 1, 0, self.streams - 1)


def test_a_scheme_in_python_counts_as_its_twin_in_rust() -> None:
    many = ByHints()
    result = anabranch.replay(
        DEMO, ["baseline", "hints+substream", Single, ByHint, many], quick=True
    ).schemes.set_index("scheme")
    assert 0 < many.asked < 10
    twins = (("Single", "baseline"), ("ByHint", "hints+substream"), ("ByHints", "hints+substream"))
    for python, rust in twins:
        for column in ("media_bytes", "copied_bytes", "erased_units", "discarded_bytes"):
            assert result.loc[python, column] == result.loc[rust, column]


def test_a_scheme_hears_names_writes_and_deaths_in_order() -> None:
    heard: list[object] = []

    class Listener:
        by_page = True

        def learn(self, files, contexts):
            heard.append(("learn", files[1], contexts[1]))

        def assign(self, write):
            heard.append((write.first_page, write.pages, write.now_pages))
            return 0

        def invalidate(self, first_page, pages, now_pages):
            heard.append(("dies", first_page, pages, now_pages))

    context = {"signature": f"{9:016x}", "kind": "application", "role": "writer", "frames": []}
    unknown = {"id": 0, "signature": f"{0:016x}", "kind": "unknown", "role": "", "frames": []}
    trace = Trace.from_arrays(
        offset_bytes=[0, 4096], length_bytes=[8192, 4096], operation=["write", "discard"],
        contexts=[unknown, {"id": 1, **context}], files=["", "wal.log"],
    )  # fmt: skip
    anabranch.replay(trace, [Listener])
    assert heard == [
        ("learn", "wal.log", (f"{9:016x}", "writer")),
        (0, 1, 0),
        (1, 1, 1),
        ("dies", 1, 1, 2),
    ]


def test_what_a_scheme_raises_ends_the_comparison() -> None:
    class Broken(Scheme):
        def assign(self, write):
            raise ZeroDivisionError("of its own")

    class Lost(Scheme):
        def assign(self, write):
            return 99

    with pytest.raises(ZeroDivisionError, match="of its own"):
        anabranch.replay(DEMO, ["baseline", Broken])
    with pytest.raises(UsageError, match='"Lost" answered 99: the drive has the streams 0 to 7'):
        anabranch.replay(DEMO, Lost)
    with pytest.raises(TypeError, match="has no method assign"):
        anabranch.replay(DEMO, [3])
    with pytest.raises(UsageError, match="give one another name"):
        anabranch.replay(DEMO, [Single, Single])


def test_an_answer_to_many_writes_that_is_no_array_of_their_streams_ends_the_comparison() -> None:
    def scheme(answer):
        return type("Batch", (), {"assign_batch": lambda _, writes: answer(len(writes.pages))})

    wrong = {
        "answered 1 streams for ": lambda count: [0],
        "answered 99: the drive has the streams 0 to 7": lambda count: np.full(count, 99),
        "answered -1: the drive": lambda count: np.full(count, -1),
    }
    for words, answer in wrong.items():
        with pytest.raises(UsageError, match=words):
            anabranch.replay(DEMO, scheme(answer))
    with pytest.raises(TypeError):
        anabranch.replay(DEMO, scheme(lambda count: np.full(count, 0.5)))
    by_page = type("Batch", (), {"by_page": True, "assign_batch": None})
    with pytest.raises(UsageError, match="assign_batch, which is asked about whole requests"):
        anabranch.replay(DEMO, by_page)


def test_the_interpreter_is_free_while_the_core_runs() -> None:
    counted = 0
    done = threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.is_set():
            counted += 1
            time.sleep(0)

    other = threading.Thread(target=count)
    other.start()
    anabranch.replay(DEMO, "all", quick=True, threads=1)
    done.set()
    other.join()
    assert counted > 100


def test_control_c_ends_a_replay() -> None:
    # In a process of its own, and a session: nobody else is to hear it.
    program = """
import time, anabranch
class Slow(anabranch.Scheme):
    def begin(self, drive): print("begun", flush=True)
    def assign(self, write): time.sleep(0.001); return 0
trace = anabranch.Trace.from_arrays(offset_bytes=[0] * 3_000_000, length_bytes=4096)
anabranch.replay(trace, Slow)
"""
    child = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert child.stdout is not None and child.stdout.readline() == "begun\n"
    child.send_signal(signal.SIGINT)
    # Left alone it would go on for most of an hour.
    _, words = child.communicate(timeout=60)
    assert "KeyboardInterrupt" in words and child.returncode != 0


def test_progress_is_told_and_may_end_the_work() -> None:
    def enough(share: float) -> None:
        assert 0.0 <= share <= 1.0
        raise RuntimeError("enough")

    class Slow(Scheme):
        def assign(self, write):
            time.sleep(0.0005)
            return 0

    with pytest.raises(RuntimeError, match="enough"):
        anabranch.replay(DEMO, Slow, progress=enough)


def test_frames_hold_what_the_json_holds() -> None:
    result = anabranch.replay(DEMO, ["baseline", "pcstream"], fill=[0.5, 0.8], unit="1MiB", quick=True)
    outcomes = json.loads(result.to_json())["results"]
    assert result.comparisons["fill"].tolist() == [0.5, 0.8]
    for number, outcome in enumerate(outcomes):
        for scheme in outcome["schemes"]:
            row = result.schemes.query("comparison == @number and scheme == @scheme['name']")
            assert row["media_bytes"].item() == scheme["media_bytes"]
            series = result.series.query("comparison == @number and scheme == @scheme['name']")
            assert len(series) == len(scheme["series"])
            streams = result.streams.query("comparison == @number and scheme == @scheme['name']")
            assert streams["host_page_bytes"].sum() == scheme["host_page_bytes"]
