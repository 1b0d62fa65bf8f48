"""Examples as a network reads them, and the data of a task: its splits, their batches and their fingerprint."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.architecture import digest
from secateur.errors import ModelError
from secateur.tasks.task import IMAGES, Task
from secateur.tasks.tokenizer_state import unchanged

if TYPE_CHECKING:
    import torch

SPLITS = ("train", "validation", "test")


class Examples(Sequence[dict[str, Any]]):
    """A list of examples, each a dict of Python lists: input_ids, attention_mask, labels, and for some token_type_ids.

    A torch data loader and transformers' Trainer take it as a data set. Multiple choice has one list per answer in each field.
    Of images there are labels and `pixel_values`, an array (channels, height, width) each, and their `lengths` are given.
    """

    def __init__(self, columns: Mapping[str, Sequence[Any]], lengths: Sequence[int] | None = None) -> None:
        self.columns = {name: list(values) for name, values in columns.items()}
        #: Tokens of each example; of its longest answer in multiple choice. Of an image, the states that layers compute.
        self.lengths: list[int] = _lengths(self.columns["input_ids"]) if lengths is None else list(lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: Any) -> Any:
        """The example at `index`, or for a slice the Examples in it."""
        if isinstance(index, slice):
            return self.chosen(range(len(self))[index])
        return {name: values[index] for name, values in self.columns.items()}

    def chosen(self, rows: Iterable[int]) -> Examples:
        """The examples of these rows, in this order."""
        places = list(rows)
        columns = {name: [values[row] for row in places] for name, values in self.columns.items()}
        return Examples(columns, [self.lengths[row] for row in places])

    @property
    def labels(self) -> list[Any]:
        return self.columns["labels"]

    @property
    def fingerprint(self) -> str:
        """A digest of all that is in them."""
        parts: list[bytes] = []
        for name in sorted(self.columns):
            values = self.columns[name]
            if values and isinstance(values[0], np.ndarray):
                parts.append(f"{name} {values[0].dtype} {values[0].shape}".encode())
                parts += [digest(value.tobytes()).encode() for value in values]  # all bytes at once would be a second copy
                continue
            flat, shape = _flat(values)
            parts += [name.encode(), flat.tobytes(), shape.tobytes()]
        return digest(*parts)


def _lengths(ids: list[list[Any]]) -> list[int]:
    return [max(map(len, e)) if e and isinstance(e[0], list) else len(e) for e in ids]


def _flat(values: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Nested lists as one array of values and one of lengths: what tells them apart, fast to hash."""
    lengths: list[int] = []
    while values and isinstance(values[0], list):
        lengths += [len(value) for value in values]
        values = [item for value in values for item in value]
    return np.asarray(values, dtype=np.float64), np.asarray(lengths, dtype=np.int64)


@dataclass
class TaskData:
    """A task with its train, validation and test sets, tokenised or images. The test set is for the report only."""

    task: Task
    train: Examples
    validation: Examples
    test: Examples
    #: What is saved with a network so that its inputs can be made again: the tokenizer; of images the `ImageProcessor`.
    tokenizer: Any
    max_length: int
    #: Classes, or answers in multiple choice; 1 for a regression; None for language modelling.
    num_labels: int | None = None
    label_names: tuple[str, ...] | None = None
    fingerprint: str = field(init=False)

    def __post_init__(self) -> None:
        # The splits' content stands for the seed, the shares and the tokenizer: whatever does not change it does not matter.
        # Which of its metrics was chosen does not either.
        metrics, main = (self.task.own, self.task.own[0]) if self.task.own else (self.task.metrics, self.task.main)
        settings = f"{self.task.name} {self.task.kind} {metrics} {main} {self.label_names} {self.max_length}"
        if self.task.kind == IMAGES:  # normalised when they are read
            settings += f" {self.tokenizer}"
        self.fingerprint = digest(settings, *(self.split(name).fingerprint for name in SPLITS))

    def split(self, name: str) -> Examples:
        if name not in SPLITS:
            raise ValueError(f"`split` must be one of {', '.join(SPLITS)}, got `{name}`.")
        examples: Examples = getattr(self, name)
        return examples

    def collate(self, features: Sequence[Mapping[str, Any]]) -> dict[str, torch.Tensor]:
        """One batch, padded at the right to its longest example: (B, T) tensors, (B, C, T) in multiple choice, and `labels`.
        Of images, `pixel_values` (B, channels, height, width).

        Labels are (B,) of long, or of float32 for a regression; (B, T) in language modelling, −100 where padded.
        """
        import torch

        kind, size = self.task.kind, len(features)
        if kind == IMAGES:
            pixels = self.tokenizer(np.stack([feature["pixel_values"] for feature in features]))
            return {"pixel_values": pixels, "labels": torch.tensor([feature["labels"] for feature in features])}
        inputs = [{name: value for name, value in feature.items() if name != "labels"} for feature in features]
        if kind == "multiple_choice":
            answers = len(inputs[0]["input_ids"])
            inputs = [{name: value[i] for name, value in row.items()} for row in inputs for i in range(answers)]
        batch: dict[str, torch.Tensor] = dict(pad(self.tokenizer, inputs))
        if kind == "multiple_choice":
            batch = {name: value.view(size, -1, value.shape[-1]) for name, value in batch.items()}
        if kind == "language_modelling":
            batch["labels"] = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        else:
            dtype = torch.float32 if kind == "regression" else torch.long
            batch["labels"] = torch.tensor([feature["labels"] for feature in features], dtype=dtype)
        return batch

    def batches(self, split: str | Examples, batch_size: int) -> Iterator[dict[str, torch.Tensor]]:
        """Every example once, in batches of like length, longest first: little padding, and memory fails at once or never."""
        examples = self.split(split) if isinstance(split, str) else split
        order = np.argsort(-np.asarray(examples.lengths), kind="stable")
        for start in range(0, len(order), batch_size):
            yield self.collate([examples[index] for index in order[start : start + batch_size]])


def pad(tokenizer: Any, inputs: list[dict[str, Any]]) -> Mapping[str, torch.Tensor]:
    """The inputs as tensors, padded to the longest, at the right whatever the tokenizer's side.

    Padding at the left would shift a text's positions by the length of its neighbours, and give its first token, which nothing
    tells, a score in language modelling.
    """
    # Fast tokenizers warn that padding as one tokenises is faster, which would fix one length for all batches.
    warned = getattr(tokenizer, "deprecation_warnings", None)
    if warned is not None:
        warned["Asking-to-pad-a-fast-tokenizer"] = True
    padded: Mapping[str, torch.Tensor] = tokenizer.pad(inputs, padding_side="right", return_tensors="pt")
    return padded


def prepare_tokenizer(tokenizer: Any) -> None:
    """Give a tokenizer without a padding token (GPT-2's) its end-of-text token for one. Padding is masked anyway."""
    if tokenizer.pad_token is None:
        if tokenizer.eos_token is None:
            raise ModelError("the tokenizer has neither a padding token nor an end-of-text token. Set `tokenizer.pad_token`.")
        tokenizer.pad_token = tokenizer.eos_token


def tokenise(
    tokenizer: Any, task: Task, texts: Mapping[str, Sequence[str]], labels: Sequence[Any], max_length: int
) -> Examples:
    """Examples of `texts` (column → n texts) and n `labels`, each cut at `max_length` tokens or the tokenizer's own limit."""
    limit = min(max_length, tokenizer.model_max_length)

    def encode(one: list[str], other: list[str] | None) -> dict[str, list[Any]]:
        with unchanged(tokenizer):
            encoded = tokenizer(one, other, truncation=True, max_length=limit)
        columns = {name: encoded[name] for name in encoded}
        for row, ids in enumerate(columns["input_ids"]):
            if not ids:  # a blank text, and a tokenizer that frames nothing: a network needs one token
                for name, values in columns.items():
                    values[row] = [{"input_ids": tokenizer.pad_token_id, "attention_mask": 1}.get(name, 0)]
        return columns

    first = list(texts[task.text[0]])
    second = list(texts[task.text[1]]) if len(task.text) > 1 else None
    if task.kind != "multiple_choice":
        return Examples({**encode(first, second), "labels": labels})
    per_answer = []
    for column in task.choices:
        answers = texts[column]
        ends = [f"{s} {a}" for s, a in zip(second, answers, strict=True)] if second is not None else list(answers)
        per_answer.append(encode(first, ends))
    names = list(per_answer[0])
    columns = {name: [list(row) for row in zip(*(e[name] for e in per_answer), strict=True)] for name in names}
    return Examples({**columns, "labels": labels})
