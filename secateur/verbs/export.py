"""`secateur export`: a sub-network of a run as a folder that loads, or the ONNX forms of a trained network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from secateur.checkpoints.folders import is_trained
from secateur.errors import ConfigurationError
from secateur.export import Exported
from secateur.export.hub import check_push
from secateur.export.hub import push as push_folder
from secateur.verbs.exporting import Wanted
from secateur.verbs.signature import Key, RunOrTrained, Shown, Under


def export(
    run: RunOrTrained,
    *,
    to: Annotated[
        Path | None,
        typer.Option(help="The folder to write; must be new. Without it, files are added to a trained folder itself."),
    ] = None,
    under: Under = None,
    key: Key = None,
    polished: Annotated[
        bool | None,
        typer.Option(
            "--polished/--shared",
            help="Weights fine-tuned further after the search, or the super-network's; by default whichever validates better.",
            show_default=False,
        ),
    ] = None,
    onnx: Annotated[bool, typer.Option("--onnx", help="Write model.onnx as well.")] = False,
    int8: Annotated[bool, typer.Option("--int8", help="Write model.int8.onnx as well.")] = False,
    int4: Annotated[bool, typer.Option("--int4", help="Write model.int4.onnx as well.")] = False,
    push: Annotated[
        str | None, typer.Option(help="Upload it to a hub under this name, user/name; without --to, no local copy is kept.")
    ] = None,
    private: Annotated[
        bool | None, typer.Option("--private/--public", help="Who may see what --push uploads.", show_default=False)
    ] = None,
    text: Annotated[
        Path | None,
        typer.Option(
            help="The text that a folder of `secateur train` was trained on; each format is scored on its validation part."
        ),
    ] = None,
    progress: Shown = True,
) -> Exported:
    """Write a sub-network as a checkpoint that stock transformers can load, and verify its outputs.

    With --onnx, --int8 or --int4, each format is scored on the run's validation data and timed, and the results are shown side
    by side. A folder that `secateur train` made is already a checkpoint: these options add the formats to it, or to a copy.

    Raises ConfigurationError, StudyError, ModelError, ExportError, or MissingExtraError without ONNX.
    """
    forms = {"onnx": onnx, "int8": int8, "int4": int4}
    wanted = Wanted(run, to, under, key, polished, text, forms=forms, progress=progress, pushed=push is not None)
    if push is None:
        if private is not None:
            raise ConfigurationError("--private and --public only apply to --push NAME, which was not given.")
        return wanted.written()
    check_push(push)
    with TemporaryDirectory() as scratch:
        if to is None and not is_trained(run):
            wanted = replace(wanted, to=Path(scratch) / push.rpartition("/")[2])  # the card is named after it
        exported = wanted.written()
        return replace(exported, url=push_folder(exported.folder, push, private=private))
