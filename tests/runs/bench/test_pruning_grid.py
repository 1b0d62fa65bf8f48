"""Which cells a grid has: shared where they can be, and named by all that they depend on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from secateur import catalogue
from secateur.catalogue import names
from secateur.errors import ConfigurationError
from secateur.runs.bench import cells as cells_module
from secateur.runs.bench.cells import Pruned, Searched, Sizes, Trained
from secateur.runs.bench.pruning import bench_grid
from secateur.runs.bench.pruning_checks import check_set
from secateur.runs.bench.pruning_grid import views
from secateur.runs.bench.pruning_settings import PruningSettings, called_as
from secateur.runs.progress import Progress
from secateur.runs.prune.settings import PruneSettings


def settings(**changes: Any) -> PruningSettings:
    given: dict[str, Any] = {"model": ["minilm"], "task": ["glue/rte"], "seed": [0, 1], "method": ["weight-sharing"]}
    return PruningSettings(**{**given, **changes}).check()


def cells(**changes: Any) -> dict[str, Any]:
    return {view.cell.name: view.cell for view in views(settings(**changes))}


def test_a_super_network_that_several_ask_for_is_trained_once() -> None:
    """`small` and `full` are in all three experiments: one run, its sub-networks drawn once, and searched by all."""
    asked = {"experiment": ["spaces", "strategies", "searchers"], "searcher": ["random", "ehvi"], "trials": 70, "seed": [0]}
    found = [cell for cell in cells(**asked).values() if isinstance(cell, Trained)]
    assert len(found) == 4 + 6 - 1
    (shared,) = [cell for cell in found if len(cell.searches) > 1]
    assert (shared.given["space"], shared.given["strategy"]) == ("small", "full")
    assert shared.searches == (("random", 100), ("random", 70), ("ehvi", 70))
    arms = [(v.experiment, v.arm) for v in views(settings(**asked)) if v.cell.name == shared.name]
    assert arms == [("spaces", "small"), ("strategies", "full"), ("searchers", "random"), ("searchers", "ehvi")]


def test_sizes_are_counted_once_for_a_model() -> None:
    found = [cell for cell in cells(experiment=["spaces"], task=["glue/rte", "glue/mrpc"]).values() if isinstance(cell, Sizes)]
    assert [cell.given["space"] for cell in found] == ["small", "medium", "layer", "large"]


def test_fronts_are_those_of_the_first_seed() -> None:
    both = cells(experiment=["methods", "fronts"])
    assert [cell.given["seed"] for cell in both.values()] == [0, 1]
    assert [cell.given["seed"] for cell in cells(experiment=["fronts"]).values()] == [0]
    assert all(
        isinstance(cell, Pruned) and cell.given["polish_at"] == [f"{n}0%" for n in range(1, 10)] for cell in both.values()
    )


def test_settings_of_all_runs_and_of_one_method() -> None:
    found = cells(experiment=["methods"], seed=[3], set=["weight-sharing.epochs=2", "epochs=5", "text=[a, b]", "label=no"])
    (cell,) = found.values()
    assert (cell.given["epochs"], cell.given["text"], cell.given["label"]) == (2, ["a", "b"], "no")
    others = cells(experiment=["strategies"], set=["trials=3", "strategy=kd", "space=medium"], seed=[0], strategy=["random"])
    (other,) = others.values()
    # What is compared is not changed, and a super-network is searched after its run.
    assert (other.given["strategy"], other.given["trials"], other.given["space"]) == ("random", 1, "medium")


def test_names_tell_cells_apart() -> None:
    before, after = set(cells(experiment=["methods"])), set(cells(experiment=["methods"], set=["epochs=3"]))
    assert not before & after
    assert all(name.startswith("minilm-rte-weight-sharing-seed") for name in before)
    assert not before & set(cells(experiment=["methods"], level=["50%"]))
    samples = [set(cells(experiment=["strategies"], samples=n)) for n in (10, 20)]
    assert samples[0] == samples[1]  # another number of samples needs no other super-network


def test_seconds_are_the_searches_and_methods() -> None:
    found = cells(seconds=60.0, method=["weight-sharing"]).values()
    assert {cell.given.get("seconds") for cell in found if isinstance(cell, Trained | Sizes)} == {None}
    assert {cell.given.get("seconds") for cell in found if isinstance(cell, Pruned | Searched)} == {60.0}


def test_names_of_models_and_tasks() -> None:
    assert called_as("/data/glue/sst2") == "sst2"
    assert called_as("reviews.csv.gz") == "reviews"
    assert called_as(str(Path("site-packages", "gt_minilm", "model"))) == "gt_minilm"
    assert called_as("sentence-transformers/all-MiniLM-L6-v2") == "all-MiniLM-L6-v2"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"experiment": ["space"]}, "Did you mean `spaces`"),
        ({"method": ["weight-share"]}, "Did you mean `weight-sharing`"),
        ({"space": ["decoder"]}, "unknown space `decoder`"),
        ({"strategy": ["ful"]}, "Did you mean `full`"),
        ({"searcher": ["exact"]}, "unknown searcher `exact`"),
        ({"level": ["2M"]}, "must be a share"),
        ({"level": ["many"]}, "is not a bound"),
        ({"set": ["epochs"]}, "is not a setting"),
        ({"set": ["epoch=3"]}, "Did you mean `epochs`"),
        ({"set": ["weight-share.epochs=3"]}, "Did you mean `weight-sharing`"),
        ({"set": ["seed=3"]}, "cannot be set"),
        ({"model": ["a/minilm", "b/minilm"]}, "two are called `minilm`"),
        ({"device": "gpu"}, "gpu"),
        ({"samples": 0}, "`samples` must be at least 1"),
    ],
)
def test_refusals(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        settings(**changes)


SET = [
    "k=3",
    "searcher=random",
    "eta=4",
    "r_min=0.5",
    "trial_epochs=2",
    "drop=bottom",
    "order=false",
    "polish_epochs=1",
    "learning_rate=1e-3",
]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("epochs=-1", "`set`: `epochs` must be above 0"),
        ("epochs=many", "`set`: `epochs` must be a finite number, got 'many'"),
        ("standard.trials=0", "`set`: `trials` must be at least 1"),
        ("searcher=locl", "Did you mean `local`"),
        ("strategy=ful", "Did you mean `full`"),
        ("preset=dem", "Did you mean `demo`"),
        ("objectives=[macs]", "`set`: the first objective must be `error`"),
        ("layer-drop.space=small", "`set`: the method `layer-drop` prunes in the space layer, not in `small`"),
        ("standard.k=5", "`standard.k=5` has no effect: it is for the method weight-sharing, not for `standard`"),
    ],
)
def test_what_is_set_is_checked_before_anything_runs(text: str, said: str, tmp_path: Path) -> None:
    """Also beside settings that not all methods use."""
    asked = settings(experiment=["methods"], method=["weight-sharing", "standard", "layer-drop"], set=[*SET, text])
    with pytest.raises(ConfigurationError, match=said) as caught:
        bench_grid(tmp_path / "x", asked, Progress(False))
    assert len(caught.value.faults) == 1
    assert not (tmp_path / "x").exists()


def test_every_run_has_what_its_method_uses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The same is set for all runs of all experiments, and no run refuses any of it."""
    asked = settings(method=list(names("method", "prune")), seed=[0], set=SET)
    every = list({view.cell.name: view.cell for view in views(asked)}.values())
    check_set(asked, every)
    seen: list[dict[str, Any]] = []

    def find(kind: str, name: str, serving: str | None = None) -> Any:
        return catalogue.find(kind, name, serving) if kind != "verb" else lambda **given: seen.append(given)

    monkeypatch.setattr(cells_module, "find", find)
    for cell in every:
        cell.run(tmp_path / cell.name)
    for given in seen:
        del given["to"], given["progress"]
        assert PruneSettings.made(given).choice_faults() == []
    drops = {given["method"]: given.get("drop") for given in seen}
    assert drops == {**dict.fromkeys(names("method", "prune")), "layer-drop": "bottom"}
    assert {given.get("eta") for given in seen if given.get("searcher") == "mo-asha"} == {4}
