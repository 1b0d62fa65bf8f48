"""The population that was given is the searcher's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from secateur.search import MoRea

pytestmark = pytest.mark.usefixtures("brief")


def test_a_run_breeds_from_the_population_that_was_given(quick_prune: Callable[..., Any], tmp_path: Path) -> None:
    """Told the same results, such a searcher of our own proposes what the run did."""
    given = {"population": 4, "sample": 2}
    run = quick_prune(
        tmp_path / "run", searcher="mo-rea", trials=9, depths=False, polish=False, order=False, aimed=0.0, **given
    )
    own = MoRea(run.space, run.objectives, seed=run.configuration.seed, **given)
    asked = [trial for trial in run.trials if trial.origin == "asked"]
    assert len(asked) == 9
    for trial in asked:
        assert own.ask()[0].architecture == trial.architecture
        own.tell(trial)
