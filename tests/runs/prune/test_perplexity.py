"""A language model pruned by perplexity: what is searched, chosen, told and exported is the perplexity, exactly."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from secateur.errors import BoundError, ConfigurationError
from secateur.estimators.shared_weights import score
from secateur.report.prune_page import default_axes, pareto_figure
from secateur.report.prune_rows import before_after, front_table
from secateur.runs.comparison import compare_runs
from secateur.runs.prune.objective_checks import objective_faults
from secateur.runs.prune.report import PruneReport
from secateur.runs.prune.run import KEPT, PruneRun

pytestmark = pytest.mark.usefixtures("brief")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, quick_prune: Callable[..., Any], language: dict[str, Any]) -> Any:
    given = {**language, "epochs": 8.0, "learning_rate": 1e-2, "polish_at": ["60%"], "candidates": 2, "measure": False}
    run = quick_prune(tmp_path_factory.mktemp("runs") / "lm", **given)
    yield run
    run.close()


def by_hand(model: Any, blocks: list[list[int]]) -> float:
    """exp of transformers' own losses, weighted by their tokens."""
    total, told = 0.0, 0
    for block in blocks:
        ids = torch.tensor([block])
        with torch.no_grad():
            total += float(model(input_ids=ids, labels=ids).loss) * (len(block) - 1)
        told += len(block) - 1
    return math.exp(total / told)


def test_every_value_is_the_perplexity_of_its_network(run: PruneRun) -> None:
    data = run.configuration.task_data(run.tokenizer)
    assert run.configuration.kind == "language_modelling", "what else has one"
    assert run.quality == run.metric == "perplexity"
    blocks = data.validation.columns["input_ids"]
    assert run.unpruned["perplexity"] == pytest.approx(by_hand(run.supernet.model, blocks), rel=1e-4)
    assert run.doubt is None
    for trial in run.trials[:8]:
        if trial.origin == "polish" or run.has_own(trial):
            continue
        network = run.supernet.extract(run.plan(trial.architecture)).eval()
        assert trial.values["perplexity"] == pytest.approx(by_hand(network, blocks), rel=1e-4)
        assert {"error", "perplexity"} <= set(trial.values), "the error is there as well"
    assert any(t.origin == "sweep" for t in run.trials), "depths come for free here too"
    assert run.unpruned_test["perplexity"] == pytest.approx(
        by_hand(run.supernet.model, data.test.columns["input_ids"]), rel=1e-4
    )


def test_the_front_and_its_bounds(run: PruneRun) -> None:
    front = run.front
    assert [o.name for o in front.objectives] == ["perplexity", "body_parameters"]
    values = [m.values["perplexity"] for m in front]
    assert values == sorted(values, reverse=True), "larger networks are better, or not on the front"
    whole = run.unpruned["perplexity"]
    relative = front.best(under={"perplexity": "150%", "body_parameters": "100%"})
    assert relative.values["perplexity"] <= 1.5 * whole, "a share of the unpruned network's perplexity"
    middle = sorted(values)[len(values) // 2]
    assert front.best(under={"perplexity": middle}).values["perplexity"] <= middle
    with pytest.raises(BoundError, match=r"nothing that was found has `perplexity` ≤ 1\.01"):
        front.best(under={"perplexity": 1.01})
    with pytest.raises(ConfigurationError, match="no perplexity is below 1"):
        front.best(under={"perplexity": 0.5})


def test_polishing_picks_and_keeps_by_perplexity(run: PruneRun, tmp_path: Path) -> None:
    (polished,) = run.polished.values()
    member = next(m for m in run.front.pool if m.key == polished.key)
    data = run.configuration.task_data(run.tokenizer)
    better = polished.values["perplexity"] <= member.trial.values["perplexity"]
    assert member.weights == ("polished" if better else "shared")
    member.save(tmp_path / "pruned", polished=True)
    import secateur

    network = secateur.load(tmp_path / "pruned").eval()
    found = score(network, data.task, data.batches("validation", 8))
    assert found["perplexity"] == pytest.approx(polished.values["perplexity"], rel=1e-4)
    assert "| perplexity, validation |" in (tmp_path / "pruned" / "README.md").read_text()


def test_what_is_told(run: PruneRun) -> None:
    report = PruneReport(run)
    data = report.data()
    assert (data.metric, data.quality) == ("perplexity", "perplexity")
    assert default_axes(data) == ("body_parameters", "perplexity")
    assert "perplexity" in pareto_figure(data)["layout"]["yaxis"]["title"]["text"]
    assert "perplexity" not in data.costs
    assert data.chance == pytest.approx(run.chance["validation"]["perplexity"])
    assert not data.by_luck({"perplexity": data.chance - 0.1})
    assert data.by_luck({"perplexity": data.chance})
    table, title, last = report.table(list(run.front), wide=True)
    assert "scores are perplexity" in title
    assert last is not None
    assert last["validation"] == run.unpruned["perplexity"]
    assert "points" not in [column.name for column in table.columns]
    headings = [column.name for column in front_table(data).columns]
    assert {"validation", "test"} <= set(headings)
    assert "perplexity" not in headings, "not twice"
    gain = run.front[-1].gain
    before, after = gain.perplexity
    assert str(gain).endswith(gain.price())
    assert gain.price().startswith("perplexity ")
    assert gain.score is None
    chance = run.chance["test"]["perplexity"]
    assert gain.kept == pytest.approx((math.log(chance) - math.log(after)) / (math.log(chance) - math.log(before)))
    row = report.plain_row(run.front[-1])
    assert (row["validation_score"], row["test_score"]) == (run.front[-1].values["perplexity"], after)
    lines = before_after(data, next(e for e in data.front if e["key"] == run.front[-1].key)).rows
    assert next(line["quantity"] for line in lines if "perplexity" in line["quantity"]) == "perplexity, validation"
    assert run.folder.joinpath("report.html").read_text().count("perplexity") > 3


def test_the_headline_keeps_nine_tenths_of_what_was_learned_in_nats(run: PruneRun) -> None:
    floor, best = (math.log(v) for v in (run.chance["validation"]["perplexity"], run.unpruned["perplexity"]))
    good = [m for m in run.front if math.log(m.values["perplexity"]) <= floor - KEPT * (floor - best)]
    expected = min(good, key=lambda m: m.values["body_parameters"], default=None)
    assert (run.headline and run.headline.key) == (expected and expected.key)


def test_runs_compare_by_perplexity(run: PruneRun, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(run.folder, other)
    found = compare_runs([run.folder, other])
    assert found.as_dict()["score"] == "perplexity"


def _plain(member: Any) -> bool:
    """Whether its layers are alike, and have heads and units."""
    sizes = {(p.heads.count, p.units.count) for p in member.plan.layers}
    return len(sizes) == 1 and all(sizes.copy().pop()) and len(member.plan.layers) < 3


def test_a_uniform_result_is_a_plain_checkpoint_that_generates(run: PruneRun, tmp_path: Path) -> None:
    """Loaded and run by transformers alone: no code of ours comes with it."""
    from transformers import AutoModelForCausalLM, LlamaForCausalLM

    member = next(m for m in run.front.pool if m.plan.layers and _plain(m))
    folder = tmp_path / "pruned"
    member.save(folder)
    assert not list(folder.glob("*.py"))
    model = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=False).eval()
    assert type(model) is LlamaForCausalLM
    assert model.config.num_key_value_heads == member.plan.layers[0].heads.count
    assert model.config.num_attention_heads == 2 * model.config.num_key_value_heads, "whole groups of queries"
    told = model.generate(torch.tensor([[5, 6, 7]]), max_new_tokens=6, do_sample=False)
    assert told.shape == (1, 9)
    data = run.configuration.task_data(run.tokenizer)
    assert score(model, data.task, data.batches("validation", 8))["perplexity"] == pytest.approx(
        member.values["perplexity"], rel=1e-4
    )


@pytest.mark.parametrize("changes", [{"space": "medium", "trials": 4}, {"method": "one-shot", "trial_epochs": 0.5}])
def test_other_spaces_and_methods(quick_prune: Any, language: dict[str, Any], tmp_path: Path, changes: dict[str, Any]) -> None:
    given = {**language, "polish": False, "measure": False}
    run = quick_prune(tmp_path / "run", **{**given, **changes})
    assert len(run.front)
    assert all(t.values["perplexity"] > 1 for t in run.trials)
    run.close()


@pytest.mark.parametrize(
    ("objectives", "kind", "fault"),
    [
        (["perplexity", "parameters"], "language_modelling", None),
        (["perplexity<=120%", "parameters"], "language_modelling", None),
        (["error", "parameters"], None, None),
        (["perplexity", "error"], "language_modelling", "cannot both be objectives"),
        (["error", "perplexity"], "language_modelling", "cannot both be objectives"),
        (["perplexity", "parameters"], "classification", "of language_modelling only, and `kind` is classification"),
        (["parameters", "perplexity"], "language_modelling", "the first objective must be `error`, or a language model's"),
        ([], None, "the first objective must be"),
        (["error", "error"], None, "named twice"),
        (["perplexity<=0.5"], "language_modelling", "no perplexity is below 1"),
    ],
)
def test_objectives_that_go_together(objectives: list[str], kind: str | None, fault: str | None) -> None:
    found = objective_faults(objectives, kind)
    assert (fault is None and not found) or (fault is not None and fault in " ".join(found)), found


def test_a_weight_of_labels_without_a_teacher_is_refused(quick_prune: Any, language: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="`label_weight` cannot be set: nothing is distilled"):
        quick_prune(tmp_path / "run", **language, label_weight=0.5, distillation_weight=0.0)
