"""Expected hypervolume improvement: Bayesian optimisation of several objectives, with BoTorch (Daulton et al. 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from secateur.objectives import Objective
from secateur.predictors import Fitted, GaussianProcess
from secateur.search.model import ModelSearcher, Scores
from secateur.spaces.base import Space


def expected_gain(fitted: Fitted, reference: np.ndarray, seed: int) -> Scores:
    """The hypervolume that candidates are expected to add."""
    from secateur.search.hypervolume_improvement import Gain

    return Gain(fitted, reference, seed)


class Ehvi(ModelSearcher):
    """Gaussian processes on the space's own coordinates; the largest expected gain in hypervolume is next."""

    name = "ehvi"
    #: A Gaussian process with distances over more dimensions than this learns nothing from a few hundred observations.
    most_dimensions = 200

    def __init__(
        self,
        space: Space,
        objectives: Sequence[Objective],
        *base: Any,
        initial: int = 10,
        iterations: int = 50,
        **more: Any,
    ) -> None:
        super().__init__(
            space,
            objectives,
            *base,
            predictor=GaussianProcess(iterations),
            acquisition=expected_gain,
            initial=initial,
            **more,
        )

    @classmethod
    def refuses(cls, space: Space, objectives: Sequence[Objective]) -> str | None:
        if len(objectives) < 2:
            return f"`ehvi` needs at least two objectives to trade off, got {len(objectives)}. Use `local` or `mo-rea`."
        if space.dimensions > cls.most_dimensions:
            return (
                f"`ehvi` needs a space of at most {cls.most_dimensions} dimensions, `{space.name}` has {space.dimensions} "
                "here: a Gaussian process learns nothing there. Use `random`, `local` or `mo-rea`."
            )
        return None
