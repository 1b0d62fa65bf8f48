"""A ViT pruned on images, from the first check to the exported folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import secateur
from secateur.cli import app
from secateur.errors import ConfigurationError, SecateurError, Stopped
from secateur.estimators.shared_weights import score
from secateur.runs.prune.run import PruneRun
from secateur.runs.prune.settings import PruneSettings
from secateur.testing.models import toy_model
from secateur.training.trainer import SupernetTrainer
from secateur.verbs.resume import resume

pytestmark = pytest.mark.usefixtures("brief")


@pytest.fixture(scope="module")
def vit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ViT of 3 layers, 16 wide, for images of 8 × 8 pixels in colour."""
    folder = tmp_path_factory.mktemp("vit") / "tiny-vit"
    toy_model("vit").save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def digits(vit: Path) -> dict[str, Any]:
    """What `quick_prune` is given for it, and the digits."""
    texts = {"text": None, "label": None, "max_length": 128, "latency_length": 128}
    limits = {"max_train": 160, "max_validation": 48, "max_test": 48}
    return {"model": str(vit), "data": "digits", "epochs": 2.0, "order_epochs": 1.0, **texts, **limits}


@pytest.fixture(scope="module")
def run(quick_prune: Any, digits: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    return quick_prune(tmp_path_factory.mktemp("runs") / "run", **digits)


def batch_of(run: Any) -> dict[str, torch.Tensor]:
    data = run.configuration.task_data(run.tokenizer)
    found = next(data.batches("validation", 64))
    return {"pixel_values": found["pixel_values"]}


def test_a_run_on_images(run: Any) -> None:
    assert (run.task["kind"], run.metric, run.task["name"]) == ("image_classification", "accuracy", "digits")
    assert run.supernet.model.config.id2label == {i: str(i) for i in range(10)}
    assert {t.status for t in run.trials} == {"complete"}
    assert run.polished
    assert set(run.measured["unpruned"]) == {"latency", "memory"}
    assert run.measured_on.endswith("1 thread, batch 1")
    assert run.unpruned["macs"] == run.supernet.macs(run.supernet.whole, 1, 5)
    assert 0 < run.unpruned_test["accuracy"] <= 1
    assert (run.folder / "report.html").is_file()
    data = run.configuration.task_data(run.tokenizer)
    assert data.fingerprint == run.store.get_meta("data"), "the kept processor prepares images as the first did"


def test_what_is_exported_is_what_was_scored(run: Any, tmp_path: Path) -> None:
    """Plain where the family's configuration can express it, else with its own code; either with how images are prepared."""
    from transformers import AutoModelForImageClassification, ViTImageProcessor

    data, batch = run.configuration.task_data(run.tokenizer), batch_of(run)
    plain = next(m for m in run.front.pool if m.architecture.space == "small" and m.plan.layers and 0 not in sizes(m))
    forms = {}
    for name, member in (("plain", plain), ("carried", next(m for m in run.front.pool if not m.plan.layers))):
        forms[name] = member.save(tmp_path / name).form
        assert (tmp_path / name / "preprocessor_config.json").is_file()
        loaded = AutoModelForImageClassification.from_pretrained(tmp_path / name, trust_remote_code=name == "carried").eval()
        ours = secateur.load(tmp_path / name)
        with torch.no_grad():
            torch.testing.assert_close(loaded(**batch).logits, ours(**batch).logits, rtol=1e-5, atol=1e-5)
        assert score(loaded, data.task, data.batches("validation", 64))["error"] == pytest.approx(member.values["error"])
    assert forms == {"plain": "plain", "carried": "carried"}
    processor = ViTImageProcessor.from_pretrained(tmp_path / "plain")
    picture = np.arange(64, dtype=np.uint8).reshape(8, 8, 1).repeat(3, axis=2)
    made = processor(picture, return_tensors="pt")["pixel_values"]
    torch.testing.assert_close(made, run.tokenizer(picture.transpose(2, 0, 1)[None]), rtol=1e-5, atol=1e-5)
    card = (tmp_path / "plain" / "README.md").read_text(encoding="utf-8")
    assert "processor = AutoImageProcessor.from_pretrained" in card
    assert "multiply-accumulates (one image)" in card
    assert "token" not in card


def sizes(member: Any) -> set[int]:
    return {count for layer in member.plan.layers for count in (layer.heads.count, layer.units.count)}


def test_the_verbs_take_it(run: Any, tmp_path: Path) -> None:
    for arguments in (
        ["front", str(run.folder)],
        ["report", str(run.folder)],
        ["export", str(run.folder), "--under", "body_parameters=90%", "--to", str(tmp_path / "out")],
        ["measure", str(tmp_path / "out"), "--seconds", "0.05"],
        ["resume", str(run.folder)],
    ):
        found = CliRunner().invoke(app, arguments)
        assert found.exit_code == 0, found.output


@pytest.mark.slow
def test_onnx_reads_images(run: Any, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    exported = run.front[-1].save(tmp_path / "out", onnx=True, int8=True, int4=True)
    assert exported.differences["onnx"] < 1e-4
    assert exported.forms is not None
    scores = {form.name: form.score for form in exported.forms.forms}
    assert scores["onnx"] == scores["torch"] == pytest.approx(1 - run.front[-1].values["error"])


def test_stopped_and_resumed_it_ends_the_same(
    run: Any, quick_prune: Any, digits: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, steps = SupernetTrainer.training_step, []

    def stopping(self: Any, *given: Any, **options: Any) -> Any:
        steps.append(1)
        if len(steps) == 14:
            raise KeyboardInterrupt
        return real(self, *given, **options)

    with monkeypatch.context() as patch:
        patch.setattr(SupernetTrainer, "training_step", stopping)
        with pytest.raises(Stopped):
            quick_prune(tmp_path / "run", **digits)
    again = resume(tmp_path / "run", progress=False)
    assert outcome(again) == outcome(run)
    again.close()


def outcome(run: PruneRun) -> Any:
    return [(t.id, t.origin, t.key, dict(t.values)) for t in run.trials], run.unpruned, run.tests


METHODS: dict[str, dict[str, Any]] = {
    "standard": {"trials": 3, "trial_epochs": 0.5},
    "one-shot": {"candidates": 2},
    "layer-drop": {"trial_epochs": 0.5},
    "fisher": {},
    "head-pruning": {},
    "learned-masks": {"mask_epochs": 1.0},
    "block-zoo": {"trials": 3, "zoo_batches": 2},
}


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_every_method(quick_prune: Any, digits: dict[str, Any], tmp_path: Path, method: str) -> None:
    given = {name: value for name, value in digits.items() if name != "order_epochs"}
    given |= {"polish": False, "measure": False, "epochs": 1.0, "method": method}
    run = quick_prune(tmp_path / "run", **given, **METHODS[method])
    assert {t.status for t in run.trials} == {"complete"}
    assert len(run.front) >= 1
    member = run.front[-1]
    member.save(tmp_path / "out")
    batch = batch_of(run)
    with torch.no_grad():
        torch.testing.assert_close(
            secateur.load(tmp_path / "out")(**batch).logits, run.network(run.supernet, member.trial)(**batch).logits
        )
    run.close()


def test_minitron_says_why_it_cannot(quick_prune: Any, digits: dict[str, Any], tmp_path: Path) -> None:
    given = {name: value for name, value in digits.items() if name not in ("epochs", "order_epochs")}
    with pytest.raises(ConfigurationError, match="prunes language models as they are, and the task is image_classification"):
        quick_prune(tmp_path / "run", **given, method="minitron")


def test_latency_as_an_objective(quick_prune: Any, digits: dict[str, Any], tmp_path: Path) -> None:
    """Latencies are fitted on images."""
    given = {"objectives": ["error", "latency"], "fit_seconds": 0.5, "polish": False, "trials": 3}
    run = quick_prune(tmp_path / "run", **digits, **given)
    assert all(t.values["latency"] > 0 for t in run.trials)
    run.close()


def test_a_plan_of_it(digits: dict[str, Any]) -> None:
    from secateur.runs.prune.planning import plan_of_run

    plan = plan_of_run(PruneSettings.resolve({**digits, "device": "cpu"}))
    assert plan.peak > 0
    assert plan.seconds > 0


FOLDER = "folder of images"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"text": ["review"]}, "`text` cannot be set: it is for texts, and these are images"),
        ({"max_length": 64, "variants": 2}, "`max_length` cannot be set: it is for texts"),
        ({"kind": "classification"}, "reads images, and classification here is a task on texts"),
        ({"kind": "image_clasification"}, "Did you mean `image_classification`"),
        ({"metric": "f1"}, "`metric` must be accuracy for image_classification, got `f1`"),
        ({"data": "reviews"}, "is no data set of images: give a folder with a sub-folder per class, or an .npz file"),
        ({"data": "glue/rte"}, "unknown data set of images `glue/rte`"),
        ({"data": "nowhere.npz"}, "`nowhere.npz` does not exist"),
        ({"model": "bert"}, "`digits` is a data set of images: it needs a model and a kind of task that read images"),
        ({"model": "bert", "data": FOLDER}, "is a data set of images: it needs a model and a kind"),
        ({"model": "bert", "kind": "image_classification"}, "reads texts, and image classification needs a model that reads"),
    ],
)
def test_what_does_not_fit_is_told_before_anything_starts(
    digits: dict[str, Any],
    model_folder: Path,
    data_file: Path,
    tmp_path: Path,
    changes: dict[str, Any],
    said: str,
) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "a.png").touch()
    places = {"bert": str(model_folder), "reviews": str(data_file), FOLDER: str(tmp_path)}
    given = {**digits, **{name: places.get(str(value), value) for name, value in changes.items()}}
    with pytest.raises(SecateurError) as error:
        PruneSettings.resolve(given)
    assert said in str(error.value)


def test_of_a_model_on_the_hub_the_data_tell(digits: dict[str, Any]) -> None:
    """Whether it reads images is not known before it is loaded."""
    found = PruneSettings.resolve({**digits, "model": "google/vit-base-patch16-224"})
    assert found.on_images()
    assert not PruneSettings.resolve({**digits, "model": "bert-base-cased", "data": "rte", "kind": None}).on_images()
