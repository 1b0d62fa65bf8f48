"""The forms of an exported sub-network, scored on the run's own validation data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import secateur
from secateur.errors import ConfigurationError
from secateur.export import Exported
from secateur.runs.progress import Progress
from secateur.runs.prune.forms import judging
from secateur.runs.prune.run import PruneRun
from secateur.verbs.export import export

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("brief")]


@pytest.fixture(scope="module")
def run(pruned: Path) -> PruneRun:
    return PruneRun(pruned)


@pytest.fixture(scope="module")
def exported(run: PruneRun, brief: None, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    return export(run.folder, key=run.front[-1].key, to=tmp_path_factory.mktemp("forms") / "out", int8=True, polished=False)


def test_every_form_is_scored_on_the_runs_validation_data(run: PruneRun, exported: Exported) -> None:
    assert exported.forms is not None
    torch, onnx, int8 = exported.forms.forms
    assert exported.forms.metric == "accuracy"
    assert torch.score == pytest.approx(1 - run.front[-1].values["error"])
    assert onnx.score == torch.score
    assert int8.score is not None
    assert int8.score == pytest.approx(torch.score, abs=0.2)
    assert exported.forms.timed == "batch 1 × 16 on the CPU, 1 thread"
    for form, file in ((torch, "model.safetensors"), (onnx, "model.onnx"), (int8, "model.int8.onnx")):
        assert form.bytes == (exported.folder / file).stat().st_size
        assert form.latency is not None
    assert str(torch) in str(exported)
    assert exported.forms.table() in (exported.folder / "README.md").read_text(encoding="utf-8")


def test_data_that_are_gone_or_changed_are_said(
    run: PruneRun, exported: Exported, data_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = secateur.load(exported.folder)
    run.tokenizer.backend_tokenizer.no_truncation()
    other = tmp_path / "reviews.csv"
    for rows, said in ((None, "does not exist"), (60, "has changed since the run began")):
        if rows is not None:
            other.write_text("\n".join(data_file.read_text().splitlines()[:rows]))
        monkeypatch.setattr(run, "configuration", replace(run.configuration, data=str(other)))
        forms = judging(run, Progress(False))(network, exported.folder)
        assert said in forms.unscored
        assert f"Not scored on the validation data: {forms.unscored}." in str(forms).splitlines()
        assert all(form.score is None and form.latency for form in forms.forms)
    # Reading data cuts texts: the tokenizer, which may be saved later, stays as it was.
    assert run.tokenizer.backend_tokenizer.truncation is None


def test_a_run_knows_its_data(run: PruneRun, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="--text is only for folders that `secateur train` made"):
        export(run.folder, key=run.front[-1].key, to=tmp_path / "out", text=tmp_path)
