"""The written forms of a trained network, judged: perplexity on the validation text, and the time of one window."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateur.anatomy.inputs import longest_text
from secateur.architecture import digest
from secateur.devices.setup import Setup
from secateur.errors import DataError, StudyError
from secateur.export.scored import Forms, Judge
from secateur.runs.progress import Progress

if TYPE_CHECKING:
    from secateur.tasks.text import Text, Tokens

#: The learning curve of a trained folder, and how it was trained.
CURVE = "curve.json"
#: Windows that are scored at once.
_ROWS = 16


def text_digest(text: Text) -> str:
    """What tells one text from another."""
    return digest(text.train, text.validation, text.test or "")


def judging(tokens: Tokens | None, length: int, progress: Progress) -> Judge:
    """A judge of forms on windows of `length` tokens, each read on its own: no form but torch's could carry states from one to
    the next. Without tokens the forms are timed only, and a note says so."""

    def judge(network: Any, folder: Path) -> Forms:
        from secateur.estimators.forms import judge_forms

        setup = Setup(length=min(length, longest_text(network.config)), kind="language_modelling")
        data = None if tokens is None else _windows(tokens, length)
        unscored = "" if data else "name the text it was trained on with --text"
        with progress.bar("scoring the formats") as advance:
            return judge_forms(network, folder, setup, data, unscored, advance)

    return judge


def judging_folder(folder: Path, text: Path | None, progress: Progress) -> Judge:
    """A judge of the forms of a folder that `secateur train` made, on the text that it was trained on, where that is given.

    Raises DataError where it is another text, StudyError where the folder does not say which one it was.
    """
    import secateur.auto  # noqa: F401 - the tokenizer's loader asks transformers for the configuration of our classes
    from secateur.checkpoints.tokenizers import load_tokenizer
    from secateur.tasks.text import load_text, token_ids

    try:
        settings = json.loads((folder / CURVE).read_text(encoding="utf-8"))["settings"]
        length, known = int(settings["length"]), str(settings["text"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        if text is None:
            return judging(None, Setup.length, progress)
        raise StudyError(f"`{folder / CURVE}` does not say how the network was trained. Leave --text out.") from error
    if text is None:
        return judging(None, length, progress)
    found = load_text(text)
    if text_digest(found) != known:
        raise DataError(f"`{text}` is not the text that `{folder}` was trained on, or it has changed since.")
    return judging(token_ids(found.validation, load_tokenizer(folder)), length, progress)


def _windows(tokens: Tokens, length: int) -> tuple[Any, list[dict[str, Any]]]:
    """The task, and batches in which every token but the first is told exactly once."""
    import torch

    from secateur.tasks.segments import IGNORED, scored
    from secateur.tasks.task import KINDS, Task

    batches = []
    for ids, labels in scored(tokens, length, _ROWS, in_order=False):
        told = torch.from_numpy(labels).long()
        mask = (told != IGNORED).long()
        batches.append({"input_ids": torch.from_numpy(ids).long(), "attention_mask": mask, "labels": told})
    metrics, main = KINDS["language_modelling"]
    return Task("text", "language_modelling", metrics, main, ("text",), None), batches
