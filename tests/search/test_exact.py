"""The exact front of decoders against brute force over every architecture of small spaces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError
from secateur.estimators.cost import DecoderCost
from secateur.estimators.decoder_latency import DecoderLatency, DecoderParts
from secateur.estimators.latency_model import FitReport, LatencyModel
from secateur.objectives import Objective, matrix
from secateur.rng import generator
from secateur.search.exact import Exact, Solution
from secateur.search.layer_sums import Around, LayerSums
from secateur.spaces.decoder import Decoder
from secateur.spaces.decoder_sizes import Sizes
from secateur.testing.toys import toy
from secateur.trial import Status, Trial

SIZES = Sizes(vocabulary=500, positions=16, cutoffs=[100, 300])
SMALL: dict[str, Any] = {
    "layers": "1..3",
    "width": (8, 12, 16),
    "inner": (16, 24, 32, 56),
    "heads": (1, 2, 4),
    "embedding": (0, 4, 8),
    "factor": (1, 2),
}
PROXY = "decoder_parameters"


def latency(space: Decoder, seed: int) -> DecoderLatency:
    """A latency model with random coefficients, some of them 0."""
    pairs = tuple(sorted({pair for pairs in space.allowed.pairs_of.values() for pair in pairs}))
    rng = np.random.default_rng(seed)
    parts = DecoderParts(space)
    names = parts.names(pairs)
    drawn = rng.random(len(names)) * (rng.random(len(names)) < 0.8)
    drawn[:6] /= (1, 16, 256, 4, 56, 16 * 56)  # each about as much of a layer's cost as another
    coefficients = dict(zip(names, (drawn * 1e-3).tolist(), strict=True))
    report = FitReport(0, 0, 0.0, 0.0, 0.0)
    return DecoderLatency(LatencyModel(parts, coefficients, pairs, "cpu", 1, 1, 8, "torch", "", report))


class Tallest(LayerSums):
    """`memory` as bytes that add up and the largest layer's on top."""

    yields = ("memory",)
    added = (True, False)

    def parts(self, backbone: str, width: int, heads: np.ndarray, inner: np.ndarray) -> np.ndarray:
        return np.stack([inner * width, 100 * heads * inner], axis=1)

    def quantities(self, around: Around, parts: np.ndarray) -> dict[str, np.ndarray]:
        return {"memory": around.embedding * 50 + parts[:, 0] + parts[:, 1]}

    def of(self, a: Any) -> float:
        layers = list(zip(a["heads"], a["inner"], strict=True))
        return a["embedding"] * 50 + sum(i * a["width"] for _, i in layers) + max(100 * h * i for h, i in layers)


def everything(space: Decoder, timed: DecoderLatency) -> tuple[list[Architecture], list[dict[str, float]]]:
    """All architectures and their values, by the estimators one by one."""
    cost, tallest, found = DecoderCost(SIZES, length=8), Tallest(), list(space.every())
    seconds = [e.values["latency"] for e in timed.evaluate(found)]
    return found, [{**cost.count(a), "latency": s, "memory": tallest.of(a)} for a, s in zip(found, seconds, strict=True)]


def assert_front(found: np.ndarray, points: np.ndarray) -> None:
    """No point is better than all that was found, and none of that is dominated, both up to rounding."""
    rounding = 1e-9 * np.abs(points).max(axis=0)
    assert all(np.any(np.all(found <= point + rounding, axis=1)) for point in points)
    for one in found:
        assert not np.any(np.all(points <= one, axis=1) & np.any(points < one - rounding, axis=1))


@pytest.mark.parametrize("backbone", ["gpt2", "transformer_xl"])
@pytest.mark.parametrize("homogeneous", [False, True])
@pytest.mark.parametrize(
    ("objectives", "bounds"),
    [
        ([PROXY, "latency"], []),
        ([PROXY, "latency", "memory"], []),
        ([PROXY, "parameters"], []),
        ([PROXY, "latency", "memory", "macs"], []),
        ([PROXY, "latency"], ["parameters<=7000>=5500"]),
        ([PROXY + "<=3000", "memory>=8000"], ["latency<=4ms"]),
    ],
)
def test_it_is_the_front_of_every_architecture(
    backbone: str, homogeneous: bool, objectives: list[str], bounds: list[str]
) -> None:
    space = Decoder(backbone, homogeneous=homogeneous, **SMALL)
    for seed in range(3):
        timed = latency(space, seed)
        sums = [DecoderCost(SIZES, length=8), timed, Tallest()]
        wanted, bounded = ([Objective.parse(text) for text in texts] for texts in (objectives, bounds))
        solution = Solution.of(space, sums, wanted, bounded)
        all_of_it, values = everything(space, timed)
        kept = [v for v in values if all(o.violated(v, {}) is None for o in (*wanted, *bounded))]
        assert len(kept) > 10
        assert_front(solution.points, matrix(kept, wanted))
        known = {a.key: v for a, v in zip(all_of_it, values, strict=True)}
        found = [solution.architecture(place) for place in range(len(solution))]
        assert np.allclose(matrix([known[a.key] for a in found], wanted), solution.points, rtol=1e-9)


def test_where_nothing_keeps_the_bounds_the_nearest_is_named() -> None:
    space = Decoder("gpt2", **SMALL)
    timed = latency(space, 0)
    bounds = [Objective.parse("decoder_parameters>=9000"), Objective.parse("parameters<=6000")]
    solution = Solution.of(space, [DecoderCost(SIZES, length=8), timed], [Objective(PROXY, "max")], bounds)
    _, values = everything(space, timed)
    assert len(solution) == 0
    least = min(sum(o.excess(v[o.name]) for o in bounds) for v in values)
    assert solution.nearest is not None
    assert sum(o.excess(solution.nearest[o.name]) for o in bounds) == pytest.approx(least)
    searcher = Exact(space, [Objective(PROXY, "max")], sums=lambda: [DecoderCost(SIZES, length=8)], bounds=bounds)
    assert searcher.ask(1) == []


def test_an_embedding_that_the_model_has_not_seen_is_left_out() -> None:
    space = Decoder("gpt2", **SMALL)
    timed = latency(Decoder("gpt2", **{**SMALL, "embedding": (0, 4)}), 1)
    wanted = [Objective(PROXY, "max"), Objective("latency")]
    solution = Solution.of(space, [DecoderCost(SIZES), timed], wanted)
    assert {solution.architecture(place)["embedding"] for place in range(len(solution))} <= {0, 4}


def searcher(seed: int = 0) -> Exact:
    space = Decoder("gpt2", **SMALL)
    wanted = [Objective(PROXY, "max"), Objective("latency"), Objective("memory")]
    return Exact(space, wanted, seed, sums=lambda: [DecoderCost(SIZES), latency(space, 2), Tallest()])


def test_it_proposes_every_member_once_and_then_ends() -> None:
    exact = searcher()
    asked = [exact.ask(7) for _ in range(100)]
    keys = [t.key for some in asked for t in some]
    assert len(keys) == len(set(keys)) == len(exact.solution)
    assert set(keys) == {exact.solution.architecture(place).key for place in range(len(exact.solution))}
    assert asked[-1] == []


def test_the_first_proposals_are_the_ends_and_cover_the_front() -> None:
    exact = searcher()
    solution = exact.solution
    ends = {solution.architecture(int(place)).key for place in np.argmin(solution.points, axis=0)}
    asked = [t.key for t in exact.ask(len(solution) // 4)]
    assert ends <= set(asked[:9])
    by_key = {solution.architecture(place).key: place for place in range(len(solution))}
    ranks = np.argsort(np.argsort(solution.points, axis=0), axis=0) / len(solution)
    far = [min(np.abs(r - ranks[by_key[key]]).max() for key in asked) for r in ranks]
    rng = np.random.default_rng(0)
    drawn = rng.choice(len(solution), size=len(asked), replace=False)
    assert max(far) < max(min(np.abs(r - ranks[place]).max() for place in drawn) for r in ranks)


def test_it_goes_on_as_if_never_stopped_and_the_seed_changes_the_order_only() -> None:
    going = searcher(3)
    asked = going.ask(12)
    resumed = searcher(3)
    resumed.restore([Trial(t.id, t.architecture, Status.COMPLETE, {PROXY: 1.0, "latency": 1.0, "memory": 1.0}) for t in asked])
    assert [t.key for t in resumed.ask(5)] == [t.key for t in going.ask(5)]
    other, size = searcher(4), len(going.solution)
    assert [t.key for t in other.ask(size)] != [t.key for t in searcher(3).ask(size)]


def test_what_is_taken_back_is_asked_again() -> None:
    one, other = searcher(3), searcher(3)
    for _ in range(4):
        (late,) = one.ask()
        (trial,) = other.ask()
        assert late == trial
        one.retract(late)
        (again,) = one.ask()
        assert again == late
    assert [t.key for t in one.ask(5)] == [t.key for t in searcher(3).ask(9)[4:]]


def test_other_spaces_and_quantities_are_refused() -> None:
    problem = toy("small")
    with pytest.raises(ConfigurationError, match="searches the space `decoder`, not `small`"):
        Exact(problem.space, problem.objectives)
    space = Decoder("gpt2", **SMALL)
    with pytest.raises(ConfigurationError, match="`latency` does not"):
        Solution.of(space, [DecoderCost(SIZES)], [Objective(PROXY, "max"), Objective("latency")])


def test_sums_are_what_the_estimators_say() -> None:
    for backbone in ("gpt2", "transformer_xl"):
        space = Decoder(backbone, **SMALL)
        timed, cost = latency(space, 5), DecoderCost(SIZES, length=8)
        for a in space.sample_many(30, generator(0, "sums")):
            around = Around(backbone, *(a[name] for name in ("width", "embedding", "factor")), len(a["heads"]))  # type: ignore[arg-type]
            for some, values in ((cost, cost.count(a)), (timed, timed.evaluate([a])[0].values)):
                parts = some.parts(backbone, around.width, np.array(a["heads"]), np.array(a["inner"])).sum(axis=0)[None]
                found = some.quantities(around, parts)
                assert {name: float(v[0]) for name, v in found.items()} == pytest.approx(dict(values))
