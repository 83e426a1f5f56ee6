"""The left-out table: which setting judges a program, and what the means and bounds are."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT

PROGRAM = ROOT / "bench/leave_out.py"


def load() -> Any:
    found = importlib.util.spec_from_file_location("leave_out", PROGRAM)
    assert found and found.loader
    module = importlib.util.module_from_spec(found)
    sys.modules["leave_out"] = module
    found.loader.exec_module(module)
    return module


leave_out = load()
WHOLE, HALF = leave_out.CONTESTS


def row(name: str) -> Any:
    folder = "held-out" if name == "c" else "traces"
    return leave_out.Row(name, "2MiB", (), Path(folder) / f"{name}.parquet")


def test_the_recordings_that_are_there_are_rows_with_their_units_and_drives() -> None:
    rows = [row for folder in (*leave_out.CHOSEN_BY, *leave_out.FRESH) for row in leave_out.rows(folder)]
    assert {one.path for one in rows} == set((ROOT / "traces").glob("**/*.parquet"))
    found = {one.name: one for one in leave_out.recordings((*leave_out.CHOSEN_BY, *leave_out.FRESH))}
    assert {one.name for one in rows} == set(found)
    assert (found["rocksdb-demo"].unit, found["rocksdb-demo"].drive) == ("24MiB", ())
    assert found["tkrzw"].drive == ("--fill", "0.9", "--over-provisioning", "10%")
    assert found["vm-disk"].program == found["vm-btrfs"].program == "vm"


def test_units_are_cut_in_parts_and_drives_given_other_room() -> None:
    full = leave_out.Row("a", "2MiB", ("--fill", "0.9", "--over-provisioning", "10%"), Path("a.parquet"))
    assert full.on(1, None) == full
    assert full.on(8, None) == full._replace(unit="256KiB")
    assert full.on(1, "28%").drive == ("--fill", "0.9", "--over-provisioning", "28%")
    roomy = row("a")._replace(unit="1GiB").on(2, "28%")
    assert (full.file, roomy.file) == ("a@2MiB@0.9@10%.json", "a@524288KiB@28%.json")
    assert (roomy.unit, roomy.drive) == ("524288KiB", ("--over-provisioning", "28%"))


def test_of_a_program_that_was_recorded_again_the_last_recording_counts() -> None:
    found = {one.name: one for one in leave_out.recordings(leave_out.CHOSEN_BY)}
    assert found["pebble"].path.parent.name == "generations" and leave_out.is_held_out(found["pebble"])
    assert found["prometheus"].path.parent.name == "generations" and not leave_out.is_held_out(found["prometheus"])
    assert leave_out.is_held_out(found["badger"])


def test_each_contest_has_the_rivals_that_decide_about_the_same() -> None:
    names = ["baseline", "baseline+gc", "sepbit", "sepbit+gc", "sepbit+fdp", "anabranch", "anabranch+gc:seed=2", "fk"]
    assert [name for name in names if WHOLE.admits(name)] == ["baseline", "baseline+gc", "sepbit"]
    assert [name for name in names if HALF.admits(name)] == ["baseline", "baseline+gc", "sepbit+gc"]


def test_each_contest_has_the_bounds_that_decide_about_the_same() -> None:
    assert WHOLE.bounds() == ["oracle", "oracle-rate"]
    assert HALF.bounds() == ["oracle+gc", "oracle-rate+gc"]


def test_a_setting_is_named_as_results_name_it() -> None:
    assert leave_out.spec(HALF, "", 1) == "anabranch+gc"
    assert leave_out.spec(HALF, "margin=4", 2) == "anabranch+gc:margin=4,seed=2"


def table() -> Any:
    """Two rows of program `a`, one of `b` and one of `c`. All but `c` are better with `margin=4`."""
    rows = [row("a-one"), row("a-two"), row("b"), row("c")]
    plain, four = [1.4, 1.2, 1.6, 1.1], [1.2, 1.2, 1.4, 1.5]
    ours = {
        one: {(setting, seed): waf + (seed - 1.5) / 100 for setting, waf in (("", p), ("margin=4", f)) for seed in (1, 2)}
        for one, p, f in zip(rows, plain, four)
    }
    rivals = {one: {"baseline": 1.5, "baseline+gc": 1.3, "dac": 1.2} for one in rows}
    bounds = {"oracle": dict(zip(rows, [1.1, 1.3, 1.1, 1.4]))}
    # Late, the others are a tenth worse in all rows.
    late = {one: {name: 1.1 * waf for name, waf in wafs.items()} for one, wafs in rivals.items()}
    spans = dict.fromkeys(leave_out.SPANS, (rivals, ours)) | {leave_out.LATE: (late, ours)}
    return rows, leave_out.Table(spans, dict.fromkeys(rows, 1.0), bounds)


def test_a_program_is_judged_by_the_setting_that_the_others_chose() -> None:
    rows, found = table()
    # Of a and b together margin=4 is better, and worse wherever c has a say beside one of them.
    assert found.chosen == {"a": "", "b": "", "c": "margin=4"}
    assert found.waf(rows[3]) == pytest.approx(1.5)
    assert found.waf(rows[3], seed=1) == pytest.approx(1.495)


def test_means_are_by_program_and_bounds_by_row() -> None:
    rows, found = table()
    # Programs: a 0.3 (0.4 and 0.2), b 0.6, c 0.5; dac 0.2 each.
    text = found.summary("anabranch")
    assert "4 rows, 3 programs" in text
    assert "`anabranch` 0.4667, best single other `dac` 0.2000 (+133.3 %" in text
    assert "Within 1 % of the best other: 1, at worst +33.3 %" in text
    assert "after 2 capacities more than 1 % above it: 3, at worst +21.2 % b; more than 0.5 % above `baseline`: 1." in text
    # By hindsight dac in every row but a-two, where ours copies as little: 0.2 throughout.
    # The bound: a 0.2 (0.1 and 0.3), b 0.1, c 0.4.
    assert "Best of each row by hindsight, ours among them: 0.2000; bounds: `oracle` 0.2333." in text
    # While they learn, c is worse by 0.2 than a drive without a host that places, and b and a-one by 0.3 and 0.1.
    assert "In the first 2 capacities `baseline+gc` copies 0.3000 and ours 0.4667 (+55.6 %); more than 0.5 % above it: 3, at worst +23.1 % b." in text
    assert "traces/held-out alone: 0.5000, best single other `dac` 0.2000 (+150.0 %)" in text
    lines = found.lines("anabranch")
    assert len(lines) == 2 + len(rows)
    assert "| c | 2MiB | 1.500 | 1.200 `dac` | 1.500 | 1.495 to 1.505 | +25.0 % (above) | +13.6 % (above) | margin=4 | 1.000 | 0 % |" in lines


def test_of_settings_that_copy_the_same_the_first_is_chosen() -> None:
    copies = {"": {"a": 0.1, "b": 0.3}, "margin=4": {"a": 0.3, "b": 0.1}}
    assert leave_out.choose(copies, None) == ""
    assert leave_out.choose(copies, "a") == "margin=4"


def test_an_interval_holds_what_the_programs_say_and_is_the_same_each_time() -> None:
    ours = {name: 0.1 * (1 + index % 3) for index, name in enumerate("abcdefghij")}
    twice = {name: 2 * copies for name, copies in ours.items()}
    assert leave_out.interval(ours, {"x": twice}) == ("-50.0 %", "-50.0 %")
    level = {name: 0.3 for name in ours}
    least, most = leave_out.interval(ours, {"x": level})
    found = 100 * (sum(ours.values()) / 3.0 - 1)
    assert float(least.removesuffix(" %")) < found < float(most.removesuffix(" %"))
    assert leave_out.interval(ours, {"x": level}) == (least, most)
    assert leave_out.interval(ours, {"x": dict.fromkeys(ours, 0.0)}) == ("-", "-")


def test_results_are_kept_and_not_made_again(tmp_path: Path) -> None:
    kept = tmp_path / "a@2MiB.json"
    series = [{"host_bytes": host, "media_bytes": media} for host, media in ((0, 0), (19, 19), (21, 25), (31, 40))]
    kept.write_text(json.dumps({"device": {"logical_bytes": 10}, "schemes": [{"name": "dac", "waf": 1.5, "series": series}]}))
    found = leave_out.replay("/nonexistent", row("a"), ["dac"], kept)
    # Two capacities are written at the third point: 15 for 10 from there on.
    assert found["dac"]["waf"] == found["dac"][leave_out.LATE] == 1.5
    assert found["dac"][leave_out.EARLY] == 25 / 21
    with pytest.raises(FileNotFoundError):
        leave_out.replay("/nonexistent", row("b"), ["dac"], tmp_path / "b@2MiB.json")
    assert not (tmp_path / "b@2MiB.json").exists()


def test_a_name_that_is_no_recording_is_refused_and_a_recording_is_replayed(command: str, tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(PROGRAM), command, "-o", str(tmp_path), *arguments], capture_output=True, text=True, check=False
        )

    refused = run("nosuch")
    assert refused.returncode != 0 and "no such recording: nosuch" in refused.stderr
    done = run("--seeds", "1", "h2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("| h2 | 2MiB | 1.001 |") == 2
    assert (tmp_path / "h2@2MiB.json").exists()


def test_a_run_too_short_for_the_time_to_learn_copies_nothing_after_it() -> None:
    series = [{"host_bytes": 0, "media_bytes": 0}, {"host_bytes": 5, "media_bytes": 9}]
    assert leave_out.parted({"series": series}, 10) == (1.8, 1.0)
