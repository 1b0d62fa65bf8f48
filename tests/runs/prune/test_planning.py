"""`--plan-only`: memory and time of each stage, said before anything starts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from secateur.cli import app
from secateur.errors import ConfigurationError
from secateur.runs.prune.settings import PruneSettings

GIVEN = ["--text", "review", "--label", "verdict", "--max-length", "16", "--device", "cpu", "--batch-size", "16"]


@pytest.mark.slow
def test_a_plan_names_the_stages_of_the_run(model_folder: Path, data_file: Path, pruned: Path, tmp_path: Path) -> None:
    """As JSON and as a table; nothing is written. The stages are those that a run of the same settings went through."""
    from secateur.runs.folder import open_run
    from secateur.study import Journal

    arguments = ["prune", "--model", str(model_folder), "--data", str(data_file), *GIVEN, "--epochs", "8", "--no-formats"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        told = CliRunner().invoke(app, [*arguments, "--plan-only", "--json"], catch_exceptions=False)
        shown = CliRunner().invoke(app, [*arguments, "--plan-only"], catch_exceptions=False)
    assert (told.exit_code, shown.exit_code) == (0, 0)
    assert list(tmp_path.iterdir()) == []
    plan = json.loads(told.stdout)
    run = open_run(pruned)
    assert [row["stage"] for row in plan["stages"]] == [row.name for row in Journal(run.store).rows()]
    parts = ("weights", "gradients", "states", "activations")
    assert all(row["peak"] == sum(row[name] for name in parts) for row in plan["stages"])
    assert plan["peak"] == max(row["peak"] for row in plan["stages"]) < plan["memory"]
    assert plan["seconds"] == pytest.approx(sum(row["seconds"] for row in plan["stages"]))
    stages = {row["stage"]: row for row in plan["stages"]}
    parameters = run.unpruned["parameters"]
    assert stages["train"]["gradients"] == 4 * parameters
    assert stages["train"]["states"] == 8 * parameters
    assert stages["train"]["steps"] == 8 * stages["warm-up"]["steps"]
    assert stages["search"]["gradients"] == 0
    assert all(name in shown.stdout for name in stages)
    assert "Nothing was started." in shown.stdout
    run.close()


def test_where_masks_are_learnt_the_network_as_it_was_teaches(model_folder: Path, data_file: Path) -> None:
    given = [*GIVEN, "--method", "learned-masks", "--mask-epochs", "1", "--plan-only", "--json"]
    told = CliRunner().invoke(app, ["prune", "--model", str(model_folder), "--data", str(data_file), *given])
    stages = {row["stage"]: row for row in json.loads(told.stdout)["stages"]}
    assert stages["learn-masks"]["weights"] == 2 * stages["fine-tune"]["weights"]
    assert stages["learn-masks"]["gradients"] == stages["fine-tune"]["gradients"]


def test_low_rank_additions_are_for_networks_that_are_trained_by_themselves(model_folder: Path, data_file: Path) -> None:
    given: dict[str, Any] = {"model": str(model_folder), "data": str(data_file), "text": ["review"], "label": "verdict"}
    settings = PruneSettings.resolve({**given, "lora_rank": 4})
    assert (settings.training().lora_rank, settings.warming_up().lora_rank, settings.mask_training().lora_rank) == (0, 0, 0)
    trained = (settings.polishing(), settings.trial_training(), settings.fine_tuning())
    assert [training.lora_rank for training in trained] == [4, 4, 4]
    with pytest.raises(ConfigurationError, match="`lora_rank` cannot be set: no network is trained by itself"):
        PruneSettings.resolve({**given, "lora_rank": 4, "polish": False})
    assert PruneSettings.resolve({**given, "lora_rank": 4, "polish": False, "method": "one-shot"}).lora_rank == 4


@pytest.mark.slow
@pytest.mark.usefixtures("brief")
def test_slices_are_healed_by_additions_and_merged(quick_prune: Any, tmp_path: Path) -> None:
    """One shot with additions: what is exported is a plain smaller network, and scores what the run says."""
    import torch

    from secateur.checkpoints import load

    changes: dict[str, Any] = {"method": "one-shot", "lora_rank": 2, "trial_epochs": 1.0, "epochs": 2.0, "candidates": 1}
    run = quick_prune(tmp_path / "run", **changes, polish=False, measure=False, importance_examples=16, optimizer="adafactor")
    assert {t.status for t in run.trials} == {"complete"}
    member = run.front[-1]
    member.save(tmp_path / "pruned")
    network, kept = load(tmp_path / "pruned"), run.network(run.supernet, member.trial)
    assert not any("lora" in name for name in network.state_dict())
    ids = torch.randint(5, 20, (2, 6), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert torch.allclose(network.eval()(input_ids=ids).logits, kept(input_ids=ids).logits, atol=1e-5)
    run.close()
