"""The tasks that have a name: GLUE (Wang et al. 2018), IMDB and SWAG, with columns as on the hub.

The hub's test sets of GLUE have no labels, so the validation set is the test set here, as in Klein et al. (2024); what a search
is validated on is split off the training data. MRPC and QQP are reported with accuracy and F1; the main metric is
accuracy, because 1 − accuracy is the error that the pruning papers plot. STS-B's main metric is Spearman's correlation.
"""

from __future__ import annotations

from secateur.errors import UnknownNameError
from secateur.tasks.task import Task

_ENTAILMENT = ("entailment", "not_entailment")


def _glue(
    name: str,
    text: tuple[str, ...],
    label_names: tuple[str, ...] | None,
    description: str,
    *,
    metrics: tuple[str, ...] = ("accuracy",),
    evaluation: str = "validation",
    aliases: tuple[tuple[str, str], ...] = (),
) -> Task:
    """An entry of GLUE. No label names: a regression. The first metric is the main one."""
    return Task(
        name=name,
        kind="regression" if label_names is None else "classification",
        metrics=metrics,
        main=metrics[0],
        text=text,
        label="label",
        num_labels=1 if label_names is None else len(label_names),
        label_names=label_names,
        description=description,
        evaluation=evaluation,
        hub=("nyu-mll/glue", name),
        aliases=aliases,
    )


_ENTRIES = (
    _glue("rte", ("sentence1", "sentence2"), _ENTAILMENT, "textual entailment of sentence pairs"),
    _glue(
        "mrpc",
        ("sentence1", "sentence2"),
        ("not_equivalent", "equivalent"),
        "paraphrases in news sentences",
        metrics=("accuracy", "f1"),
        aliases=(("#1 String", "sentence1"), ("#2 String", "sentence2"), ("Quality", "label")),
    ),
    _glue(
        "stsb",
        ("sentence1", "sentence2"),
        None,
        "similarity of sentence pairs, 0 to 5",
        metrics=("spearman", "pearson"),
        aliases=(("score", "label"),),
    ),
    _glue("cola", ("sentence",), ("unacceptable", "acceptable"), "grammatical acceptability", metrics=("matthews", "accuracy")),
    _glue("sst2", ("sentence",), ("negative", "positive"), "sentiment of phrases from film reviews"),
    _glue("qnli", ("question", "sentence"), _ENTAILMENT, "does the sentence answer the question"),
    _glue(
        "mnli",
        ("premise", "hypothesis"),
        ("entailment", "neutral", "contradiction"),
        "textual entailment over genres (the matched set)",
        evaluation="validation_matched",
        aliases=(("sentence1", "premise"), ("sentence2", "hypothesis"), ("gold_label", "label")),
    ),
    _glue(
        "qqp",
        ("question1", "question2"),
        ("not_duplicate", "duplicate"),
        "duplicate questions",
        metrics=("accuracy", "f1"),
        aliases=(("is_duplicate", "label"),),
    ),
    _glue("wnli", ("sentence1", "sentence2"), ("not_entailment", "entailment"), "pronoun resolution as entailment"),
    Task(
        name="imdb",
        kind="classification",
        metrics=("accuracy",),
        main="accuracy",
        text=("text",),
        label="label",
        num_labels=2,
        label_names=("neg", "pos"),
        description="sentiment of film reviews",
        evaluation="test",
        hub=("stanfordnlp/imdb", None),
    ),
    Task(
        name="swag",
        kind="multiple_choice",
        metrics=("accuracy",),
        main="accuracy",
        text=("sent1", "sent2"),
        label="label",
        num_labels=4,
        label_names=("0", "1", "2", "3"),
        description="which of four endings follows",
        choices=("ending0", "ending1", "ending2", "ending3"),
        hub=("allenai/swag", "regular"),
    ),
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
