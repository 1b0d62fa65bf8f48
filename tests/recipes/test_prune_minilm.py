"""The tables in the recipe's README and in the project's are those of its scores, and the targets are reached as they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SMALL = ("0.1", "0.2", "0.3", "0.5")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tables(load_recipe: Any) -> Any:
    return load_recipe("prune-minilm/tables.py")


def test_readme_shows_the_scores(tables: Any) -> None:
    assert tables.everything() in (ROOT / "recipes/prune-minilm/README.md").read_text(encoding="utf-8")
    assert tables.beside() in (ROOT / "README.md").read_text(encoding="utf-8")


def test_three_seeds_of_everything(tables: Any) -> None:
    seeds = {"klein2024": 1, "chance": 1, "preset-2e-4": 1, tables.DEFAULT: 5}
    for (task, method, share, _), values in tables.scores().items():
        assert len(values) == (1 if method.startswith("gte-") else seeds.get(method, 3)), (task, method, share)


@pytest.mark.parametrize(
    ("task", "share", "least"),
    [
        ("stsb", "0.5", 0.98),
        pytest.param("sst2", "0.5", 0.98, marks=pytest.mark.xfail(strict=True, reason="0.977 on test data")),
        ("stsb", "0.2", 0.96),
        ("sst2", "0.2", 0.95),
    ],
)
def test_the_default_preset_keeps_what_was_asked_of_it(tables: Any, task: str, share: str, least: float) -> None:
    found = tables.scores()
    polished = tables.mean(found[task, tables.DEFAULT, share, True])
    assert polished >= least * tables.best_unpruned(task)


def test_learning_rates_are_those_that_validate_best_and_the_rule_is_theirs(tables: Any) -> None:
    from secateur.training.settings import usual_learning_rate

    examples = {"stsb": 4024, "mrpc": 2567, "sst2": 14000}
    for task, count in examples.items():
        assert tables.CHOSEN[task] == tables.chosen(task)
        assert float(tables.CHOSEN[task].removeprefix("preset-")) == usual_learning_rate(count, 32, 8)
    assert tables.validated("sst2", "default-1e-4") > tables.validated("sst2", "default-5e-5")  # batch 64: 1,752 steps
    assert usual_learning_rate(14000, 64, 8) == 1e-4


def test_what_the_text_says_of_the_scores(tables: Any) -> None:
    found = tables.scores()
    text = " ".join((ROOT / "recipes/prune-minilm/README.md").read_text(encoding="utf-8").split())

    def ours(task: str, share: str, polished: bool = True) -> float:
        return float(tables.mean(found[task, tables.DEFAULT, share, polished]))

    def kept(task: str, share: str) -> str:
        return f"{100 * ours(task, share) / tables.best_unpruned(task):.1f} %"

    half = [kept(task, "0.5") for task in ("stsb", "sst2", "mrpc")]
    assert f"{half[0]} of the unpruned score is left on STS-B, {half[1]} on SST-2 and {half[2]} on MRPC" in text
    tenth = [kept(task, "0.1") for task in ("stsb", "sst2", "mrpc")]
    assert f"at 10 %, {tenth[0]}, {tenth[1]} and {tenth[2]} are left" in text
    aims = {"stsb": (97.5, 99, 99.5, 100), "sst2": (96, 97.5, 98.5, 99.5), "mrpc": (96, 97.5, 98.5, 99)}
    reached = {(t, s) for t, aim in aims.items() for s, a in zip(SMALL, aim, strict=True) if float(kept(t, s)[:-2]) >= a}
    assert reached == {("stsb", "0.1"), ("stsb", "0.3")}  # 'What was aimed at and is not reached'
    assert [round(v, 5) for v in found["mrpc", "preset-1e-4", "0.1", True]].count(0.68382) == 2  # the empty network
    assert found["mrpc", "gte-preset-1e-4", "0.1", True] == [0.68382]
    small = [tables.mean(found[task, "default-1e-4", "0.1", True]) for task in ("mrpc", "stsb")]
    assert f"reach {small[0]:.3f} there and {small[1]:.3f} on STS-B" in text
    lost = {t: [ours(t, a) - tables.mean(tables.dropped(t, b)) for a, b in tables.BESIDE] for t in tables.TASKS}
    assert f"({tables.mean(tables.dropped('sst2', '0.667')):.3f} against {ours('sst2', '0.7'):.3f})" in text
    assert f"{lost['sst2'][2]:.3f} behind at 50 %, and {lost['sst2'][1]:.2f} to {lost['sst2'][0]:.2f} behind below" in text
    assert f"loses {lost['stsb'][3]:.2f} at 67 %, {lost['stsb'][2]:.2f} at 50 %" in text
    assert f"on MRPC, {min(lost['mrpc']):.2f} to {max(lost['mrpc']):.2f} everywhere" in text
    learned = tables.best_unpruned("mrpc") - found["mrpc", "chance", "none", False][0]
    above = (ours("mrpc", "0.2") - found["mrpc", "chance", "none", False][0]) / learned
    assert f"{kept('mrpc', '0.2')} of the score at 20 % sounds like a lot; it is {100 * above:.0f} %" in text
    gained = [ours(task, "0.1") - ours(task, "0.1", False) for task in ("stsb", "sst2")]
    assert f"(at 10 %: +{gained[0]:.2f} on STS-B, +{gained[1]:.2f} on SST-2)" in text
    first = [tables.validated(task, method, 0) for task in tables.TASKS for method in ("preset-1e-4", "preset-2e-4")]
    first += [tables.validated(task, f"gte-{method}", 0) for task in tables.GTE for method in ("preset-1e-4", "preset-2e-4")]
    assert sum(b > a for a, b in zip(first[::2], first[1::2], strict=True)) == 2  # 'ahead in two of five rows'


def test_readme_shows_strategies_and_spaces(load_recipe: Any) -> None:
    strategies = load_recipe("prune-minilm/strategies.py")
    text = (ROOT / "recipes/prune-minilm/README.md").read_text(encoding="utf-8")
    assert strategies.everything() in text
    drawn = strategies.in_small(strategies.read(strategies.HERE / "points.jsonl"))
    found = strategies.hypervolumes(drawn)
    means = {method: sum(values) / len(values) for ((task, _), method), values in found.items() if task == "sst2"}
    assert f"**SST-2: `full` is clearly best** ({means['full-authors']:.3f})" in text
    assert min(means, key=means.__getitem__) == "random-linear"
    assert sorted(means, key=means.__getitem__)[-2] == "kd-authors"
    assert max(means[m] for m in ("standard", "random", "random-linear")) < means["sandwich"] - 0.05
    assert max(abs(means[m] - means["sandwich"]) for m in ("kd", "full")) < 0.0035
    assert f"{100 * strategies.at_majority(drawn):.0f} % of the sub-networks drawn on MRPC answer with the majority" in text
    errors = sorted(error for row in drawn if row["task"] == "stsb" for error, _ in row["points"])
    assert errors[len(errors) // 2] > 0.96
