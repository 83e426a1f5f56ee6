"""The device by itself."""

from __future__ import annotations

import numpy as np
import pytest

import anabranch
from anabranch import Device, Trace, UsageError


def test_a_device_counts_what_a_replay_counts() -> None:
    drive = Device("golden", streams=4)
    random = np.random.default_rng(5)
    pages = random.integers(0, drive.logical_pages, 300_000, dtype=np.uint32)
    drive.write(pages)
    trace = Trace.from_arrays(
        offset_bytes=pages.astype(np.uint64) * np.uint64(4096), length_bytes=4096
    )
    result = anabranch.replay(trace, "baseline", "golden", streams=4)
    assert drive.counters["copied_pages"] * 4096 == result.schemes.loc[0, "copied_bytes"]
    assert drive.waf == result.schemes.loc[0, "waf"]


def test_pages_may_each_have_a_stream_of_their_own() -> None:
    both, one = Device("golden", streams=4), Device("golden", streams=4)
    pages = np.arange(1000, dtype=np.uint32)
    streams = (pages // 7 % 4).astype(np.uint16)
    both.write(pages, streams)
    for page, stream in zip(pages, streams):
        one.write([page], int(stream))
    assert both.streams.equals(one.streams)
    assert both.streams["host_pages"].sum() == 1000


def test_what_the_drive_does_not_have_is_refused() -> None:
    drive = Device("golden", streams=2)
    with pytest.raises(UsageError, match="beyond the drive's"):
        drive.write([drive.logical_pages])
    with pytest.raises(UsageError, match="not one of the drive's 2 host streams"):
        drive.write([0], 2)
    with pytest.raises(UsageError, match="numbers go from 0"):
        drive.write([-1])
    with pytest.raises(UsageError, match="2 pages and 1 streams"):
        drive.write([0, 1], [0])
    with pytest.raises(UsageError, match="whole numbers are needed"):
        drive.write([0.5])
    assert drive.counters["host_pages"] == 0
