"""The contract of every Estimator, as a test class: subclass it and give `make` and `architectures` as fixtures.

    class TestContract(EstimatorContract):
        @pytest.fixture
        def make(self):
            return lambda: DecoderCost(vocabulary=100)

        @pytest.fixture
        def architectures(self):
            return Decoder().sample_many(3, generator(0))

`make` makes the same estimator anew each time. Its values must differ between some of the `architectures`, one of which may
fail, and repeat exactly: where they are measured, pretend the measurement.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from secateur.architecture import Architecture
from secateur.estimators.base import Estimator, Evaluation

Make = Callable[[], Estimator]


def _same(one: Evaluation, other: Evaluation) -> bool:
    """Whether two evaluations found the same; sums may be rounded differently in company."""
    near = all(math.isclose(one.values[name], other.values.get(name, math.nan), rel_tol=1e-6) for name in one.values)
    return near and len(one.values) == len(other.values) and one.failure == other.failure


class EstimatorContract:
    """What a study relies on, whatever the estimator."""

    def test_one_evaluation_per_architecture_in_order(self, make: Make, architectures: Sequence[Architecture]) -> None:
        estimator = make()
        found = estimator.evaluate(architectures)
        backwards, alone = estimator.evaluate(architectures[::-1])[::-1], [make().evaluate([a])[0] for a in architectures]
        assert len(found) == len(backwards) == len(architectures)
        assert all(map(_same, found, backwards))
        assert all(map(_same, found, alone))
        assert not all(_same(found[0], other) for other in found), "give architectures whose values differ"

    def test_nothing_in_nothing_out(self, make: Make) -> None:
        assert make().evaluate([]) == []

    def test_all_that_it_yields_or_a_reason_why_not(self, make: Make, architectures: Sequence[Architecture]) -> None:
        estimator = make()
        assert estimator.cost in range(4)
        for evaluation in estimator.evaluate(architectures):
            assert set(evaluation.values) == (set(estimator.yields) if evaluation.failure is None else set())
            assert evaluation.failure is None or evaluation.failure.strip()
            for architecture, values in ((None, evaluation.values), *evaluation.extra):
                assert set(values) <= set(estimator.yields)
                assert all(isinstance(v, float) and math.isfinite(v) for v in values.values()), architecture

    def test_the_same_thing_has_the_same_fingerprint(self, make: Make, architectures: Sequence[Architecture]) -> None:
        estimator = make()
        before = estimator.fingerprint
        estimator.evaluate(architectures)
        assert before == estimator.fingerprint == make().fingerprint
        assert before != ""
