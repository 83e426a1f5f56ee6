"""Who wrote, how long it lived, and what leaves the house: as the command has it."""

from __future__ import annotations

import html
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

import anabranch
from anabranch import Trace, UsageError, WorkError, plots

from conftest import DEMO

SMALL = "traces/sqlite-wal.parquet"


def asked(command: str, *arguments: str) -> Any:
    """What the command prints as JSON."""
    done = subprocess.run([command, *arguments, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_contexts_are_those_of_the_command_from_a_file_and_from_memory(command: str) -> None:
    rows = asked(command, "contexts", SMALL)["contexts"]
    found = anabranch.contexts(SMALL)
    assert found["label"].tolist() == [row["label"] for row in rows]
    assert found["written_bytes"].tolist() == [row["written_bytes"] for row in rows]
    medians = found["lifetime_p50_bytes"]
    assert [None if at is None else int(at) for at in medians.astype(object).where(medians.notna(), None)] == [
        row["lifetime_p50_bytes"] for row in rows
    ]
    assert anabranch.contexts(Trace(SMALL)).equals(found)


def test_coverage_is_that_of_the_command(command: str) -> None:
    (row,) = asked(command, "coverage", SMALL)["traces"]
    found = anabranch.coverage(SMALL).iloc[0]
    assert found["context.explained"] == row["context"]["explained"]
    assert found["trace"] == row["trace"] == "sqlite-wal"


def test_advice_is_written_and_told_as_by_the_command(command: str, tmp_path: Path) -> None:
    told = asked(command, "export", DEMO, "--to", "rules,fdp", "-o", str(tmp_path / "command"))
    done = anabranch.export(DEMO, ["rules", "fdp"], tmp_path / "python")
    assert done.found == told
    for path in done.files:
        assert path.read_bytes() == (tmp_path / "command" / path.name).read_bytes()
    assert done.checks["what"].tolist() == [row["what"] for row in told["checks"]]
    assert "rules.toml" in done._repr_html_()
    # The same of a trace in memory, fed back as often.
    again = anabranch.export(Trace(DEMO), "rules", tmp_path / "memory")
    assert again.files[0].read_bytes() == (tmp_path / "python/rules.toml").read_bytes()


def test_a_trace_goes_out_in_another_form_and_comes_in_again(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = Trace.from_arrays(offset_bytes=[0, 8192, 0], length_bytes=4096, device_bytes=1 << 20)
    done = anabranch.export(trace, "alibaba", tmp_path / "out.csv.gz")
    assert done.found["exported"]["requests"] == 3 and done.files == [tmp_path / "out.csv.gz"]
    monkeypatch.setenv("ANABRANCH_COMMAND", command)
    back = anabranch.import_(tmp_path / "out.csv.gz", tmp_path / "back.parquet", format="alibaba")
    assert back.to_pandas()["offset_bytes"].tolist() == [0, 8192, 0]
    assert len(Trace.read(tmp_path / "back.parquet")) == 3


def test_what_cannot_be_exported_is_refused_in_the_command_s_words(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="rulez.*there are: auto, rules, hints"):
        anabranch.export(DEMO, "rulez", tmp_path / "a")
    with pytest.raises(UsageError, match="export it by itself"):
        anabranch.export(DEMO, ["msr", "rules"], tmp_path / "a")
    with pytest.raises(UsageError, match="knows the future"):
        anabranch.export(DEMO, "rules", tmp_path / "a", scheme="oracle")
    copy = tmp_path / "a.parquet"
    copy.write_bytes(Path(SMALL).read_bytes())
    with pytest.raises(UsageError, match="would overwrite"):
        anabranch.export(copy, "msr", copy)
    assert copy.read_bytes() == Path(SMALL).read_bytes()
    with pytest.raises(UsageError, match="page numbers"):
        (tmp_path / "a.u32").write_bytes(bytes(16))
        anabranch.contexts(tmp_path / "a.u32")


def test_a_page_is_of_results_or_of_sweeps(tmp_path: Path) -> None:
    result = anabranch.replay(SMALL, ["baseline", "pcstream"], fill=0.7, unit="1MiB", details=True)
    (tmp_path / "one.json").write_text(result.to_json())
    page = anabranch.report([result, tmp_path / "one.json"], tmp_path / "page.html")
    assert result.report(tmp_path / "one.html").stat().st_size > 10_000
    assert page.read_text().count("sqlite-wal") >= 2
    grid = f'traces = "{SMALL}"\nschemes = ["baseline"]\nquick = true\nfill = 0.7\n[drive]\nunit = \"1MiB\"'
    swept = anabranch.sweep(grid, tmp_path / "sweep")
    assert "sqlite-wal" in swept.report(tmp_path / "sweep.html").read_text()
    with pytest.raises(UsageError, match="pages of their own"):
        anabranch.report([result, swept], tmp_path / "both.html")
    with pytest.raises(UsageError, match="would overwrite"):
        anabranch.report(tmp_path / "one.json", tmp_path / "one.json")
    with pytest.raises(UsageError, match="no result of anabranch"):
        anabranch.report(anabranch.Result("{}"), tmp_path / "none.html")


def test_a_result_shows_its_verdict_and_table_in_a_notebook() -> None:
    result = anabranch.replay(DEMO, ["baseline+gc", "pcstream"])
    shown = result._repr_html_()
    assert html.escape(result.answer.splitlines()[0]) in shown
    assert shown.count("<tr>") == 3 and "<td>pcstream</td>" in shown
    grid = anabranch.replay(SMALL, ["baseline+gc", "pcstream"], fill=[0.6, 0.7], unit="1MiB")
    assert grid._repr_html_().count("<tr>") == 5


def test_contexts_are_drawn() -> None:
    found = anabranch.contexts(DEMO)
    axes = plots.contexts(found, most=5)
    assert len(axes.get_yticklabels()) == 5


def test_without_the_command_it_is_said_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANABRANCH_COMMAND", "/nowhere/anabranch")
    with pytest.raises(UsageError, match="ANABRANCH_COMMAND names /nowhere/anabranch"):
        anabranch.run(["true"])
    monkeypatch.delenv("ANABRANCH_COMMAND")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sysconfig.get_path", lambda _: "/nowhere")
    with pytest.raises(UsageError, match="cargo install"):
        anabranch.record("/dev/null")


def test_the_command_s_errors_are_exceptions(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANABRANCH_COMMAND", command)
    with pytest.raises(UsageError, match="sieve"):
        anabranch.run(["true"], schemes="sieve")
    with pytest.raises(UsageError, match="'half' for '--sample"):
        anabranch.record("/dev/null", sample="half", seed=1)
    with pytest.raises(AttributeError):
        anabranch.walk  # noqa: B018
    with pytest.raises(TypeError, match="one of them"):
        anabranch.run()
    with pytest.raises(TypeError, match="list of words"):
        anabranch.run("true")
    with pytest.raises((UsageError, WorkError), match="nothing-here"):
        anabranch.import_("/nothing-here", "/nothing-here.parquet")


@pytest.mark.skipif(os.geteuid() != 0, reason="eBPF and loop devices need root")
def test_a_program_is_run_and_its_writes_compared(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANABRANCH_COMMAND", command)
    trace = tmp_path / "run.parquet"
    program = ["dd", "if=/dev/zero", "of={dir}/a", "bs=1M", "count=8", "conv=fsync"]
    result = anabranch.run(program, size="256MiB", unit="1MiB", schemes="baseline", trace=trace)
    assert result.exit_status == 0
    assert result.outcomes[0]["source"]["host_page_bytes"] >= 8 << 20
    assert len(Trace(trace)) > 0
