"""A task as a value: what kind of problem it is, where its text and labels stand, and how it is scored."""

from __future__ import annotations

from dataclasses import dataclass

#: Every kind of problem: kind → (its metrics, the main one). `error` is 1 − the main metric.
KINDS: dict[str, tuple[tuple[str, ...], str]] = {
    "classification": (("accuracy", "f1"), "accuracy"),
    "regression": (("spearman", "pearson"), "spearman"),
    "multiple_choice": (("accuracy",), "accuracy"),
    "language_modelling": (("token_accuracy", "perplexity"), "token_accuracy"),
}


@dataclass(frozen=True)
class Task:
    """What a network is asked to do.

    `text` are the one or two columns it reads, `label` the column it must tell. A multiple-choice task also has `choices`, one
    column per answer: answer i is read as the pair (first text, second text + answer i).
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

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that the task reads."""
        return (*self.text, *self.choices, *((self.label,) if self.label is not None else ()))
