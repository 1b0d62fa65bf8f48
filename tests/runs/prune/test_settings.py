"""The settings of `secateur prune`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from secateur.catalogue import find, names
from secateur.errors import ConfigurationError
from secateur.methods.base import SOME
from secateur.objectives import Objective
from secateur.rng import generator
from secateur.runs.prune.settings import PruneSettings
from secateur.spaces.pruning import Shape, Small


@pytest.fixture
def given(model_folder: Path, data_file: Path) -> dict[str, Any]:
    return {"model": str(model_folder), "data": str(data_file), "text": ["review"], "label": "verdict"}


def test_what_nobody_gave_comes_from_the_preset_then_from_the_defaults(given: dict[str, Any]) -> None:
    found = PruneSettings.resolve({**given, "preset": "klein2024", "batch_size": 8, "epochs": None})
    assert (found.batch_size, found.epochs, found.strategy) == (8, 5.0, "full")
    assert found.searcher == "ehvi"
    assert PruneSettings.resolve(given).searcher == "local"
    assert PruneSettings.resolve({**given, "space": "large"}).searcher == "random"


def test_settings_are_plain_text_numbers_and_lists(given: dict[str, Any], tmp_path: Path) -> None:
    objectives = [Objective.parse("error"), "latency<=20ms"]
    found = PruneSettings.resolve({**given, "objectives": objectives, "text": "review", "model": Path(given["model"])})
    assert found.objectives == ["error", "latency<=20ms"]
    assert found.text == ["review"]
    assert found.model == given["model"]
    found.write(tmp_path)
    assert PruneSettings.read(tmp_path) == found


def test_relative_paths_become_absolute(given: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A run can be resumed from anywhere."""
    monkeypatch.chdir(Path(given["data"]).parent)
    assert PruneSettings.resolve({**given, "data": Path(given["data"]).name}).data == given["data"]


def test_what_is_maximised_is_no_cost(given: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="`decoder_parameters` cannot be maximised"):
        PruneSettings.resolve({**given, "objectives": ["error", Objective.parse("decoder_parameters")]})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"objectives": ["parameters", "error"]},
            "must be `error`, or a language model's `perplexity`, got `parameters`",
        ),
        ({"objectives": ["error", "error"]}, "named twice"),
        ({"objectives": 5}, "`5` is not an objective"),
        ({"model": "~nobody-of-this-name/model"}, "`~nobody-of-this-name/model` cannot be used"),
        ({"heads": "6..2"}, "6..2 is empty"),
        ({"polish_at": ["half"]}, "`half` is not a bound"),
        ({"method": "weight-sharin"}, "`weight-sharing`"),
        ({"device": "tpu"}, "must be auto, cpu, cuda or cuda:N"),
        ({"seed": -1}, "`seed` must be at least 0"),
        ({"workers": 0}, "`workers` must be at least 1"),
        ({"store": "study.db"}, "URL of a database"),
        ({"searcher": "random", "population": 5}, "`population` cannot be set: the searcher `random` has none"),
        ({"searcher": "nsga2", "sample": 5}, "`sample` cannot be set: the searcher `nsga2` has none"),
        ({"searcher": "mo-rea", "population": 4, "sample": 5}, r"`sample` must lie in 1…`population` \(4\), got 5"),
        ({"searcher": "mo-re", "population": 4}, "Did you mean `mo-rea`"),
        ({"population": -1}, "`population` must be at least 1"),
        ({"metric": "acuracy", "kind": "classification"}, "Did you mean `accuracy`"),
        ({"metric": "acuracy"}, "Did you mean `accuracy`"),
        ({"kind": "classification", "metric": "spearman"}, "`metric` must be accuracy or f1 or matthews for classification"),
        ({"preset": "klein2024", "squared_temperature": False}, "`squared_temperature` cannot be off"),
        ({"distillation": "authors", "strategy": "kd", "k": 0}, "`k` must be at least 1"),
        ({"distillation": "author"}, "Did you mean `authors`"),
        ({"method": "standard", "searcher": "mo-asha", "trials": 0}, "`trials` must be at least 1 and"),
    ],
)
def test_faults(given: dict[str, Any], change: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        PruneSettings.resolve({**given, **change})
    assert len(caught.value.faults) == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"method": "standard", "strategy": "kd"}, "`strategy` cannot be set: it is for the method weight-sharing, not"),
        ({"method": "fisher", "k": 3}, "`k` cannot be set: it is for the method weight-sharing, not for `fisher`"),
        ({"strategy": "random", "k": 3}, "`k` cannot be set: the strategy `random` does not draw so many"),
        ({"method": "one-shot", "order": False}, "`order` cannot be set: it is for the method weight-sharing"),
        ({"method": "layer-drop", "order_epochs": 2.0}, "`order_epochs` cannot be set: it is for the method weight-sharing"),
        ({"order": False, "order_learning_rate": 1e-3}, "`order_learning_rate` cannot be set: heads and units are not ordered"),
        ({"preset": "klein2024", "order_epochs": 2.0}, "`order_epochs` cannot be set: heads and units are not ordered"),
        ({"method": "head-pruning", "learning_rate": 1e-3}, "`learning_rate` .* weight-sharing or standard or one-shot or lay"),
        ({"drop": "bottom"}, "`drop` cannot be set: it is for the method layer-drop, not for `weight-sharing`"),
        ({"method": "standard", "drop": "bottom"}, "`drop` cannot be set: it is for the method layer-drop, not"),
        ({"trial_epochs": 2.0}, "`trial_epochs` cannot be set: it is for the method standard or one-shot or layer-drop, not"),
        ({"eta": 4}, "`eta` cannot be set: only searchers that stop trainings early have rungs"),
        ({"method": "standard", "r_min": 2.0}, "`r_min` cannot be set: only searchers that stop trainings early have rungs"),
        (
            {"method": "fisher", "rung_order": "epsilon-net"},
            "`rung_order` cannot be set: only searchers that stop trainings early have rungs",
        ),
        ({"method": "fisher", "aimed": 0.1}, "`aimed` cannot be set: the method `fisher` tries a list of its own"),
        ({"method": "fisher", "population": 9}, "`population` cannot be set: the method `fisher` tries a list of its own"),
        ({"method": "standard", "depths": False}, "`depths` cannot be set: it is for the method weight-sharing"),
        ({"preset": "klein2024", "polish_epochs": 2.0}, "`polish_epochs` cannot be set: nothing is polished"),
        ({"polish": False, "candidates": 2}, "`candidates` cannot be set: nothing is polished"),
    ],
)
def test_what_has_no_effect_is_refused(given: dict[str, Any], change: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        PruneSettings.resolve({**given, **change})
    assert len(caught.value.faults) == 1
    (name,) = PruneSettings.effective(change | given).keys() ^ (change | given).keys()
    assert f"`{name}`" in said
    PruneSettings.resolve(PruneSettings.effective({**given, **change}))


@pytest.mark.parametrize("preset", ["default", "klein2024", "demo"])
@pytest.mark.parametrize("method", names("method", "prune"))
def test_what_a_preset_says_or_a_method_uses_is_taken(given: dict[str, Any], preset: str, method: str) -> None:
    """Also where the user repeats what the preset says."""
    said = PruneSettings.presets[preset]
    found = PruneSettings.resolve({**given, **said, "preset": preset, "method": method})
    changes = {"strategy": "kd", "k": 3, "depths": not found.depths, "order": True, "order_epochs": 3.0, "drop": "bottom"}
    changes |= {"learning_rate": 1.0, "trial_epochs": 9.0, "candidates": 7}
    used = {name: value for name, value in changes.items() if name in find("method", method).uses}
    taken = PruneSettings.resolve({**given, **used, "preset": preset, "method": method})
    assert {name: getattr(taken, name) for name in used} == used


def test_every_setting_of_some_methods_is_used_by_one() -> None:
    used = {setting for method in names("method", "prune") for setting in find("method", method).uses}
    assert set(SOME) == used - {"candidates"}


@pytest.mark.parametrize("name", names("strategy", "prune"))
def test_strategies_that_take_k_draw_as_many(name: str) -> None:
    kind, space = find("strategy", name), Small(Shape(layers=2, heads=2, units=3))
    passes = [[len(kind(space, k=k).draws(step, 9, generator(0, "toy"))) for step in range(10)] for k in (1, 4)]
    assert (passes[0] != passes[1]) is kind.takes_k


def test_an_older_run_with_what_has_no_effect_opens(given: dict[str, Any], tmp_path: Path) -> None:
    old = replace(PruneSettings.resolve(given), method="fisher", space="large", searcher=None, strategy="kd", eta=7)
    assert old.faults()
    old.write(tmp_path)
    assert PruneSettings.read(tmp_path) == old
    assert old.field_faults() == []


def test_training_warming_up_and_polishing_differ_in_length_and_rate_only(given: dict[str, Any]) -> None:
    found = PruneSettings.resolve({**given, "learning_rate": 1e-3, "weight_decay": 0.5, "max_grad_norm": 0.25})
    training = found.training()
    assert (training.epochs, training.learning_rate, training.weight_decay, training.max_grad_norm) == (8.0, 1e-3, 0.5, 0.25)
    assert found.warming_up() == replace(training, epochs=1.0, learning_rate=5e-5)
    assert replace(found, polish_learning_rate=3e-4).polishing() == replace(training, epochs=4.0, learning_rate=3e-4)
    assert found.fine_tuning() == replace(training, learning_rate=5e-5)
    assert found.trial_training() == replace(training, epochs=5.0)


def test_populations_fit_the_trials_unless_given(given: dict[str, Any]) -> None:
    """Klein et al. had 10 and 5 for their hundred trials."""
    paper = PruneSettings.resolve({**given, "preset": "klein2024", "searcher": "mo-rea"})
    assert paper.searcher_sizes("mo-rea") == {"population": 10, "sample": 5}
    own = replace(paper, population=7, sample=3)
    assert own.searcher_sizes("mo-rea") == {"population": 7, "sample": 3}


@pytest.mark.parametrize(("searcher", "sizes"), [("mo-rea", {"population": 10, "sample": 5}), ("nsga2", {"population": 10})])
def test_populations_do_not_fit_a_number_that_nobody_gave(given: dict[str, Any], searcher: str, sizes: dict[str, int]) -> None:
    """Where time ends the search, as for the preset's hundred trials; where both are given, for those."""
    timed = PruneSettings.resolve({**given, "searcher": searcher, "seconds": 60.0})
    assert timed.wanted is None
    assert timed.searcher_sizes(searcher) == sizes
    both = PruneSettings.resolve({**given, "searcher": searcher, "seconds": 60.0, "trials": 300})
    assert (both.wanted, both.searcher_sizes(searcher)["population"]) == (300, 30)


def test_the_usual_learning_rate_goes_by_the_length_of_the_run(given: dict[str, Any]) -> None:
    found = PruneSettings.resolve(given)
    assert found.with_usual_learning_rates(100).learning_rate == 1e-4
    assert found.with_usual_learning_rates(100_000).learning_rate == 5e-5
    assert replace(found, learning_rate=1.0).with_usual_learning_rates(100).learning_rate == 1.0


def test_where_masks_are_learnt_it_goes_by_the_epochs_of_masks(given: dict[str, Any]) -> None:
    """10,016 examples are 313 steps an epoch."""
    found = PruneSettings.resolve({**given, "method": "learned-masks", "mask_epochs": 7.0})
    assert found.with_usual_learning_rates(10_016).learning_rate == 1e-4
    assert replace(found, mask_epochs=8.0).with_usual_learning_rates(10_016).learning_rate == 5e-5


def test_a_long_polishing_has_a_lower_learning_rate(given: dict[str, Any]) -> None:
    """Four epochs of 7,968 examples are 996 steps, of 8,000 they are 1,000."""
    found = PruneSettings.resolve(given)
    assert found.with_usual_learning_rates(7_968).polish_learning_rate == 2e-4
    assert found.with_usual_learning_rates(8_000).polish_learning_rate == 1e-4
    assert replace(found, polish_learning_rate=1.0).with_usual_learning_rates(8_000).polish_learning_rate == 1.0
