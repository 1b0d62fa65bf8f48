"""Which searcher a design run takes, and what evolution starts from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from secateur.errors import ConfigurationError
from secateur.estimators.cost import DecoderCost
from secateur.objectives import Objective
from secateur.rng import generator
from secateur.runs.design.searching import START, exact_start
from secateur.runs.design.settings import DesignSettings
from secateur.search.exact import Solution
from secateur.spaces.decoder_sizes import Sizes
from secateur.trial import MEASURED


@pytest.mark.parametrize(
    ("given", "searcher", "start"),
    [
        ({}, "exact", "random"),
        ({"objectives": ["decoder_parameters", "latency<=1s"], "bounds": ["parameters<=1M"]}, "exact", "random"),
        ({"objectives": ["synflow", "latency"]}, "evolution", "exact"),
        ({"measure": "all"}, "evolution", "exact"),
        ({"measure": "all", "objectives": ["decoder_parameters", "parameters"]}, "exact", "random"),
        ({"hull": True}, "evolution", "random"),
        ({"searcher": "evolution"}, "evolution", "random"),
        ({"preset": "javaheripi2022"}, "evolution", "random"),
        ({"searcher": "nsga2"}, "nsga2", "random"),
    ],
)
def test_the_searcher_is_exact_where_it_can_be(given: dict[str, Any], searcher: str, start: str) -> None:
    settings = DesignSettings.resolve(given)
    assert (settings.searcher, settings.start) == (searcher, start)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        (
            {"searcher": "exact", "objectives": ["synflow", "latency"]},
            "add up over layers, and `synflow` does not",
        ),
        ({"searcher": "exact", "measure": "all"}, "and `latency` does not"),
        ({"searcher": "nsga2", "start": "exact"}, "`start` is for the searcher `evolution`, got `nsga2`"),
    ],
)
def test_what_it_cannot_do_is_refused(given: dict[str, Any], match: str) -> None:
    with pytest.raises(ConfigurationError, match=match):
        DesignSettings.resolve(given)


def test_evolution_starts_from_the_front_of_what_comes_nearest() -> None:
    space = DesignSettings.resolve({}).space()
    sums = [DecoderCost(Sizes(vocabulary=1000))]
    objectives = [Objective("synflow", "max"), Objective("latency")]
    found = exact_start(space, sums, objectives, [Objective.parse("parameters<=30M")], seed=0)
    assert len(found) == START
    wanted = [Objective("decoder_parameters", "max"), Objective("macs")]
    solution = Solution.of(space, sums, wanted, [Objective.parse("parameters<=30M")])
    front = {tuple(point) for point in solution.points.tolist()}
    counts = [sums[0].count(a) for a in found]
    assert all((-c["decoder_parameters"], c["macs"]) in front and c["parameters"] <= 30e6 for c in counts)


@pytest.mark.slow
@pytest.mark.usefixtures("brief")
def test_a_run_by_default_proposes_the_exact_front(quick_design: Any, tmp_path: Path) -> None:
    run = quick_design(tmp_path / "run", objectives=["decoder_parameters", "macs"], trials=5000)
    asked = [t for t in run.trials if t.origin != MEASURED]
    assert len(run.searched) == len(asked), "a proposal was dominated by another"
    cost = DecoderCost(run.configuration.sizes(), length=8)
    every = [cost.count(a) for a in run.space.sample_many(2000, generator(0, "every"))]
    points = [(m.values["decoder_parameters"], m.values["macs"]) for m in run.searched]
    assert all(any(p >= c["decoder_parameters"] and m <= c["macs"] for p, m in points) for c in every)
    assert any(note.startswith("The whole front was tried") for note in run.notes)


@pytest.mark.slow
@pytest.mark.usefixtures("brief")
def test_a_run_by_a_proxy_starts_from_the_exact_front_and_goes_on_by_evolution(quick_design: Any, tmp_path: Path) -> None:
    run = quick_design(tmp_path / "run", objectives=["l2_norm", "macs"], trials=12)
    assert (run.configuration.searcher, run.configuration.start) == ("evolution", "exact")
    first = [t.architecture for t in run.trials if t.id is not None][:10]
    cost = [DecoderCost(run.configuration.sizes(), length=8)]
    assert first == exact_start(run.space, cost, run.objectives, [], run.configuration.seed)[:10]
