"""Every searcher on the space of decoders, whose dimensions depend on each other: what a study relies on."""

from __future__ import annotations

from functools import partial

import pytest

from secateur.architecture import Architecture
from secateur.objectives import Objective
from secateur.search import Ehvi, Evolution, LocalSearch, MoRea, Nsga2, Proposal, Random, Result, Searcher
from secateur.spaces.decoder import Decoder
from secateur.spaces.decoder_counts import decoder_parameters, macs
from secateur.spaces.decoder_sizes import Sizes
from secateur.testing.searchers import Build


class QuickEhvi(Ehvi):
    """With few candidates: their number is no matter of the space."""

    candidates = 60


SEARCHERS = {
    "random": Random,
    "local": LocalSearch,
    "mo-rea": partial(MoRea, population_size=5, sample_size=3),
    "nsga2": partial(Nsga2, population_size=4),
    "ehvi": partial(QuickEhvi, initial=4, iterations=8),
    "evolution": partial(Evolution, population=4, parents=2, mutations=2, crossovers=2),
}
OBJECTIVES = (Objective("decoder_parameters", "max"), Objective("macs"))
TRIALS = 7
MIDDLE = Decoder(layers="1..4", width="32..96:32", inner="64..256:64", heads=(2, 4), embedding=(0, 32, 64), factor=(1, 2))
EQUAL = Decoder("transformer_xl", homogeneous=True)
TINY = Decoder(layers="1..2", width=(8, 16), inner=(16, 32), heads=1, embedding=(0, 8), factor=1)


@pytest.fixture(params=SEARCHERS.values(), ids=SEARCHERS)
def build(request: pytest.FixtureRequest) -> Build:
    return request.param


def result(proposal: Proposal) -> Result:
    a = proposal.architecture
    return Result(
        proposal.id, a, values={"decoder_parameters": decoder_parameters(a), "macs": macs(a, Sizes(vocabulary=1000), 1, 64)}
    )


def run(searcher: Searcher, trials: int) -> list[Architecture]:
    asked = []
    for _ in range(trials):
        for proposal in searcher.ask():
            asked.append(proposal.architecture)
            searcher.tell(result(proposal))
    return asked


def test_proposals_are_new_inside_and_follow_the_seed(build: Build) -> None:
    runs = [run(build(MIDDLE, OBJECTIVES, seed=s), TRIALS) for s in (1, 1, 2)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]
    for space, asked in ((MIDDLE, runs[0]), (EQUAL, run(build(EQUAL, OBJECTIVES), TRIALS))):
        assert all(space.contains(a) for a in asked)
        assert len({a.key for a in asked}) == TRIALS


def test_resumes_as_if_never_stopped(build: Build) -> None:
    going = build(MIDDLE, OBJECTIVES, seed=5)
    for _ in range(3):  # three asked, the two newest told
        for proposal in reversed(going.ask(3)[1:]):
            going.tell(result(proposal))
    resumed = build(MIDDLE, OBJECTIVES, seed=5)
    resumed.restore(list(going.history), [Proposal(i, a) for i, a in going.pending.items()])
    assert run(going, 3) == run(resumed, 3)


def test_goes_on_until_nothing_is_left(build: Build) -> None:
    searcher = build(TINY, OBJECTIVES)
    asked = run(searcher, TINY.size() + 2)
    assert {a.key for a in asked} == {a.key for a in TINY.every()}
    assert len(asked) == TINY.size()


def test_failed_and_infeasible_results_are_survived(build: Build) -> None:
    searcher = build(MIDDLE, OBJECTIVES)
    for n in range(TRIALS):
        for proposal in searcher.ask():
            bad = {1: "failed", 2: "infeasible"}.get(n % 3)
            searcher.tell(Result(proposal.id, proposal.architecture, bad, reason="as asked") if bad else result(proposal))
    assert searcher.asked == TRIALS
    assert all(r.status == "complete" for r in searcher.front())
