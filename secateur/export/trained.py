"""A network trained from scratch as a folder that loads, and its ONNX forms, then or later."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from secateur.checkpoints.exported import load
from secateur.errors import ExportError
from secateur.export import Exported


def is_trained(folder: str | Path) -> bool:
    """Whether the folder holds a checkpoint of a network of this package, as `secateur train` writes them."""
    from secateur.decoders.decoders import is_decoder

    try:
        config = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
        return is_decoder(str(config["model_type"]))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def save_trained(model: Any, tokenizer: Any, folder: Path, *, onnx: bool, int8: bool) -> dict[str, float]:
    """Write the checkpoint and its ONNX forms; returns their largest differences from the trained network.

    `int8` includes `onnx`. Raises ExportError where a difference is too large.
    """
    from secateur.checkpoints.quiet import quiet

    with quiet():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return _compared(model, load(folder), folder, onnx=onnx, int8=int8)


def export_trained(folder: str | Path, to: str | Path | None = None, *, onnx: bool = True, int8: bool = False) -> Exported:
    """Write the ONNX forms of a trained folder into it, or into a copy of it at `to`, which must be new.

    Forms that are there already are replaced. `int8` includes `onnx`. Nothing is written where a difference is too large:
    ExportError. Raises ModelError where the folder cannot be loaded.
    """
    from secateur.export.checkpoint import new_folder
    from secateur.export.onnx import need

    need("onnx", "onnxscript", "onnxruntime")
    source = Path(folder)
    if to is not None and source.resolve() in Path(to).resolve().parents:
        raise ExportError(f"`{to}` lies in `{source}`, which would be copied into itself. Name a folder elsewhere.")
    model = load(source)
    if to is not None:
        with new_folder(to) as unfinished:
            shutil.copytree(source, unfinished, dirs_exist_ok=True)
            differences = _compared(model, load(unfinished), unfinished, onnx=onnx, int8=int8)
        return Exported(Path(to), "carried", differences, _files(Path(to)))
    try:
        # Beside the old forms, under their final names: a large graph names the file of its weights.
        with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=source) as name:
            differences = _compared(model, model, Path(name), onnx=onnx, int8=int8)
            for path in sorted(Path(name).iterdir()):
                os.replace(path, source / path.name)
    except OSError as error:
        raise ExportError(
            f"`{source}` cannot be written: {error.strerror or error}. Name a folder for a copy: --to."
        ) from error
    return Exported(source, "carried", differences, _files(source))


def _compared(model: Any, reloaded: Any, folder: Path, *, onnx: bool, int8: bool) -> dict[str, float]:
    """Write the reloaded network's ONNX forms into the folder; largest differences of logits from `model`, by form.

    `reloaded` counts as a form where it is another object than `model`.
    """
    import torch

    from secateur.export.onnx import export_onnx, run_onnx
    from secateur.export.quantise import quantise_int8
    from secateur.export.verify import _difference, _logits, padded_batch

    home, batch = torch.device("cpu"), padded_batch(model)
    reference = _logits(model, batch, home)
    differences = {}
    if reloaded is not model:
        differences["reloaded"] = _difference("reloaded", reference, _logits(reloaded, batch, home), batch)
    if onnx or int8:
        graph = export_onnx(reloaded, folder / "model.onnx", kind="language_modelling")
        differences["onnx"] = _difference("onnx", reference, torch.from_numpy(run_onnx(graph, batch)), batch)
        if int8:
            small = quantise_int8(graph, folder / "model.int8.onnx").path
            differences["int8"] = _difference("int8", reference, torch.from_numpy(run_onnx(small, batch)), batch)
    return differences


def _files(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()))
