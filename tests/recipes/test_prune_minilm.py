"""The tables in the recipe's README and in the project's are those of its scores, and the targets are reached as they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tables(load_recipe: Any) -> Any:
    return load_recipe("prune-minilm/tables.py")


def test_readme_shows_the_scores(tables: Any) -> None:
    assert tables.everything() in (ROOT / "recipes/prune-minilm/README.md").read_text(encoding="utf-8")
    assert tables.beside() in (ROOT / "README.md").read_text(encoding="utf-8")


def test_three_seeds_of_everything(tables: Any) -> None:
    for (task, method, share, _), values in tables.scores().items():
        assert len(values) == (1 if method in ("klein2024", "chance") else 3), (task, method, share)


@pytest.mark.parametrize(
    ("task", "share", "least"), [("stsb", "0.5", 0.98), ("sst2", "0.5", 0.98), ("stsb", "0.2", 0.96), ("sst2", "0.2", 0.95)]
)
def test_the_default_preset_keeps_what_was_asked_of_it(tables: Any, task: str, share: str, least: float) -> None:
    found = tables.scores()
    polished = tables.mean(found[task, tables.CHOSEN[task], share, True])
    assert polished >= least * tables.best_unpruned(task)


def test_the_rule_of_thumb_is_the_one_measured(tables: Any) -> None:
    from secateur.training.settings import usual_learning_rate

    examples = {"stsb": (4024, 32), "mrpc": (2567, 32), "sst2": (14000, 64)}
    for task, (count, batch) in examples.items():
        assert (
            f"{usual_learning_rate(count, batch, 8):.0e}"
            == {"default-1e-4": "1e-04", "default-5e-5": "5e-05"}[tables.CHOSEN[task]]
        )
