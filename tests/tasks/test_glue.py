from __future__ import annotations

import pytest

from secateur.errors import UnknownNameError
from secateur.tasks import KINDS, TASKS
from secateur.tasks.glue import named_task, require_task


def test_the_papers_tasks_and_the_rest_of_glue_are_there():
    assert set(TASKS) == {"rte", "mrpc", "stsb", "cola", "imdb", "sst2", "swag", "qnli", "mnli", "qqp", "wnli"}


@pytest.mark.parametrize("task", TASKS.values(), ids=str)
def test_entries_are_whole(task):
    assert task.kind in KINDS
    assert task.main == task.metrics[0]
    assert 1 <= len(task.text) <= 2
    assert task.hub is not None
    assert task.num_labels == (1 if task.kind == "regression" else len(task.label_names))
    assert len(task.columns) == len(set(task.columns)) == len(task.text) + len(task.choices) + 1


def test_metrics_are_glues():
    assert TASKS["cola"].main == "matthews"
    assert set(TASKS["stsb"].metrics) == {"pearson", "spearman"}
    assert set(TASKS["mrpc"].metrics) == set(TASKS["qqp"].metrics) == {"accuracy", "f1"}
    assert {TASKS[name].main for name in ("rte", "sst2", "qnli", "mnli", "wnli", "imdb", "swag", "mrpc")} == {"accuracy"}


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
