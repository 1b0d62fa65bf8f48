"""Every benchmark runs on a toy size and prints its results in one form. Speed is not judged here: a busy machine would lie."""

from __future__ import annotations

import json
import math
import runpy
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "benchmarks"
#: script → the names its lines begin with.
SCRIPTS = {
    "building": [
        "building to measure ÷ ordinary initialisation, gpt2",
        "building to measure ÷ ordinary initialisation, transformer_xl",
    ],
    "select_forward": [
        "`select` forward ÷ the extracted network's, `small`",
        "`select` forward ÷ the extracted network's, `medium`",
    ],
    "sandwich_step": ["sandwich step ÷ standard step, slices", "sandwich step ÷ standard step, masks"],
    "depth_sweep": [f"all depths from one pass ÷ the deepest alone, {width}" for width in ("whole width", "1/2", "1/4")],
    "search_100": ["search of 6 candidates, random", "search of 6 candidates, local", "search of 6 candidates, random"],
    "decoder_parameters": [
        "10,000 decoders drawn and counted ÷ 1 s, gpt2",
        "decoders counted one by one ÷ in arrays, gpt2",
        "10,000 decoders drawn and counted ÷ 1 s, transformer_xl",
        "decoders counted one by one ÷ in arrays, transformer_xl",
    ],
    "curves": ["100 curves told by a surrogate, for each 10,000 ÷ 1 s"],
    "cells": [
        "1,000 DARTS networks drawn ÷ 60 s",
        "2,532 cells of NAS-Bench-101 with their keys ÷ 120 s",
        "a suggestion of DNGO over 157 cells ÷ 0.3 s",
        "3 local searches of 20 queries ÷ 20 s",
    ],
    "ray_workers": ["trials of standard NAS a second, two Ray workers ÷ one", "store, searcher and Ray per trial ÷ 20 ms"],
    "scale": [
        f"20 workers busy, trials of {s} s, `{kind}`" for kind in ("random", "local", "ehvi") for s in ("60", "10", "1", "0.1")
    ],
    "drivers": [f"trials a second of {drivers} drivers ÷ of one, SQLite" for drivers in (1, 2)],
    "latency_search": [f"search of 3 trials by latency ÷ by parameters, {kind}" for kind in ("random", "local")],
    "design_search": ["a design search ÷ 10 minutes", "measuring every candidate"],
    "overhead": [
        "store and searcher per trial ÷ 10 ms, `random`",
        "store and searcher per trial ÷ 10 ms, `local`",
        "a trial in memory",
        "a trial on a table",
        "`ehvi` suggestion",
        "`ehvi` suggestion",
    ],
}


@pytest.fixture(autouse=True)
def _clean(monkeypatch):
    import torch

    threads = torch.get_num_threads()
    monkeypatch.syspath_prepend(str(FOLDER))
    yield
    sys.modules.pop("measuring", None)
    torch.set_num_threads(threads)


def run(script, monkeypatch, capsys, *arguments):
    """The JSON lines that a script ends with."""
    monkeypatch.setattr(sys, "argv", [script, *arguments])
    runpy.run_path(str(FOLDER / f"{script}.py"), run_name="__main__")
    printed = capsys.readouterr().out.splitlines()
    lines = [line for line in printed if line.startswith("{")]
    assert printed[-len(lines) :] == lines, "results come last"
    return [json.loads(line) for line in lines]


def test_no_script_is_left_out():
    assert {path.stem for path in FOLDER.glob("*.py")} - {"free", "measuring", "table"} == set(SCRIPTS)


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_runs_and_prints_its_results(script, monkeypatch, capsys):
    if script in ("overhead", "scale"):
        pytest.importorskip("botorch")
    if script in ("ray_workers", "scale"):
        pytest.importorskip("ray")
    lines = run(script, monkeypatch, capsys, "--quick")
    assert len(lines) == len(SCRIPTS[script])
    for line, name in zip(lines, SCRIPTS[script], strict=True):
        assert line["name"].startswith(name)
        assert line["quick"] is True
        assert math.isfinite(line["ratio"])
        assert line["ratio"] > 0
        if line["target"] is None:
            assert line["passed"] is None
        else:
            more = script in ("search_100", "scale") or line["name"].startswith(("measuring every", "trials of standard NAS"))
            assert line["at_least"] is more
            assert line["passed"] is (line["ratio"] >= line["target"] if line["at_least"] else line["ratio"] <= line["target"])
        assert line["script"] == script
    assert (lines[0]["target"] is None) is (script == "drivers")  # how drivers share a store has no aim


def test_the_simulation_of_a_cluster_keeps_to_what_is_known():
    """One worker waits for the driver, many keep the driver busy, and nothing beats the bounds on paper."""
    scale = runpy.run_path(str(FOLDER / "scale.py"))
    simulate, bound = scale["simulate"], scale["bound"]
    rate, busy = simulate(1, 1.0, 0.25, 20_000, 0)
    assert rate == pytest.approx(1 / 1.25, rel=0.02)
    assert busy == pytest.approx(1 / 1.25, rel=0.02)
    rate, busy = simulate(50, 1.0, 0.25, 5_000, 0)
    assert rate == pytest.approx(4.0, rel=0.001)
    assert busy == pytest.approx(4 / 50, rel=0.05)
    assert simulate(7, 0.0, 0.5, 100, 0)[0] == pytest.approx(2.0)
    for workers in (2, 4, 8, 40):
        assert simulate(workers, 1.0, 0.1, 20_000, 0)[0] <= 1.03 * bound(workers, 1.0, 0.1)


def test_the_readme_names_every_script():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [name for name in SCRIPTS if f"{name}.py" not in text] == []


def test_a_missed_target_is_an_exit_code_of_a_full_run_only(capsys):
    from measuring import Report

    missed = Report()
    missed.add("slow", 2.0, 1.0)
    with pytest.raises(SystemExit) as stopped:
        missed.end()
    assert stopped.value.code == 1
    assert json.loads(capsys.readouterr().out)["passed"] is False
    quick = Report(quick=True)
    quick.add("slow", 2.0, 1.0)
    quick.add("at least", 9.0, 8.0, at_least=True)
    quick.end()
    assert [json.loads(line)["passed"] for line in capsys.readouterr().out.splitlines()] == [False, True]
