"""The tasks that have a name: GLUE (Wang et al. 2018), IMDB, SWAG, and texts to go on with, with columns as on the hub.

The hub's test sets of GLUE have no labels, so the validation set is the test set here, as in Klein et al. (2024); what a search
is validated on is split off the training data. MRPC and QQP are reported with accuracy and F1; the main metric is
accuracy, as elsewhere; the pruning papers plot 1 − F1 of these two. STS-B's main metric is Spearman's correlation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from secateur.errors import UnknownNameError
from secateur.tasks.task import KINDS, Task

_ENTAILMENT = ("entailment", "not_entailment")


def _task(
    name: str, text: tuple[str, ...], names: tuple[str, ...] | None, description: str, *metrics: str, **more: Any
) -> Task:
    """An entry, by default of GLUE. No names of labels: a regression. The first metric is the main one."""
    metrics = metrics or ("accuracy",)
    kind, count = ("regression", 1) if names is None else ("classification", len(names))
    found = Task(name, kind, metrics, metrics[0], text, "label", count, names, description, hub=("nyu-mll/glue", name))
    return replace(found, **more)


def _text(name: str, description: str, hub: tuple[str, str | None], **more: Any) -> Task:
    """An entry of language modelling, whose test set is its own where it has one."""
    metrics, main = KINDS["language_modelling"]
    found = Task(name, "language_modelling", metrics, main, ("text",), None, description=description, hub=hub)
    return replace(found, **{"evaluation": "test", **more})


_PAIR = ("sentence1", "sentence2")
_MRPC = (("#1 String", "sentence1"), ("#2 String", "sentence2"), ("Quality", "label"))
_MNLI = (("sentence1", "premise"), ("sentence2", "hypothesis"), ("gold_label", "label"))
_SCORE, _DUPLICATE = (("score", "label"),), (("is_duplicate", "label"),)

_ENTRIES = (
    _task("rte", _PAIR, _ENTAILMENT, "textual entailment of sentence pairs"),
    _task(
        "mrpc",
        _PAIR,
        ("not_equivalent", "equivalent"),
        "paraphrases in news sentences",
        "accuracy",
        "f1",
        aliases=_MRPC,
        papers="f1",
    ),
    _task("stsb", _PAIR, None, "similarity of sentence pairs, 0 to 5", "spearman", "pearson", aliases=_SCORE),
    _task("cola", ("sentence",), ("unacceptable", "acceptable"), "grammatical acceptability", "matthews", "accuracy"),
    _task("sst2", ("sentence",), ("negative", "positive"), "sentiment of phrases from film reviews"),
    _task("qnli", ("question", "sentence"), _ENTAILMENT, "does the sentence answer the question"),
    _task(
        "mnli",
        ("premise", "hypothesis"),
        ("entailment", "neutral", "contradiction"),
        "textual entailment over genres (the matched set)",
        evaluation="validation_matched",
        aliases=_MNLI,
    ),
    _task(
        "qqp",
        ("question1", "question2"),
        ("not_duplicate", "duplicate"),
        "duplicate questions",
        "accuracy",
        "f1",
        aliases=_DUPLICATE,
        papers="f1",
    ),
    _task("wnli", _PAIR, ("not_entailment", "entailment"), "pronoun resolution as entailment"),
    _task("imdb", ("text",), ("neg", "pos"), "sentiment of film reviews", evaluation="test", hub=("stanfordnlp/imdb", None)),
    _task(
        "swag",
        ("sent1", "sent2"),
        ("0", "1", "2", "3"),
        "which of four endings follows",
        kind="multiple_choice",
        choices=("ending0", "ending1", "ending2", "ending3"),
        hub=("allenai/swag", "regular"),
    ),
    _text(
        "wikitext2", "Wikipedia's good articles, 2 million words", ("Salesforce/wikitext", "wikitext-2-raw-v1"), running=True
    ),
    _text(
        "wikitext103",
        "Wikipedia's good articles, 103 million words",
        ("Salesforce/wikitext", "wikitext-103-raw-v1"),
        running=True,
    ),
    _text("tinystories", "short stories in a child's words", ("roneneldan/TinyStories", None), evaluation="validation"),
)

#: name → task.
TASKS: dict[str, Task] = {task.name: task for task in _ENTRIES}


def canonical_name(name: str) -> str:
    """`glue/STS-B`, `STS-B` and `sts_b` are all `stsb`."""
    return name.lower().removeprefix("glue/").replace("-", "").replace("_", "")


def named_task(name: str) -> Task | None:
    """The entry of `name` in any of its usual spellings, or None."""
    return TASKS.get(canonical_name(name))


def require_task(name: str) -> Task:
    """The entry of `name`; raises UnknownNameError with the nearest."""
    task = named_task(name)
    if task is None:
        short = name.removeprefix("glue/")
        raise UnknownNameError("task", short, TASKS, "Or give the path of a file or folder that exists.")
    return task
