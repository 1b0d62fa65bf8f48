"""`secateur export`: a sub-network of a run as a folder that loads, or the ONNX forms of a trained network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from secateur.checkpoints.folders import is_trained
from secateur.errors import ConfigurationError, StudyError
from secateur.export import Exported
from secateur.export.trained import export_trained
from secateur.runs.design.training import UNFINISHED
from secateur.runs.folder import open_run
from secateur.runs.prune.run import PruneRun
from secateur.verbs.completion import run_folders
from secateur.verbs.signature import Key, Under


def export(
    run: Annotated[
        Path, typer.Argument(help="The run's folder, or one that `secateur train` made.", autocompletion=run_folders)
    ],
    *,
    to: Annotated[
        Path | None,
        typer.Option(help="The folder to write; must be new. Without it a trained folder gets the files itself."),
    ] = None,
    under: Under = None,
    key: Key = None,
    polished: Annotated[
        bool | None,
        typer.Option(
            "--polished/--shared", help="Which weights; by default the better on validation data.", show_default=False
        ),
    ] = None,
    onnx: Annotated[bool, typer.Option("--onnx", help="Write model.onnx as well.")] = False,
    int8: Annotated[bool, typer.Option("--int8", help="Write model.int8.onnx as well.")] = False,
) -> Exported:
    """Write a sub-network as a checkpoint that stock transformers loads, and compare its outputs before saying so.

    A folder that `secateur train` made has its checkpoint already: --onnx and --int8 add those forms to it, or to a copy.

    Raises ConfigurationError, StudyError, ModelError, ExportError, or MissingExtraError without ONNX.
    """
    if is_trained(run):
        return _forms(Path(run), to, {"under": under, "key": key, "polished": polished}, onnx=onnx, int8=int8)
    if to is None:
        raise ConfigurationError("say where to: --to names the folder to write, a new one.")
    opened = open_run(run)
    if not isinstance(opened, PruneRun):
        raise StudyError(
            f"the architectures of `{run}` have no weights yet. Train one: secateur train {run} --key KEY --text … --to …"
        )
    member = opened.choose(key, under, "export", "body_parameters=50%")
    exported: Exported = member.save(to, polished=polished, onnx=onnx, int8=int8)
    return exported


def _forms(folder: Path, to: Path | None, choices: dict[str, object], *, onnx: bool, int8: bool) -> Exported:
    """The ONNX forms of a trained folder."""
    faults = [
        f"`{name}` chooses among a run's sub-networks, and `{folder}` holds one trained network: leave it out."
        for name, value in choices.items()
        if value is not None and value != []
    ]
    if not (onnx or int8):
        faults.append(f"`{folder}` holds a checkpoint that loads already: say what to add, --onnx or --int8.")
    if faults:
        raise ConfigurationError(faults)
    if (folder / UNFINISHED).exists():
        raise StudyError(f"`{folder}` holds an unfinished training. Run the same `secateur train` command again first.")
    return export_trained(folder, to, onnx=onnx, int8=int8)
