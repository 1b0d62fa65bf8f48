"""A task as a value: what kind of problem it is, where its text and labels stand, and how it is scored."""

from __future__ import annotations

from dataclasses import dataclass, replace

from secateur.errors import ConfigurationError
from secateur.objectives import ERROR, PERPLEXITY

#: The kind whose examples are images.
IMAGES = "image_classification"
#: Every kind of problem: kind → (its metrics, the main one). `error` is 1 − the main metric.
KINDS: dict[str, tuple[tuple[str, ...], str]] = {
    "classification": (("accuracy", "f1"), "accuracy"),
    "regression": (("spearman", "pearson"), "spearman"),
    "multiple_choice": (("accuracy",), "accuracy"),
    "language_modelling": (("token_accuracy", "perplexity"), "token_accuracy"),
    IMAGES: (("accuracy",), "accuracy"),
}
#: The kinds whose examples are texts.
TEXT_KINDS = tuple(kind for kind in KINDS if kind != IMAGES)
#: What an error can be 1 minus of, per kind; and the name that stands for what the pruning papers report.
ERRORS: dict[str, tuple[str, ...]] = {
    "classification": ("accuracy", "f1", "matthews"),
    "regression": ("spearman", "pearson"),
    "multiple_choice": ("accuracy",),
    "language_modelling": ("token_accuracy",),
    IMAGES: ("accuracy",),
}
PAPERS = "papers"


def check_metric(metric: str | None, kind: str) -> None:
    """Raises ConfigurationError where an error cannot be 1 minus this metric in this kind of task."""
    if metric not in (None, PAPERS, *ERRORS[kind]):
        raise ConfigurationError(f"`metric` must be {' or '.join(ERRORS[kind])} for {kind}, got `{metric}`.")


@dataclass(frozen=True)
class Task:
    """What a network is asked to do.

    `text` are the one or two columns it reads, `label` the column it must tell. A multiple-choice task also has `choices`, one
    column per answer: answer i is read as the pair (first text, second text + answer i). Of images there are no columns.
    """

    name: str
    kind: str
    metrics: tuple[str, ...]
    main: str
    text: tuple[str, ...]
    label: str | None
    num_labels: int | None = None
    label_names: tuple[str, ...] | None = None
    description: str = ""
    choices: tuple[str, ...] = ()
    #: The split of the hub's data set that is the test set here.
    evaluation: str = "validation"
    #: The data set's name on the hub, and its configuration there.
    hub: tuple[str, str | None] | None = None
    #: Column names of other distributions of the same data: (theirs, ours).
    aliases: tuple[tuple[str, str], ...] = ()
    #: What the pruning papers report where it is not the main metric.
    papers: str | None = None
    #: Whether its rows are the lines of one running text, and no documents: of language modelling.
    running: bool = False
    #: Its own metrics, the main one first, where another was chosen to be the main one.
    own: tuple[str, ...] = ()

    @property
    def qualities(self) -> tuple[str, ...]:
        """The quantities that say how good a network is at it: what estimators yield."""
        return (ERROR, PERPLEXITY) if self.kind == "language_modelling" else (ERROR,)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that the task reads."""
        return (*self.text, *self.choices, *((self.label,) if self.label is not None else ()))

    def scored_by(self, metric: str | None) -> Task:
        """The task with this metric for its main one; `papers`: with what the papers report; None: as it is.

        Raises ConfigurationError where this kind of task has no such metric.
        """
        chosen = self.papers or self.main if metric == PAPERS else metric or self.main
        check_metric(chosen, self.kind)
        if chosen == self.main:
            return self
        return replace(self, main=chosen, metrics=tuple(dict.fromkeys((chosen, *self.metrics))), own=self.metrics)
