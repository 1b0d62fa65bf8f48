"""Same seed, same front, to the digit: toy runs as they were found once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from secateur.runs.folder import open_run

pytestmark = [pytest.mark.usefixtures("brief"), pytest.mark.slow]
#: Run → its front (key → values of the objectives, in order), polished errors, and the last keys that were asked for.
GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text(encoding="utf-8"))


def front_of(run: Any) -> dict[str, list[float]]:
    return {m.key: [m.values[o.name] for o in run.objectives] for m in run.front}


def asked_by(run: Any, count: int) -> list[str]:
    return [t.key for t in run.trials if t.id is not None][-count:]


@pytest.mark.parametrize("seed", [0, 1])
def test_prune(seed: int, pruned: Path, quick_prune: Any, tmp_path: Path) -> None:
    golden = GOLDEN[f"prune-{seed}"]
    run = open_run(pruned) if seed == 0 else quick_prune(tmp_path / "run", seed=seed)
    assert asked_by(run, 6) == golden["asked"]
    assert front_of(run) == golden["front"]
    assert {key: trial.values["error"] for key, trial in run.polished.items()} == golden["polished"]


@pytest.mark.parametrize(("searcher", "seed"), [("evolution", 0), ("evolution", 1), ("exact", 0)])
def test_design(searcher: str, seed: int, quick_design: Any, tmp_path: Path) -> None:
    golden, objectives = GOLDEN[f"{searcher}-{seed}"], ["decoder_parameters", "memory", "parameters"]
    run = quick_design(tmp_path / "run", seed=seed, objectives=objectives, searcher=searcher)
    assert asked_by(run, 5) == golden["asked"]
    assert front_of(run) == golden["front"]
