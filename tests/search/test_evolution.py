"""Evolution: its iterations, parents and visits, bounds, and what it finds."""

from __future__ import annotations

import numpy as np
import pytest

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError
from secateur.objectives import Bound, Objective
from secateur.pareto import convex_hull, hypervolume
from secateur.rng import generator
from secateur.search import Evolution, Random, Searcher
from secateur.spaces.decoder import Decoder
from secateur.spaces.decoder_counts import decoder_parameters
from secateur.testing.toys import toy
from secateur.trial import Trial

SPACE = Decoder(layers="2..6", width="64..256:32", inner="128..1024:64", heads=(2, 4, 8), embedding=(64, 128))
OBJECTIVES = (Objective("decoder_parameters", "max"), Objective("latency"))


def evaluate(a: Architecture) -> dict[str, float]:
    """Decoder parameters, and a latency to which layers, heads and inner widths off the grid of 256 add without adding any."""
    width = a["width"]
    layers = zip(a["heads"], a["inner"], strict=True)
    latency = sum(1e-3 * (1 + h / 4) + 2e-10 * width * i * (1.4 if i % 256 else 1) + 4e-10 * width**2 for h, i in layers)
    return {"decoder_parameters": float(decoder_parameters(a)), "latency": latency}


def run(searcher: Searcher, trials: int) -> list[Architecture]:
    asked = []
    for _ in range(trials):
        for proposal in searcher.ask():
            asked.append(proposal.architecture)
            searcher.tell(Trial(proposal.id, proposal.architecture, values=evaluate(proposal.architecture)))
    return asked


def small(**more) -> Evolution:
    return Evolution(SPACE, OBJECTIVES, **{"population": 10, "parents": 4, "mutations": 3, "crossovers": 3, **more})


def test_the_defaults_are_the_papers() -> None:
    searcher = Evolution(SPACE, OBJECTIVES)
    assert (searcher.population, searcher.children, searcher.mutations, searcher.probability) == (100, 80, 40, 0.3)
    run(searcher, 99)
    assert searcher.iteration == 0
    run(searcher, 1)
    assert searcher.iteration == 1
    assert len(searcher.parents) == min(20, len(searcher.front()))
    run(searcher, 80)
    assert searcher.iteration == 2


def test_the_first_population_is_random() -> None:
    assert run(small(seed=3), 10) == run(Random(SPACE, OBJECTIVES, seed=3), 10)


def test_parents_are_members_of_the_front_at_the_iterations_start() -> None:
    searcher = small()
    for _ in range(6):
        before = searcher.iteration
        while searcher.iteration == before:
            run(searcher, 1)
        front = {r.architecture.key for r in searcher.front()}
        keys = [p.key for p in searcher.parents]
        assert len(set(keys)) == len(keys) == min(4, len(front))
        assert set(keys) <= front
    assert sum(searcher.visits.values()) >= 6


def test_members_that_were_parents_often_come_less_often() -> None:
    """Two members of the front, one visited before: it is drawn first half as often, as weights 1 and 1/2 say."""
    drawn = []
    for seed in range(400):
        searcher = small(seed=seed, population=2, parents=1)
        small_one, large_one = SPACE.smallest(), SPACE.largest()
        for a in (small_one, large_one):
            searcher.tell(Trial(None, a, values=evaluate(a), origin="cache"))
        searcher.visits = {small_one.key: 5}
        drawn.append(searcher._drawn(np.random.default_rng(seed))[0].key == small_one.key)
    assert np.isclose(np.mean(drawn), 1 / 3, atol=0.07)


def test_mutants_come_first_then_children_of_two() -> None:
    searcher = small(mutations=30, crossovers=30, parents=8, population=60, probability=0.05)
    run(searcher, 60)
    parents = [SPACE.values(p) for p in searcher.parents]
    assert len(parents) > 2
    layers = {tuple(v[[0, 1]]) for v in parents}
    crossed = [SPACE.values(p.architecture) for p in searcher.ask(60)][30:]
    assert all((v[0] in {d for d, _ in layers}) and (v[1] in {w for _, w in layers}) for v in crossed)


def test_a_stop_at_any_point_changes_nothing() -> None:
    whole = small(seed=4)
    asked = run(whole, 34)
    for stop in range(0, 34, 3):
        going = small(seed=4)
        run(going, stop)
        resumed = small(seed=4)
        resumed.restore(list(going.history))
        assert resumed.visits == going.visits
        assert resumed.parents == going.parents
        assert run(resumed, 34 - stop) == asked[stop:]


@pytest.mark.parametrize("hull", [False, True])
def test_a_stop_with_proposals_pending_changes_nothing(hull: bool) -> None:
    going = small(seed=5, hull=hull)
    rng = np.random.default_rng(0)
    for _ in range(12):  # four asked and three told each time, in any order: ever more are pending
        resumed = small(seed=5, hull=hull)
        resumed.restore(list(going.history), list(going.pending.values()))
        assert (resumed.parents, resumed.visits, resumed.iteration) == (going.parents, going.visits, going.iteration)
        assert resumed.ask(4) == going.ask(4)
        for i in rng.permutation(list(going.pending))[:3].tolist():
            a = going.pending[i].architecture
            going.tell(Trial(i, a, values=evaluate(a)))
    assert going.iteration > 2
    assert len(going.pending) == 12


def test_hull_takes_parents_from_the_lower_convex_hull() -> None:
    narrowed = False
    for seed in range(4):
        searcher = small(seed=seed, hull=True, population=40, parents=100)
        run(searcher, 40)
        front = searcher.front()
        on_hull = {r.architecture.key for r, kept in zip(front, convex_hull(searcher.points(front)), strict=True) if kept}
        assert {p.key for p in searcher.parents} == on_hull
        narrowed |= len(on_hull) < len(front)
    assert narrowed


def test_what_fails_the_free_check_is_never_proposed() -> None:
    def excess(a: Architecture) -> float:
        return max(0.0, decoder_parameters(a) - 1_500_000)

    searcher = small(excess=excess)
    asked = run(searcher, 40)
    assert len(asked) == 40
    assert all(excess(a) == 0 for a in asked)


def test_bounds_that_hardly_any_draw_keeps_are_approached_step_by_step() -> None:
    searcher = small()
    counts = sorted(decoder_parameters(a) for a in searcher.space.sample_many(2000, generator(0, "counts")))
    low, high = counts[0] * 0.9, counts[0] * 1.1

    def excess(a: Architecture) -> float:
        return max(0.0, decoder_parameters(a) - high, low - decoder_parameters(a))

    rare = small(excess=excess)
    rare.tries = 100
    assert sum(excess(a) == 0 for a in searcher.space.sample_many(100, generator(1, "draws"))) == 0
    assert all(low <= decoder_parameters(t.architecture) <= high for t in rare.ask(5))
    assert rare.asked == 5


def test_what_it_starts_from_comes_first_and_within_bounds() -> None:
    first = small().space.sample_many(6, generator(9, "start"))
    searcher = small(start=lambda: first, excess=lambda a: float(a.key == first[2].key))
    assert [t.key for t in searcher.ask(7)[:5]] == [a.key for n, a in enumerate(first) if n != 2]


def test_a_check_that_nothing_passes_ends_the_search() -> None:
    searcher = small(excess=lambda a: 1.0)
    searcher.tries = 20
    assert searcher.ask(3) == []
    problem = toy("layer")
    one = problem.space.largest().key
    narrow = Evolution(problem.space, problem.objectives, excess=lambda a: float(a.key != one))
    narrow.tries = 1
    assert [p.architecture.key for p in narrow.ask(5)] == [one], "a small space is scanned for what is left"


def test_infeasible_results_are_no_parents_and_random_goes_on_without_a_feasible_one() -> None:
    searcher = small()
    for n in range(30):
        (proposal,) = searcher.ask()
        status = "complete" if n in (20, 22) else "infeasible"
        values = evaluate(proposal.architecture)
        searcher.tell(Trial(proposal.id, proposal.architecture, status, values=values))
        if n < 20:
            assert searcher.parents == []
    complete = {r.architecture.key for r in searcher.complete()}
    assert {p.key for p in searcher.parents} <= complete
    assert searcher.iteration > 0


def test_without_a_feasible_result_those_nearest_to_the_bounds_are_changed() -> None:
    objectives = (Objective("decoder_parameters", "max", lower=Bound(1e5)), Objective("latency", upper=Bound(1e-4)))
    searcher = Evolution(SPACE, objectives, population=10, parents=2, probability=0.05)

    def violation(a: Architecture) -> float:
        return evaluate(a)["latency"] / 1e-4 - 1

    changed = []
    for n in range(60):
        (proposal,) = searcher.ask()
        near = {p.key for p in searcher._nearly()}
        best = sorted(r.values["latency"] for r in searcher.history)[:2]
        assert all(r.values["latency"] in best for r in searcher.history if r.architecture.key in near)
        if n >= 10:
            assert len(near) == 2
            changed.append((n % 2, violation(proposal.architecture)))
        values = {"latency": evaluate(proposal.architecture)["latency"]}
        searcher.tell(Trial(proposal.id, proposal.architecture, "infeasible", values=values))
    means = [np.mean([v for odd, v in changed if odd == side]) for side in (0, 1)]
    assert means[1] < 0.7 * means[0], "changes of the nearest are no nearer than random draws"


def test_beats_random_in_hypervolume() -> None:
    space = Decoder()
    reference = np.array([0.0, 0.055])
    gains = []
    for seed in range(4):
        volumes = []
        for searcher in (
            Evolution(space, OBJECTIVES, seed=seed, population=40, parents=10, mutations=15, crossovers=15),
            Random(space, OBJECTIVES, seed=seed),
        ):
            run(searcher, 260)
            volumes.append(hypervolume(searcher.points(searcher.front()), reference))
        gains.append(volumes[0] / volumes[1])
    assert min(gains) > 1
    assert np.mean(gains) > 1.05


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"population": 0}, "`population` must be at least 1, got 0"),
        ({"parents": 0}, "`parents` must be at least 1, got 0"),
        ({"mutations": -1}, "`mutations` must be at least 0, got -1"),
        ({"crossovers": -1}, "`crossovers` must be at least 0, got -1"),
        ({"mutations": 0, "crossovers": 0}, r"`mutations` \+ `crossovers` must be at least 1"),
        ({"probability": 0.0}, "`probability` must be above 0 and at most 1, got 0"),
    ],
)
def test_bad_settings(given: dict, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Evolution(SPACE, OBJECTIVES, **given)


def test_all_bad_settings_are_listed() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Evolution(SPACE, OBJECTIVES, population=0, parents=0, probability=2.0)
    assert len(caught.value.faults) == 3
