from __future__ import annotations

import pytest

from secateur.errors import ConfigurationError, UnknownNameError
from secateur.tasks import ERRORS, KINDS, TASKS
from secateur.tasks.glue import named_task, require_task


def test_the_papers_tasks_and_the_rest_of_glue_are_there():
    texts = {"wikitext2", "wikitext103", "tinystories"}
    assert set(TASKS) - texts == {"rte", "mrpc", "stsb", "cola", "imdb", "sst2", "swag", "qnli", "mnli", "qqp", "wnli"}
    assert {name for name, task in TASKS.items() if task.kind == "language_modelling"} == texts


@pytest.mark.parametrize("task", TASKS.values(), ids=str)
def test_entries_are_whole(task):
    assert task.kind in KINDS
    assert task.main == task.metrics[0]
    assert 1 <= len(task.text) <= 2
    assert task.hub is not None
    labels = {"regression": 1, "language_modelling": None}
    assert task.num_labels == labels.get(task.kind, len(task.label_names or ()))
    labelled = task.kind != "language_modelling"
    assert len(task.columns) == len(set(task.columns)) == len(task.text) + len(task.choices) + labelled


def test_metrics_are_glues():
    assert TASKS["cola"].main == "matthews"
    assert set(TASKS["stsb"].metrics) == {"pearson", "spearman"}
    assert set(TASKS["mrpc"].metrics) == set(TASKS["qqp"].metrics) == {"accuracy", "f1"}
    assert {TASKS[name].main for name in ("rte", "sst2", "qnli", "mnli", "wnli", "imdb", "swag", "mrpc")} == {"accuracy"}


def test_what_the_papers_report():
    """F1 for MRPC and QQP, for the others their main metric."""
    found = {name: task.scored_by("papers").main for name, task in TASKS.items()}
    assert found == {name: task.main for name, task in TASKS.items()} | {"mrpc": "f1", "qqp": "f1"}


@pytest.mark.parametrize("task", TASKS.values(), ids=str)
def test_any_metric_of_the_kind_can_be_the_main_one(task):
    for metric in ERRORS[task.kind]:
        found = task.scored_by(metric)
        assert found.main == found.metrics[0] == metric
        assert set(found.metrics) == {metric, *task.metrics}
    assert task.scored_by(None) is task.scored_by(task.main) is task


@pytest.mark.parametrize(
    ("task", "metric", "said"),
    [
        ("stsb", "f1", "`metric` must be spearman or pearson for regression, got `f1`."),
        ("rte", "pearson", "`metric` must be accuracy or f1 or matthews for classification, got `pearson`."),
        ("swag", "f1", "`metric` must be accuracy for multiple_choice, got `f1`."),
    ],
)
def test_a_metric_that_the_kind_does_not_have(task: str, metric: str, said: str):
    with pytest.raises(ConfigurationError) as caught:
        TASKS[task].scored_by(metric)
    assert str(caught.value) == said


def test_evaluation_splits():
    assert TASKS["mnli"].evaluation == "validation_matched"
    assert TASKS["imdb"].evaluation == "test"
    assert TASKS["rte"].evaluation == "validation"


@pytest.mark.parametrize("spelling", ["stsb", "STS-B", "glue/stsb", "glue/STS-B", "sts_b"])
def test_usual_spellings(spelling: str):
    assert named_task(spelling) is TASKS["stsb"]


def test_an_unknown_task_gets_the_nearest_name():
    with pytest.raises(UnknownNameError, match=r"unknown task `mrcp`\. Did you mean `mrpc`\?"):
        require_task("glue/mrcp")
