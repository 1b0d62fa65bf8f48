"""A network trained from scratch as a folder that loads, and its ONNX forms, then or later."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from secateur.checkpoints.exported import load
from secateur.errors import ExportError
from secateur.export.forms import Exported, need_onnx, write_forms
from secateur.export.scored import Forms, Judge
from secateur.paths import reason
from secateur.writing import aside, clean, open_weights, remove, write_whole

_KIND = "language_modelling"


def save_trained(
    model: Any, tokenizer: Any, folder: Path, *, onnx: bool, int8: bool, int4: bool = False, judge: Judge | None = None
) -> tuple[dict[str, float], Forms | None]:
    """Write the checkpoint and its ONNX forms; returns their largest differences from the trained network, and what `judge`
    says of the forms.

    `int8` and `int4` include `onnx`. Raises ExportError where a difference is too large.
    """
    from secateur.checkpoints.quiet import quiet

    with quiet():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    open_weights(folder)
    differences = _with_forms(model, folder, onnx=onnx, int8=int8, int4=int4)
    return differences, judge(load(folder), folder) if judge is not None and (onnx or int8 or int4) else None


def export_trained(
    folder: str | Path,
    to: str | Path | None = None,
    *,
    onnx: bool = True,
    int8: bool = False,
    int4: bool = False,
    judge: Judge | None = None,
) -> Exported:
    """Write the ONNX forms of a trained folder into it, or into a copy of it at `to`, which must be new. What `judge` says of
    them goes to the card.

    Forms that are there already are replaced. `int8` and `int4` include `onnx`. Nothing is written where a difference is too
    large: ExportError. Raises ModelError where the folder cannot be loaded.
    """
    from secateur.export.checkpoint import CARRIED, new_folder

    need_onnx()
    source = Path(folder)
    if to is not None and source.resolve() in Path(to).resolve().parents:
        raise ExportError(f"`{to}` is inside `{source}`, which would be copied into itself. Name a folder elsewhere.")
    model = load(source)
    if to is not None:
        with new_folder(to) as unfinished:
            shutil.copytree(source, unfinished, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*.unfinished"))
            differences = _with_forms(model, unfinished, onnx=onnx, int8=int8, int4=int4)
            forms = _judged(judge, model, unfinished)
        return Exported.found(Path(to), CARRIED, differences, forms=forms)
    try:
        # Beside the old forms, under their final names: a large graph names the file of its weights.
        clean(source)
        unfinished = aside(source / "onnx")
        unfinished.mkdir()
        try:
            differences, _ = write_forms(model, unfinished, onnx=onnx, int8=int8, int4=int4, kind=_KIND)
            for path in sorted(unfinished.iterdir()):
                os.replace(path, source / path.name)
        finally:
            remove(unfinished)
        forms = _judged(judge, model, source)
    except OSError as error:
        raise ExportError(f"`{source}` cannot be written: {reason(error)}. Name a folder for a copy with --to.") from error
    return Exported.found(source, CARRIED, differences, forms=forms)


def _with_forms(model: Any, folder: Path, *, onnx: bool, int8: bool, int4: bool) -> dict[str, float]:
    """Compare the folder's checkpoint with `model`, and add the ONNX forms."""
    from secateur.export.verify import difference, logits, padded_batch

    reloaded, batch = load(folder), padded_batch(model)
    found = {"reloaded": difference("reloaded", logits(model, batch, "cpu"), logits(reloaded, batch, "cpu"), batch)}
    return found | write_forms(reloaded, folder, onnx=onnx, int8=int8, int4=int4, kind=_KIND)[0]


def _judged(judge: Judge | None, model: Any, folder: Path) -> Forms | None:
    """What the judge says of the forms in the folder; its card says it too, where there is one."""
    if judge is None:
        return None
    from secateur.export.card import with_forms

    forms, card = judge(model, folder), folder / "README.md"
    if card.is_file():
        write_whole(with_forms(card.read_text(encoding="utf-8"), forms), card)
    return forms
