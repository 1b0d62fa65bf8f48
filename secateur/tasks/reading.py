"""From what the user names to tokenised splits: the way into this package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.errors import DataError
from secateur.tasks.columns import Columns, check_kind, choice_names, find_columns, read_texts, text_columns
from secateur.tasks.examples import SPLITS, Examples, TaskData, prepare_tokenizer, tokenise
from secateur.tasks.files import read_text
from secateur.tasks.labels import Labels, check_labels, infer_kind, label_strings, refuse_constant
from secateur.tasks.language_modelling import blocks, cut, documents
from secateur.tasks.sources import Source, read, refuse_labels, resolve
from secateur.tasks.splits import check_shares, divide, sample
from secateur.tasks.task import KINDS, Task

if TYPE_CHECKING:
    import pandas as pd


def load_task(
    data: str | Path,
    tokenizer: Any,
    *,
    text: str | Sequence[str] | None = None,
    label: str | None = None,
    kind: str | None = None,
    metric: str | None = None,
    seed: int = 0,
    max_length: int = 128,
    validation_share: float = 0.3,
    test_share: float = 0.2,
    max_train: int | None = None,
    max_validation: int | None = None,
    max_test: int | None = None,
    separator: str | None = None,
) -> TaskData:
    """The data of a task, split and tokenised. The same arguments give the same splits.

    `data` is a file, a folder of train, dev and test files, or the name of a task (`rte`, `glue/rte`). A folder that bears the
    name of a task is read as that task. What becomes what:

    - a named task: the evaluation set (dev) is the test set, as in the papers; the rest is split into train and validation;
    - own data with a labelled test file: that is the test set; a dev file, where there is one, is the validation set;
    - own data with a dev file only: that is the test set, as above;
    - neither: `test_share` of the rows is held out first, then `validation_share` of what is left.

    `metric` is what `error` is 1 minus of, where it is not to be the task's own main metric. `separator` is what stands between
    documents in language modelling (`language_modelling.SEPARATORS`): rows of a table, files, and what `<|endoftext|>` ends.

    All splits are seeded and stratified by class; `max_train` and its like sample after the split. Plain text is cut in order,
    its end held out. A tokenizer without a padding token gets its end-of-text token for one.

    Raises DataError, UnknownNameError or ConfigurationError where something is wrong with what was given.
    """
    limits = {"train": max_train, "validation": max_validation, "test": max_test}
    faults = [] if max_length >= 2 else [f"`max_length` must be at least 2 tokens, got {max_length}."]
    check_shares(validation_share, test_share, limits, faults)
    check_kind(kind)
    chosen_text = text_columns(text)
    source = resolve(data)
    prepare_tokenizer(tokenizer)
    if source.language(kind):
        ends = (validation_share, test_share)
        found = _load_language(source, tokenizer, chosen_text, kind, seed, max_length, ends, limits, separator)
        return replace(found, task=found.task.scored_by(metric))

    tables = read(source)
    task, labels, spelt = _describe(source, tables, chosen_text, label, kind)
    task = task.scored_by(metric)
    roles = _assign(source, tables, spelt, task)
    columns = Columns(task.text, task.label, task.choices)
    read_rows: dict[str, tuple[dict[str, list[str]], np.ndarray]] = {}
    for split in dict.fromkeys(roles.values()):
        where = source.path(split)
        read_rows[split] = read_texts(tables[split], columns, where), labels.encode(spelt[split], where)
        refuse_constant(spelt[split], labels.column, where)
    targets = read_rows["train"][1]
    classes = targets if task.kind == "classification" else None
    shares = {"test": test_share, "validation": validation_share}
    train_rows = divide(roles, len(targets), classes, seed, shares, source.path("train"))

    examples: dict[str, Examples] = {}
    for role in SPLITS:
        split = roles.get(role, "train")
        texts, targets = read_rows[split]
        rows = train_rows[role] if split == "train" else np.arange(len(targets))
        rows = sample(rows, targets if task.kind == "classification" else None, limits[role], seed, role)
        examples[role] = tokenise(
            tokenizer, task, {c: [t[r] for r in rows] for c, t in texts.items()}, targets[rows].tolist(), max_length
        )
    return TaskData(
        task, **examples, tokenizer=tokenizer, max_length=max_length, num_labels=task.num_labels, label_names=task.label_names
    )


def _describe(
    source: Source, tables: dict[str, pd.DataFrame], text: tuple[str, ...] | None, label: str | None, kind: str | None
) -> tuple[Task, Labels, dict[str, list[str | None]]]:
    """The task as the training data show it, how its labels are read, and the labels of each split as strings."""
    where, entry = source.path("train"), source.entry
    if entry is not None and kind is not None and kind != entry.kind:
        entry = replace(
            entry, kind=kind, metrics=KINDS[kind][0], main=KINDS[kind][1], papers=None, num_labels=None, label_names=None
        )
    kind = entry.kind if entry is not None else kind
    columns = find_columns(tables["train"], where, text=text, label=label, kind=kind, entry=entry)
    assert columns.label is not None
    # The hub marks the rows of hidden test sets with −1; in own data it may be a class.
    mark = "-1" if entry is not None and entry.kind != "regression" else None
    for split, table in tables.items():
        if columns.label in table.columns:
            check_labels(table[columns.label], columns.label, source.path(split))
    spelt: dict[str, list[str | None]] = {
        split: label_strings(table[columns.label], unlabelled=mark) if columns.label in table.columns else [None] * len(table)
        for split, table in tables.items()
    }
    kind = kind or infer_kind(spelt["train"])
    names = entry.label_names if entry is not None else None
    if kind == "multiple_choice":
        names = names or choice_names(columns.choices)
    labels = Labels.numbers(columns.label) if kind == "regression" else Labels.fit(spelt["train"], columns.label, where, names)
    metrics, main = KINDS[kind] if entry is None else (entry.metrics, entry.main)
    task = Task(source.name, kind, metrics, main, columns.text, columns.label) if entry is None else entry
    task = replace(
        task,
        text=columns.text,
        label=columns.label,
        choices=columns.choices,
        num_labels=1 if labels.names is None else len(labels.names),
        label_names=labels.names,
    )
    return task, labels, spelt


def _assign(source: Source, tables: dict[str, pd.DataFrame], spelt: dict[str, list[str | None]], task: Task) -> dict[str, str]:
    """Which given split serves as train, validation and test; a role that none serves is split off the training data."""
    labelled = {split for split in tables if any(label is not None for label in spelt[split])}
    if source.entry is not None and "validation" in labelled:
        return {"train": "train", "test": "validation"}
    if "test" in labelled:
        return {"train": "train", "test": "test"} | ({"validation": "validation"} if "validation" in labelled else {})
    if "validation" in labelled:
        return {"train": "train", "test": "validation"}
    if len(tables) > 1:
        split = "test" if "test" in tables else "validation"
        raise DataError(
            f"`{source.path(split)}` has no labels in the column `{task.label}`, so nothing can be scored on it. "
            "Add labels, or remove the file: part of the training data is then held out instead."
        )
    return {"train": "train"}


def _load_language(
    source: Source,
    tokenizer: Any,
    text: tuple[str, ...] | None,
    kind: str | None,
    seed: int,
    max_length: int,
    shares: tuple[float, float],
    limits: dict[str, int | None],
    separator: str | None,
) -> TaskData:
    """Language modelling on plain text, or on the text columns of tables, where a row is a document."""
    refuse_labels(source, kind)
    given: dict[str, Examples] = {}
    if source.plain_text:
        for split, paths in (source.files or {}).items():
            texts = [document for path in paths for document in documents(read_text(path))]
            given[split] = blocks(texts, tokenizer, max_length, source.path(split), separator)
        columns = Columns(("text",), None)
    else:
        tables = read(source)
        columns = find_columns(tables["train"], source.path("train"), text=text, kind="language_modelling", entry=source.entry)
        for split, table in tables.items():
            if source.entry is not None and source.entry.running:
                texts = ["".join(line for line in table[columns.text[0]] if isinstance(line, str))]
            else:
                several = read_texts(table, columns, source.path(split)).values()
                texts = [" ".join(row) for row in zip(*several, strict=True)]
            given[split] = blocks(texts, tokenizer, max_length, source.path(split), separator)
    train, validation = given["train"], given.get("validation") if "test" in given else None
    test = given.get("test") or given.get("validation")
    if test is None:
        train, test = cut(train, shares[1], source.path("train"))
    if validation is None:
        train, validation = cut(train, shares[0], source.path("train"))
    parts = {"train": train, "validation": validation, "test": test}
    for role, examples in parts.items():
        rows = sample(np.arange(len(examples)), None, limits[role], seed, role)
        if len(rows) < len(examples):
            parts[role] = examples.chosen(rows)
    metrics, main = KINDS["language_modelling"]
    task = Task(source.name, "language_modelling", metrics, main, columns.text, None, description="tell the next token")
    return TaskData(task, parts["train"], parts["validation"], parts["test"], tokenizer, max_length)
